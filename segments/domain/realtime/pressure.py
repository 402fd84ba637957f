"""When a full disk or quota pauses a table automatically, and when it goes on: two marks with a margin between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from segments.domain.realtime.pause import ADMINISTRATIVE, PauseState

#: Unless a threshold is set, a disk with this much free is not full, whatever its share: 5 % of a large disk are many
#: segments.
AMPLE_BYTES: Final = 10 * 1024**3


class Level(StrEnum):
    """``BETWEEN``: below the mark that pauses, not yet below the one that resumes. ``UNKNOWN``: nobody reported it."""

    FULL = "full"
    BETWEEN = "between"
    ROOM = "room"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Pressure:
    """How full something is. ``reason``: Pinot's reason code of a pause for it. ``words``: what is how full."""

    level: Level
    reason: str
    words: str = ""

    @classmethod
    def none(cls, reason: str) -> Pressure:
        """There is no limit."""
        return cls(Level.ROOM, reason, "there is no limit any more")

    @classmethod
    def of_shares(cls, shares: Mapping[str, float], *, high: float, low: float, reason: str) -> Pressure:
        """By the fullest of ``shares`` (name: 0 to 1); nothing known is UNKNOWN."""
        if not shares:
            return cls(Level.UNKNOWN, reason)
        name, share = max(shares.items(), key=lambda item: item[1])
        words = f"{name} is {share:.0%} full"
        if share > high:
            return cls(Level.FULL, reason, words)
        return cls(Level.ROOM if share <= low else Level.BETWEEN, reason, words)


@dataclass(frozen=True)
class Verdict:
    """What to do: pause for a reason, resume, or neither."""

    pause_reason: str | None = None
    resumes: bool = False
    comment: str = ""


def decide(state: PauseState, *, disk: Pressure, quota: Pressure) -> Verdict:
    """Pause when something is full; resume what was paused for it when there is room again and nothing else is full.

    A pause by a person stays; what is unknown or between the marks changes nothing.
    """
    if state.paused and state.reason_code == ADMINISTRATIVE:
        return Verdict()
    full = next((p for p in (disk, quota) if p.level is Level.FULL), None)
    if full is not None:
        already = state.paused and state.reason_code == full.reason
        return Verdict() if already else Verdict(full.reason, comment=f"{full.words}.")
    if not state.paused:
        return Verdict()
    cause = next((p for p in (disk, quota) if p.reason == state.reason_code), None)
    if cause is not None and cause.level is Level.ROOM:
        return Verdict(resumes=True, comment=f"There is room again: {cause.words}.")
    return Verdict()


def utilization_of(answer: Mapping[str, Any], ample_bytes: int = AMPLE_BYTES) -> float | None:
    """The used share in a server's answer; None for one that makes no sense.

    A disk with ``ample_bytes`` free counts as empty however large it is; 0: the share alone counts.
    """
    try:
        total, used = int(answer["totalSpaceBytes"]), int(answer["usedSpaceBytes"])
    except (KeyError, TypeError, ValueError):
        return None
    if total <= 0 or used < 0:
        return None
    return 0.0 if ample_bytes and total - used >= ample_bytes else used / total
