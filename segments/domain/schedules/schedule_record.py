"""What is on record about the schedule of a table's task, or of a type of task: which due moment was taken up last,
whether it is stopped, and what became of its last starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

#: Starts that are kept on record, and characters of an error.
_KEPT: Final = 5
_LONGEST: Final = 1000


@dataclass(frozen=True)
class Stop:
    """Who stopped it, why and when (epoch ms)."""

    actor: str
    reason: str
    at_ms: int


@dataclass(frozen=True)
class ScheduleRecord:
    """``name``: a typed table, or a type of task. ``taken_ms``: the last due moment that somebody took up. ``started``:
    moments of the last starts that went well, oldest first; ``failed``: (moment, why) of those that did not.
    """

    name: str
    taken_ms: int = 0
    stop: Stop | None = None
    started: tuple[int, ...] = ()
    failed: tuple[tuple[int, str], ...] = ()

    def taken(self, due_ms: int) -> ScheduleRecord | None:
        """With this due moment taken up; None when it, or a later one, is taken already."""
        return replace(self, taken_ms=due_ms) if due_ms > self.taken_ms else None

    def given_back(self, due_ms: int) -> ScheduleRecord | None:
        """As before ``taken``; None when a later moment has been taken up since."""
        return replace(self, taken_ms=due_ms - 1) if self.taken_ms == due_ms else None

    def noted(self, at_ms: int, error: str = "") -> ScheduleRecord:
        """With one start more; ``error`` is why nothing began, empty when all went well."""
        if error:
            return replace(self, failed=(*self.failed, (at_ms, error[:_LONGEST]))[-_KEPT:])
        return replace(self, started=(*self.started, at_ms)[-_KEPT:])

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form, without the name."""
        body = asdict(self)
        del body["name"]
        return body


def record_from_json(name: str, body: Mapping[str, Any]) -> ScheduleRecord:
    """Back from ``to_json``. Raises KeyError, TypeError, ValueError."""
    stop = body["stop"]
    return ScheduleRecord(
        name,
        int(body["taken_ms"]),
        Stop(str(stop["actor"]), str(stop["reason"]), int(stop["at_ms"])) if stop else None,
        tuple(int(at) for at in body["started"]),
        tuple((int(at), str(why)) for at, why in body["failed"]),
    )
