"""Does a stream still have a range of offsets?"""

from __future__ import annotations

from contextlib import closing
from typing import Final

from segments.domain.realtime.streams.stream_offset import Offset
from segments.gateways.streams.base import Stream

#: Seconds that the first message of the range may take.
_PATIENCE_S: Final = 3.0


def lost_range(stream: Stream, partition: int, start: Offset, end: Offset) -> tuple[Offset, Offset] | None:
    """The part of [start, end) that cannot be read any more: dropped at its beginning, or behind the stream's end (its
    topic was made again, say); None when all of it seems to be there. Unavailable when the stream does not answer.
    """
    if start >= end:
        return None
    latest = stream.latest(partition)
    if latest < end:
        return max(start, latest), end
    with closing(stream.consumer(partition)) as consumer:
        lost = consumer.fetch(start, max_messages=1, timeout_s=_PATIENCE_S, stop=end).lost
    return None if lost is None else (lost[0], min(lost[1], end))
