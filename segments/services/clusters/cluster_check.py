"""What a check of a cluster found: one sentence for each question that was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CheckStep:
    """One question that was asked: ``ok`` None when it did not apply or could not be asked."""

    name: str
    ok: bool | None
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class ClusterCheck:
    """What a check of a cluster found; ``state`` as in ``Cluster.State``, ``named``: what the controller calls its
    cluster.
    """

    cluster: str
    state: str
    version: str
    steps: tuple[CheckStep, ...]
    error: str = ""
    named: str = ""

    @property
    def is_ok(self) -> bool:
        """Is nothing wrong?"""
        return all(step.ok is not False for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """For the API."""
        steps = [{"name": s.name, "ok": s.ok, "message": s.message, "remedy": s.remedy} for s in self.steps]
        return {"cluster": self.cluster, "state": self.state, "version": self.version, "ok": self.is_ok, "steps": steps}
