"""Snapshots: queries on exactly the named segments, hidden ones too, and what their columns hold, as every kind of
cluster offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from segments.domain.segments.column_profile import ColumnProfile
    from segments.gateways.servers import Profile
    from segments.names import TableName
    from segments.services.core.context import Context

#: Asks the server at an address for the columns of segments of a table (typed name).
ProfileReader = Callable[[str, str, Sequence[str]], "Profile"]


class SnapshotReader(Protocol):
    """Answers queries from named segments of one table, as they are served now."""

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Pinot's broker response; what goes wrong is in its ``exceptions``."""


class ColumnReader(Protocol):
    """Columns of segments of one table; remembers what nobody reported."""

    def read(self, segments: Collection[str]) -> list[ColumnProfile]:
        """Columns of all these segments, several items per column."""

    def notes(self) -> list[str]:
        """What is missing from the columns, as sentences."""


class SnapshotEngine(Protocol):
    """Snapshots: queries on exactly the named segments, hidden ones too, and what their columns hold."""

    def open(self, ctx: Context, typed: str) -> AbstractContextManager[SnapshotReader]:
        """Read exactly the named segments of a typed table. Embedded: the servers
        that hold them answer. Pinot: brokers and servers answer from visible segments only, so files are fetched
        through the controller and read here.
        """

    def columns(
        self, ctx: Context, table: TableName, wanted: Sequence[Sequence[str]], read_profile: ProfileReader | None
    ) -> ColumnReader:
        """Columns of the ``wanted`` segments (by importance). Embedded: servers add theirs up, asked by
        ``read_profile``. Pinot: its controller asks the servers, for some hundreds of segments at most.
        """
