"""What a rebalance is decided from: records as read, with their versions, and where segments belong."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from segments.clusters.embedded.segments.segment_servers import segment_servers
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.pause import is_disabled
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.rebalance.job import Jobs
from segments.domain.rebalance.target import Placement
from segments.domain.segments.ideal_state import serving
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.server_tags import consuming_tag, segment_tag
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.realtime.realtime_servers import tenant_servers
from segments.services.rebalance.job_records import RECORDS
from segments.store import paths
from segments.store.base import Create, Replace, Versioned


@dataclass(frozen=True)
class Observed:
    """A table at one moment. ``serving``: {segment: live servers that answer from it}."""

    table: TableName
    ideal: ZNRecord
    ideal_version: int
    jobs: Jobs
    jobs_node: Versioned | None
    serving: Mapping[str, Collection[str]]
    live: frozenset[str]

    def write_ideal(self, ideal: ZNRecord) -> list[Replace]:
        """The write that replaces the ideal state; none when it is the one that was read."""
        path = paths.ideal_state(self.table.typed)
        return [] if ideal is self.ideal else [Replace(path, ideal, self.ideal_version)]

    def write_jobs(self, jobs: Jobs) -> Create | Replace:
        """The write that replaces the table's record of rebalances."""
        return RECORDS.write_of(paths.rebalances(self.table.typed), self.jobs_node, jobs)


def observe(ctx: Context, table: TableName) -> Observed:
    """Read the table. NotFound when it does not exist, InvalidInput when it is disabled."""
    typed = table.typed
    ideal, view, jobs = ctx.store.get_many(
        [paths.ideal_state(typed), paths.external_view(typed), paths.rebalances(typed)]
    )
    if ideal is None or ideal.record is None:
        raise NotFound(f"Table {table} does not exist.", remedy="List the tables with GET /tables.")
    if is_disabled(ideal.record):
        raise InvalidInput(f"Table {table} is disabled.", remedy="Enable it, then rebalance it.")
    live = frozenset(i for i in ctx.store.children(paths.LIVE_INSTANCES) if i.startswith("Server_"))
    rows = view.record.maps if view is not None and view.record is not None else {}
    served = {s: frozenset(serving(row)) & live for s, row in rows.items()}
    known = RECORDS.parsed(jobs) or Jobs(typed)
    return Observed(table, ideal.record, ideal.version, known, jobs, served, live)


def placement(ctx: Context, config: TableConfig) -> Placement:
    """Where the table's segments belong, by the servers that are there now. StateConflict when they are too few.

    Segments of a partition stay together where completed ones have no tag of their own, and always on a table whose
    rows have keys: the servers that consume a partition are the ones that know its keys.
    """
    found, replicas = segment_servers(ctx, config), config.replication
    is_realtime = config.table.type == REALTIME
    by_partition = is_realtime and (is_keyed(config) or segment_tag(config) == consuming_tag(config))
    if len(found.ready) < replicas and not by_partition:
        raise StateConflict(
            f"Table '{config.table}' wants {replicas} replicas, but {len(found.ready)} enabled servers with the tag "
            f"'{found.tag}' are alive.",
            remedy="Start or enable servers, then rebalance.",
        )
    selector = (config.model.routing.instance_selector_type or "") if config.model.routing else ""
    return Placement(
        table=config.table.typed,
        replicas=replicas,
        servers=tuple(sorted(found.ready)),
        consuming=tuple(tenant_servers(ctx, config)) if is_realtime else (),
        by_partition=by_partition,
        is_grouped=selector.lower() in ("replicagroup", "strictreplicagroup"),
        topics=len(check_realtime(config)) if is_realtime else 1,
        whole_partitions=is_realtime and is_keyed(config),
    )
