"""Drains on record, and what they are decided from: what a server holds, and who could take it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.rebalance.drain import Drain, Held, drain_of, held_by, too_few
from segments.domain.tables.server_tags import consuming_tag, segment_tag
from segments.errors import PinotAdminError
from segments.names import REALTIME, TableName, split_table_name
from segments.services.core.context import Context
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.records.document import Documents
from segments.store.records.instances import instance_configs

RECORDS: Final[Documents[Drain]] = Documents(
    "drain", "The drain of server '{}'", lambda drain: drain.server, lambda drain: drain.to_json(), drain_of
)


def find_drain(ctx: Context, server: str) -> Drain | None:
    """The server's drain; None when there is none."""
    return RECORDS.read(ctx.store, paths.drain(server))


def all_drains(ctx: Context) -> list[Drain]:
    """Every drain on record, by server."""
    return RECORDS.read_many(ctx.store, [paths.drain(name) for name in sorted(ctx.store.children(paths.DRAINS))])


def held(ctx: Context, server: str) -> dict[TableName, Held]:
    """{table: what the ideal state gives the server}, of tables that give it anything."""
    found = {table: held_by(server, record.maps) for table, record in _records(ctx, paths.IDEAL_STATES).items()}
    return {table: some for table, some in found.items() if some.segments}


def still_served(ctx: Context, server: str) -> list[TableName]:
    """Tables of which a live server still serves something, by what it reports."""
    if ctx.store.exists(paths.live_instance(server)) is None:
        return []
    views = _records(ctx, paths.EXTERNAL_VIEWS)
    return [table for table, record in views.items() if held_by(server, record.maps).segments]


def refusals(ctx: Context, server: str, tables: Mapping[TableName, Held]) -> dict[TableName, str]:
    """{table: why it cannot do without the server}, of these."""
    live = set(ctx.store.children(paths.LIVE_INSTANCES))
    usable = {n: c.tags for n, c in instance_configs(ctx.store).items() if n in live and c.is_enabled}
    return {table: why for table in tables if (why := _why_not(ctx, table, usable, server))}


def _why_not(ctx: Context, table: TableName, usable: Mapping[str, tuple[str, ...]], server: str) -> str:
    try:
        config = read_table_config(ctx, table)
    except PinotAdminError as error:
        return error.message
    tags = [segment_tag(config)] + ([consuming_tag(config)] if table.type == REALTIME else [])
    return too_few(table.typed, config.replication, tags, usable, server)


def _records(ctx: Context, folder: str) -> dict[TableName, ZNRecord]:
    named = [(n, split_table_name(n)) for n in sorted(ctx.store.children(folder))]
    tables = {n: TableName(raw, kind) for n, (raw, kind) in named if kind is not None}
    found = ctx.store.get_many([f"{folder}/{n}" for n in tables])
    return {t: n.record for t, n in zip(tables.values(), found, strict=True) if n is not None and n.record is not None}
