"""A segment that waits for its deletion, or is being restored: what is to be done with it, and who is doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

#: A claim older than this belonged to a process that died.
CLAIM_MS: Final = 30_000
#: Who asked, where nobody did.
_NOBODY: Final = "system"


@dataclass(frozen=True)
class Pending:
    """One item. ``restores`` names the kept file that a restore is bringing back; "" for a deletion. Times are epoch
    milliseconds.
    """

    segment: str
    requested_ms: int
    retention: str | None = None
    by: str = _NOBODY
    reason: str = ""
    servers: tuple[str, ...] = ()
    restores: str = ""
    claimed_ms: int | None = None
    claim: str = ""

    def is_claimed(self, now_ms: int) -> bool:
        """Is somebody at it right now?"""
        return self.claimed_ms is not None and now_ms - self.claimed_ms < CLAIM_MS

    def to_map(self) -> dict[str, str]:
        """The item as stored; what is empty is left out."""
        texts = {
            "by": self.by,
            "reason": self.reason,
            "servers": ",".join(self.servers),
            "restores": self.restores,
            "claim": self.claim,
        }
        found = {"requestedMs": str(self.requested_ms), **{k: v for k, v in texts.items() if v}}
        if self.retention is not None:
            found["retention"] = self.retention
        return found if self.claimed_ms is None else {**found, "claimedMs": str(self.claimed_ms)}


def pending_of(segment: str, item: Mapping[str, str]) -> Pending:
    """An item as it is stored."""
    claimed = item.get("claimedMs")
    return Pending(
        segment,
        int(item.get("requestedMs", "0")),
        item.get("retention"),
        item.get("by", _NOBODY),
        item.get("reason", ""),
        tuple(s for s in item.get("servers", "").split(",") if s),
        item.get("restores", ""),
        int(claimed) if claimed else None,
        item.get("claim", ""),
    )
