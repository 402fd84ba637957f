"""What brings segments in, as registration sees it: a push, or the switch of a file ingestion session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from segments.domain.tables.table_config import TableConfig
from segments.services.core.context import Context


class Load(Protocol):
    """One load of staged segments into a table, held by this process. Every write of it is conditional on that."""

    ctx: Context

    @property
    def id(self) -> str:
        """Names the folder below the deep store's staging folder where its parts are."""

    @property
    def config(self) -> TableConfig:
        """The table's config as it was when the load was planned."""

    @property
    def entry_id(self) -> str:
        """The lineage entry that hides and fences its segments, or the id that its start is given."""

    @property
    def is_fenced(self) -> bool:
        """Are the segments hidden below a lineage entry until a switch? Else each is visible once it is registered."""

    @property
    def overwrites(self) -> bool:
        """May it replace segments by name?"""

    @property
    def keeps_staged(self) -> bool:
        """Do staged files stay until the load is over, so that it can begin its switch again?"""

    def check(self) -> None:
        """Conflict when this load is in other hands now."""

    def save_entry(self, entry_id: str) -> None:
        """The cluster gave the entry another id."""

    def in_doubt(self, names: Sequence[str]) -> None:
        """From here on a failed load has to search for files of these segments in their places."""

    def placed(self, name: str, uri: str) -> None:
        """The file of a segment is in its place."""

    def registered(self, names: Sequence[str], done: int) -> None:
        """These are registered, ``done`` in all."""
