"""Which brokers serve a table: its row in brokerResource."""

from __future__ import annotations

from dataclasses import replace

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import ONLINE
from segments.names import TableName
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Create, Replace, Versioned, Write
from segments.store.records.cluster_setup import broker_resource
from segments.store.update import update_record


def remove_broker_row(ctx: Context, table: TableName) -> None:
    """Take the table out of routing; missing is fine."""

    def decide(node: Versioned | None) -> ZNRecord | None:
        if node is None or node.record is None or table.typed not in node.record.maps:
            return None
        return _with_rows(node.record, {t: r for t, r in node.record.maps.items() if t != table.typed})

    update_record(ctx.store, paths.BROKER_RESOURCE, decide)


def broker_row(ctx: Context, table: TableName) -> Write:
    """All known brokers serve the table."""
    known = {*ctx.store.children(paths.LIVE_INSTANCES), *ctx.store.children(paths.PARTICIPANT_CONFIGS)}
    row = {b: ONLINE for b in sorted(known) if b.startswith("Broker_")}
    node = ctx.store.get(paths.BROKER_RESOURCE)
    before = node.record if node and node.record else broker_resource()
    after = _with_rows(before, {**before.maps, table.typed: row})
    return Create(paths.BROKER_RESOURCE, after) if node is None else Replace(paths.BROKER_RESOURCE, after, node.version)


def _with_rows(record: ZNRecord, rows: dict[str, dict[str, str]]) -> ZNRecord:
    """brokerResource with these rows; NUM_PARTITIONS follows."""
    return replace(record.with_simple(NUM_PARTITIONS=str(len(rows))), maps=dict(sorted(rows.items())))
