"""The number at the bell in the header."""

from __future__ import annotations

from dataclasses import dataclass

from segments.services.upkeep.inbox import COUNTED


@dataclass(frozen=True)
class Bell:
    """How many findings wait for somebody; above ``COUNTED`` nobody counted."""

    count: int

    @property
    def short(self) -> str:
        """What fits next to the symbol."""
        return f"{COUNTED}+" if self.count > COUNTED else str(self.count)

    @property
    def words(self) -> str:
        """For those who do not see the symbol."""
        return f"{self.short} waiting" if self.count else "nothing waits"
