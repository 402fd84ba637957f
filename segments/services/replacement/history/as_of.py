"""Queries as of a snapshot: ``SET snapshot=12; SELECT ...`` or ``OPTION(snapshot=12)`` reads exactly the segments of
that snapshot: hidden ones too, and deleted or overwritten ones for as long as their files are kept.

A snapshot is a number of the table's history, or a name of ``segments.domain.replacement.snapshots``: so the new side
of a replacement can be read before it is switched. Where a primary key has one row, it is the one that counts among the
snapshot's segments, whatever came later. A query reads one snapshot or is refused; it is never mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from segments.domain.realtime.llc_name import is_llc_name
from segments.domain.replacement.snapshots import Snapshot, find_snapshot
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, StateConflict
from segments.names import OFFLINE, REALTIME, TABLE_TYPES, TableName, split_table_name
from segments.services.core.context import Context
from segments.services.queries.file_turns import file_turns
from segments.services.queries.options import SNAPSHOT, option_of
from segments.services.replacement.history.snapshots import contents_of, snapshot
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments.segments import read_records
from segments.store import paths

#: Answers a query with its options.
Query = Callable[[str, Mapping[str, str]], dict[str, Any]]
#: What is fetched for a query where servers do not answer.
_MOST_FETCHED_BYTES: Final = 512 << 20
#: Names in an answer.
_SHOWN: Final = 100


def snapshot_named(sql: str, options: Mapping[str, str]) -> str:
    """The snapshot that a query asks for, in its text or its options; empty: what queries see now."""
    return option_of(sql, options, SNAPSHOT)


def query_as_of(ctx: Context, sql: str, options: Mapping[str, str], name: str) -> dict[str, Any]:
    """Pinot's broker response over the snapshot of that name. InvalidInput for a query of several tables, and what
    ``reading_as_of`` raises.
    """
    with reading_as_of(ctx, table_read(ctx, sql), name) as query:
        return query(sql, options)


@contextmanager
def reading_as_of(ctx: Context, table: TableName, name: str) -> Iterator[Query]:
    """Answers queries of one table from the snapshot of that name, all from the same segments.

    NotFound for an unknown table or snapshot, PreconditionFailed where a segment is neither on servers nor kept,
    StateConflict where one was overwritten and is not kept, also in the meantime; InvalidInput for more than is
    fetched, TooManyRequests where others fetch.
    """
    found, crcs, config = _contents(ctx, table, name)
    is_served = ctx.engine.offers.own_processes and not found.gone
    before = {s: m.crc for s, m in read_records(ctx, table, found.segments).items()} if is_served else {}
    if not is_served or _overwritten(crcs, before):
        with _reading_files(ctx, config, found, crcs) as query:
            yield query
        return
    with ctx.engine.snapshots.open(ctx, table.typed) as reader:
        yield lambda sql, options: reader.query(sql, options, segments=found.segments)
    after = {s: m.crc for s, m in read_records(ctx, table, found.segments).items()}
    if other := _overwritten({s: crc or 0 for s, crc in before.items()}, after):
        raise StateConflict(
            f"Segment '{other[0]}' of snapshot {name} of table '{table}' was overwritten by another of its name "
            "meanwhile.",
            remedy="Run the query again.",
            segments=other[:_SHOWN],
        )


@contextmanager
def _reading_files(ctx: Context, config: TableConfig, found: Snapshot, crcs: Mapping[str, int]) -> Iterator[Query]:
    """Fetched and read here: what a real Pinot hides, and what servers do not hold any more."""
    # heavy: a server's reader of segments, which only a process that answers queries needs
    from segments.services.queries.file_reader import FileReader
    from segments.services.replacement.history.kept_files import SnapshotFiles

    if not ctx.engine.offers.own_processes:
        _require_streamed(config, found.name, found.segments)
    files = SnapshotFiles(ctx, config, found, crcs)
    _require_small(config.table, found.name, files.bytes)
    with file_turns().turn(ctx.cluster, config.table.typed), FileReader(ctx, config.table, files.find) as reader:
        yield lambda sql, options: reader.query(sql, options, segments=files.segments)


def snapshot_by_name(seen: Observed, ctx: Context, table: TableName, name: str) -> tuple[Snapshot, Mapping[str, int]]:
    """The snapshot of a history's number, or of a name of the lineage, and {segment: CRC} as far as it is known.
    NotFound when there is none.
    """
    there: Collection[str] = seen.ideal.maps
    if not is_of_history(seen, name):
        return find_snapshot(seen.lineage, name, there), {}
    contents = contents_of(snapshot(ctx, table, int(name)))
    present, gone = sorted(s for s in contents if s in there), sorted(s for s in contents if s not in there)
    return Snapshot(name, tuple(present), tuple(gone)), contents


def is_of_history(seen: Observed, name: str) -> bool:
    """Is it a number of the history, not a name of the lineage?"""
    return name.isascii() and name.isdigit() and len(name) < 20 and name not in seen.lineage.entries


def _contents(ctx: Context, table: TableName, name: str) -> tuple[Snapshot, Mapping[str, int], TableConfig]:
    seen = observe(ctx, table)
    return *snapshot_by_name(seen, ctx, table, name), seen.config


def table_read(ctx: Context, sql: str) -> TableName:
    """The one table that a query reads. InvalidInput for a query of several, and for a hybrid table."""
    # heavy: the SQL parser, which only a process that answers queries needs
    from segments.dataplane.query import QueryRejected, table_of

    try:
        raw, kind = split_table_name(table_of(sql))
    except QueryRejected as error:
        raise InvalidInput(
            f"A query as of a snapshot reads one table in one SELECT: {error}",
            remedy="Leave out the option 'snapshot', or ask for each table on its own.",
        ) from error
    if kind is None:
        there = [k for k in TABLE_TYPES if ctx.store.exists(paths.table_config(f"{raw}_{k}")) is not None]
        if len(there) > 1:
            raise InvalidInput(
                f"Table '{raw}' is hybrid, and snapshots are of one of its tables.",
                remedy=f"Ask for {raw}_{OFFLINE} or {raw}_{REALTIME}.",
            )
        kind = there[0] if there else OFFLINE
    return TableName(raw, kind)


def _overwritten(wanted: Mapping[str, int], there: Mapping[str, int | None]) -> list[str]:
    """Segments that have another CRC now, sorted."""
    return sorted(s for s, crc in wanted.items() if crc and s in there and there[s] not in (None, crc))


def _require_small(table: TableName, name: str, size: int) -> None:
    if size > _MOST_FETCHED_BYTES:
        raise InvalidInput(
            f"Snapshot {name} of table '{table}' has {size:,} bytes, and its files would be fetched for the query: at "
            f"most {_MOST_FETCHED_BYTES:,} are.",
            remedy="Go back to the snapshot to query it: then servers answer.",
        )


def _require_streamed(config: TableConfig, name: str, segments: Sequence[str]) -> None:
    """Of a real Pinot's table of keys."""
    uploaded = next((s for s in segments if not is_llc_name(s)), None)
    if uploaded is not None and is_keyed(config):
        raise InvalidInput(
            f"Segment '{uploaded}' of snapshot {name} of table '{config.table}' was uploaded: which of its rows count "
            "for their primary keys is known to Pinot's servers alone.",
            remedy="Go back to the snapshot to query it.",
        )
