"""What may be asked of a rebalance, with Pinot's names for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.errors import InvalidInput

#: Milliseconds without any progress after which a rebalance gives up, as Pinot's
#: ``externalViewStabilizationTimeoutInMs``.
STALLED_MS: Final = 3_600_000
#: What Pinot offers and the embedded cluster has no equivalent of, by what it means there.
_PINOT_ONLY: Final = {
    "bootstrap": "which places all segments again from the start",
    "bestEfforts": "which goes on although replicas are missing",
    "lowDiskMode": "which removes replicas before it loads others",
    "updateTargetTier": "since it has no tiers",
}


@dataclass(frozen=True)
class Options:
    """How to rebalance. ``min_available``: replicas of a segment that must be served before those that leave are
    removed; None: all of the target's; negative: so many fewer than that. ``batch_per_server``: replicas that one
    server loads at a time, -1: no limit of its own. ``stalled_ms``: how long nothing may have progressed.

    ``allow_data_loss``: also where the only copy of rows may be lost. ``other``: parameters that only a Pinot has, as
    given.
    """

    min_available: int | None = None
    downtime: bool = False
    include_consuming: bool = False
    force_commit: bool = False
    allow_data_loss: bool = False
    batch_per_server: int = -1
    stalled_ms: int = STALLED_MS
    other: Mapping[str, str] = field(default_factory=dict)

    def needed(self, replicas: int) -> int:
        """How many of a segment's ``replicas`` in the target must be served before the others are removed."""
        if self.downtime:
            return 0
        if self.min_available is None:
            return replicas
        return self.min_available if self.min_available >= 0 else max(replicas + self.min_available, 0)

    def check(self, replicas: int) -> None:
        """Raises InvalidInput for what cannot be kept with so many replicas, or is not offered at all."""
        if self.min_available is not None and self.min_available > replicas:
            raise InvalidInput(
                f"'minAvailableReplicas' is {self.min_available}, but segments have {counted(replicas, 'replica')}.",
                remedy=f"Give a number from 0 to {replicas}, or leave it out: then all replicas stay available.",
            )
        if self.batch_per_server == 0 or self.batch_per_server < -1:
            raise InvalidInput(f"'batchSizePerServer' is {self.batch_per_server}.", remedy="Give 1 or more, or -1.")
        if self.stalled_ms <= 0:
            raise InvalidInput("'externalViewStabilizationTimeoutInMs' must be above 0.")

    def refuse_pinot_only(self) -> None:
        """Raises InvalidInput for parameters that the embedded cluster cannot follow."""
        for name, value in self.other.items():
            if name in _PINOT_ONLY and value.strip().lower() == "true":
                raise InvalidInput(
                    f"This cluster has no '{name}', {_PINOT_ONLY[name]}.", remedy=f"Leave out '{name}'.", field=name
                )

    def to_json(self) -> dict[str, Any]:
        """As a document."""
        return asdict(self)


def options_of(body: Mapping[str, Any]) -> Options:
    """The options in a document; unknown keys are ignored. Raises KeyError, TypeError."""
    known = {name: body[name] for name in Options.__dataclass_fields__ if name in body}
    return Options(**known)
