"""Partitions whose table reads another stream than the one that their committed offsets belong to; noted in the ideal
state.

Such an offset means nothing in the new stream, so a resume has to say where to begin; nothing goes on from there by
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final
from urllib.parse import urlsplit

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.partition_notes import read_notes, with_notes, without_notes
from segments.domain.realtime.pause import consuming_segments, topic_of
from segments.domain.realtime.streams.stream_config import StreamConfig

_KEY: Final = "pinotadmin.changedStreams"


def identity(config: StreamConfig) -> str:
    """Type, topic and where it is, in words, without credentials: ``kafka topic 'orders' at a:9092,b:9092``."""
    where = config.option("broker.list") or config.properties.get("bootstrap.servers") or config.option("url") or ""
    hosts = sorted({_place(part) for part in where.split(",") if part.strip()})
    return f"{config.type} topic '{config.topic}'" + (f" at {','.join(hosts)}" if hosts else "")


def _place(address: str) -> str:
    address = address.strip()
    if "://" not in address:
        return address.lower()
    parts = urlsplit(address)
    return parts.netloc.rpartition("@")[2].lower() + parts.path.rstrip("/")


def of(ideal: ZNRecord) -> dict[int, str]:
    """{partition: the stream that its committed offset belongs to}."""
    return read_notes(ideal, _KEY)


def noted(ideal: ZNRecord, before: Sequence[StreamConfig], after: Sequence[StreamConfig]) -> ZNRecord:
    """A copy that notes every partition whose stream is another one after a change; one that is changed back is not
    noted any more.
    """
    known, found = of(ideal), {}
    old, new = [identity(c) for c in before], [identity(c) for c in after]
    for partition in _partitions(ideal.maps):
        was, will = topic_of(partition, len(old)), topic_of(partition, len(new))
        if was >= len(old) or will >= len(new):
            continue
        stream = known.get(partition, old[was])
        if stream != new[will]:
            found[partition] = stream
    return with_notes(ideal, _KEY, found)


def without(ideal: ZNRecord, partitions: Collection[int]) -> ZNRecord:
    """A copy without the partitions that begin in the new stream now."""
    return without_notes(ideal, _KEY, partitions)


def still_consuming(before: ZNRecord, after: ZNRecord) -> list[str]:
    """Segments that consume in partitions whose stream a change makes another one."""
    changed = set(of(after).items()) - set(of(before).items())
    partitions = {p for p, _ in changed}
    return sorted(s for s in consuming_segments(before) if is_llc_name(s) and parse_llc_name(s).partition in partitions)


def _partitions(segments: Collection[str]) -> list[int]:
    return sorted({parse_llc_name(s).partition for s in segments if is_llc_name(s)})
