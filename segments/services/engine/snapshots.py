"""Snapshots: queries on exactly the named segments, hidden ones too, and what their columns hold, as every kind of
cluster offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from segments.domain.segments.column_profile import ColumnProfile
    from segments.gateways.servers import Profile
    from segments.names import TableName
    from segments.services.core.context import Context, SnapshotReader

#: Asks the server at an address for the columns of segments of a table (typed name).
ProfileReader = Callable[[str, str, Sequence[str]], "Profile"]


class ColumnReader(Protocol):
    """Columns of segments of one table; remembers what nobody reported."""

    def read(self, segments: Collection[str]) -> list[ColumnProfile]:
        """Columns of all these segments, several items per column."""

    def notes(self) -> list[str]:
        """What is missing from the columns, as sentences."""


class SnapshotEngine(Protocol):
    """Snapshots: queries on exactly the named segments, hidden ones too, and what their columns hold."""

    def open(self, ctx: Context, typed: str) -> AbstractContextManager[SnapshotReader] | None:
        """Read exactly the named segments of a typed table; None where this process can not. Embedded: the servers
        that hold them answer. Pinot: brokers and servers answer from visible segments only, so files are fetched
        through the controller and read here.
        """

    def columns(
        self, ctx: Context, table: TableName, wanted: Sequence[Sequence[str]], read_profile: ProfileReader | None
    ) -> ColumnReader:
        """Columns of the ``wanted`` segments (by importance). Embedded: servers add theirs up, asked by
        ``read_profile``. Pinot: its controller asks the servers, for some hundreds of segments at most.
        """
