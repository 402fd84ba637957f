"""When a partition that has fallen too far behind goes on at its stream's newest message: Pinot's offset auto reset,
which a table asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput

ENABLE: Final = "realtime.segment.offsetAutoReset.enable"
MESSAGES: Final = "realtime.segment.offsetAutoReset.offsetThreshold"
SECONDS: Final = "realtime.segment.offsetAutoReset.timeThresholdSeconds"
#: The stream is read again on purpose: what is old in it is wanted.
BACKFILL: Final = "realtime.segment.isBackfillTopic"
#: Messages that are counted one by one, at most, to see whether they are too many.
MOST_COUNTED: Final = 100_000


@dataclass(frozen=True)
class AutoReset:
    """A new segment begins at the newest message where more than ``messages`` wait, or one has waited for longer than
    ``wait_ms`` milliseconds. None: that does not count; one of them is given.
    """

    messages: int | None
    wait_ms: int | None


def auto_reset_of(stream: Mapping[str, str]) -> AutoReset | None:
    """What a stream's config (values as text) asks for; None: every message is read.

    As in Pinot that is so, too, without a threshold above 0, and for a backfill topic. What is no number is none.
    """
    if not is_enabled(stream) or _is_true(stream, BACKFILL):
        return None
    messages, seconds = (_positive(stream.get(key, "")) for key in (MESSAGES, SECONDS))
    if messages is None and seconds is None:
        return None
    return AutoReset(messages, None if seconds is None else seconds * 1000)


def check_auto_reset(stream: Mapping[str, str], *, is_numbered: bool) -> None:
    """``is_numbered``: do the stream's offsets number its messages? InvalidInput for a threshold that is no whole
    number, or for more messages than can be counted.
    """
    for key in (MESSAGES, SECONDS):
        text = stream.get(key, "-1").strip()
        if whole_number(text.removeprefix("-")) is None:
            raise InvalidInput(
                f"'{key}' is '{text}', not a whole number.", remedy="Leave it out, or give -1, for none."
            )
    if not is_numbered and (_positive(stream.get(MESSAGES, "")) or 0) > MOST_COUNTED:
        raise InvalidInput(
            f"'{MESSAGES}' is more than {MOST_COUNTED}: messages of this kind of stream are counted one by one.",
            remedy=f"Give {MOST_COUNTED} at most, or {SECONDS}.",
        )


def is_enabled(stream: Mapping[str, str]) -> bool:
    """Is the switch on, whatever the thresholds are?"""
    return _is_true(stream, ENABLE)


def _is_true(stream: Mapping[str, str], key: str) -> bool:
    return stream.get(key, "").strip().lower() == "true"


def _positive(text: str) -> int | None:
    return whole_number(text.strip()) or None
