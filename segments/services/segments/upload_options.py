"""What an upload asks for, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from segments.domain.segments.admission import Conditions
from segments.domain.segments.upload import CustomMapModifier
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound
from segments.names import TableName
from segments.segmentfile.format.info import SegmentInfo
from segments.services.core.context import Context
from segments.services.tables.table_record import read_table_config

#: One segment of a metadata push: what it says of itself, where its tar is, and the tar's bytes if known.
MetadataPart = tuple[SegmentInfo, str, int | None]


@dataclass(frozen=True)
class UploadOptions:
    """What the caller asks for. ``copy``: the file at the download address is copied into the deep store.

    ``began_ms``: when the request came in (epoch milliseconds), None: now; a push that was reverted since no longer
    takes it. ``kept``: {segment: CRC} of replaced content that the caller has kept already. ``modifier`` changes the
    segment's custom map; a Pinot's controller writes its own records and takes none.
    """

    conditions: Conditions = field(default_factory=Conditions)
    copy: bool = False
    modifier: CustomMapModifier | None = None
    began_ms: int | None = None
    kept: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class UploadResult:
    """What came in. ``changed`` lists segments that were there before with other content, ``warnings`` what the caller
    should know.
    """

    table: TableName
    segments: tuple[str, ...]
    changed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def target_config(ctx: Context, table: TableName) -> TableConfig:
    """The config of the table that an upload names. InvalidInput when there is no such table."""
    try:
        return read_table_config(ctx, table)
    except NotFound as error:
        raise table_missing(table.typed) from error


def table_missing(typed: str) -> InvalidInput:
    """The refusal of an upload to an unknown table: 400, as Pinot's."""
    return InvalidInput(
        f"Failed to find table: {typed}.", remedy="Create the table first, or check tableName and tableType."
    )
