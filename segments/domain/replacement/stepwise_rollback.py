"""A rollback over several entries that is made one revert after the other, so that it may stop halfway."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

RUNNING: Final = "RUNNING"
DONE: Final = "DONE"
FAILED: Final = "FAILED"
GIVEN_UP: Final = "GIVEN_UP"


@dataclass(frozen=True)
class StepwiseRollback:
    """``steps``: entries to revert, newest first, ``target`` last; ``done``: those that are. Times in epoch
    milliseconds.
    """

    id: str
    table: str
    target: str
    steps: tuple[str, ...]
    force: bool
    actor: str
    reason: str
    at_ms: int
    state: str = RUNNING
    done: tuple[str, ...] = ()
    deleted: tuple[str, ...] = field(default=())
    error: str = ""

    @property
    def is_under_way(self) -> bool:
        """Are steps left that somebody may carry out?"""
        return self.state == RUNNING

    def to_json(self) -> dict[str, Any]:
        """For the API."""
        return {
            "id": self.id,
            "table": self.table,
            "target": self.target,
            "state": self.state,
            "steps": list(self.steps),
            "reverted": list(self.done),
            "left": [s for s in self.steps if s not in self.done],
            "actor": self.actor,
            "reason": self.reason,
            "startedMs": self.at_ms,
            "error": self.error,
        }
