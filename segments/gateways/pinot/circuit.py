"""Whether a controller is worth asking: after a failure it is left alone for a growing while, and everybody is told at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Circuit:
    """``state`` as in ``Cluster.State``; ``since_ms`` when it became so; ``error`` why; ``retry_at_ms`` when it is asked again."""

    state: str = "unknown"
    since_ms: int = 0
    error: str = ""
    remedy: str = ""
    retry_at_ms: int = 0

    @property
    def is_open(self) -> bool:
        """Can it not be used?"""
        return self.state not in ("unknown", "up")
