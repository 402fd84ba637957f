"""Tables: validate, create, read and change; config, ideal state and broker row are born in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from segments.clusters.pinot import tables as pinot_tables
from segments.domain.formats.recorded_change import recorded_change
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.realtime_plan import Changes
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.realtime.streams import changed_streams
from segments.domain.replacement.replacement_settings import replacement_settings
from segments.domain.segments.archive import RECORDS
from segments.domain.segments.ideal_state import ONLINE, new_ideal_state
from segments.domain.segments.peer_download import check_has_place, check_peer_scheme
from segments.domain.tables import table_config as configs
from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.schema import Schema
from segments.domain.tables.server_tags import check_tags
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.gateways.deep_store.deepstore import DELETED, STAGING
from segments.names import (
    REALTIME,
    TABLE_TYPES,
    TableName,
    TableType,
    parse_table_type,
    resolve_table,
    split_table_name,
)
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.realtime.consuming_segments import first_segments, make_remaining_segments
from segments.services.replacement.checks.check_settings import validate_checks
from segments.services.replacement.lineage_record import table_not_found
from segments.services.segments.placement.segment_servers import check_has_servers
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_secrets import untold_secrets
from segments.store import paths
from segments.store.base import Create, Replace, Versioned, Write
from segments.store.records.cluster_setup import broker_resource
from segments.store.update import update_record, update_transaction


def list_tables(ctx: Context, table_type: TableType | None = None) -> list[str]:
    """Raw names of all tables, or typed names of one type; sorted."""
    typed = ctx.store.children(paths.TABLE_CONFIGS)
    if table_type is None:
        return sorted({split_table_name(t)[0] for t in typed})
    return [t for t in typed if split_table_name(t)[1] == table_type]


def existing_tables(ctx: Context, name: str, type_text: str | None = None) -> list[TableName]:
    """The tables that a raw or typed name (and type) stands for, OFFLINE first. NotFound when there is none.

    Raises InvalidInput or Forbidden for a type that is none or contradicts the name.
    """
    raw, suffix = split_table_name(name)
    wanted = resolve_table(name, type_text).type if suffix or parse_table_type(type_text) else None
    asked = [TableName(raw, kind) for kind in TABLE_TYPES if wanted in (None, kind)]
    found = [t for t in asked if ctx.store.exists(paths.table_config(t.typed)) is not None]
    if not found:
        raise (
            table_not_found(asked[0])
            if wanted
            else NotFound(f"Table '{raw}' does not exist.", remedy="List the tables with GET /tables.")
        )
    return found


def one_table(ctx: Context, name: str, type_text: str | None) -> TableName:
    """The one existing table that name and required type stand for (400 no type, 403 contradiction,
    404).
    """
    table = resolve_table(name, type_text)
    if ctx.store.exists(paths.table_config(table.typed)) is None:
        raise table_not_found(table)
    return table


def validate_table(ctx: Context, body: Any) -> tuple[TableConfig, Schema]:
    """Check a config against its schema; writes nothing. Raises InvalidInput, also when the schema is missing."""
    if ctx.pinot is not None:
        return pinot_tables.validate_table(ctx, body)
    config = configs.parse_table_config(body)
    if config.table.raw in (DELETED, RECORDS, STAGING):
        raise InvalidInput(
            f"'{config.table.raw}' is a folder of the deep store, and no name for a table.",
            remedy="Choose another name.",
        )
    check_peer_scheme(config)
    check_has_place(config, has_deep_store=ctx.deep_store.exists)
    check_tags(config)
    if config.table.type == REALTIME:
        for stream in check_realtime(config):
            ctx.check_stream(stream)
    try:
        schema = read_schema(ctx, config.table.raw)
    except NotFound as error:
        raise InvalidInput(
            f"Table '{config.table}' has no schema '{config.table.raw}'.",
            remedy="Create the schema with POST /schemas first.",
        ) from error
    configs.check_against_schema(config, schema)
    validate_checks(config, schema)
    replacement_settings(config)
    return config, schema


def create_table(ctx: Context, body: Any, *, actor: Actor) -> TableConfig:
    """Create a table; partitions of a REALTIME one consume from then on.

    Raises InvalidInput, StateConflict when it, or what is left of a dropped one, exists or there are fewer servers than
    replicas, Unavailable when a stream does not answer. Then nothing is left.
    """
    if ctx.pinot is not None:
        return pinot_tables.create_table(ctx, body, actor=actor)
    config, _ = validate_table(ctx, keep_secrets(body, {}))  # a mask is nobody's secret
    check_has_servers(ctx, config)
    table = config.table
    empty = new_ideal_state(table.typed, config.replication)
    ideal, first = first_segments(ctx, config, empty) if table.type == REALTIME else (empty, Changes())

    def attempt() -> Sequence[Write]:
        if ctx.store.exists(paths.table_config(table.typed)) is not None:
            raise StateConflict(f"Table '{table}' exists already.", remedy=f"Change it with PUT /tables/{table.raw}.")
        for path in (paths.external_view(table.typed), paths.ideal_state(table.typed)):
            if ctx.store.exists(path) is not None:
                raise StateConflict(
                    f"A dropped table '{table}' is not quite gone: {path} exists.", remedy="Try again in a few seconds."
                )
        validate_table(ctx, body)
        schema = ctx.store.get(paths.schema(table.raw))
        if schema is None or schema.record is None:
            raise NotFound(
                f"Schema '{table.raw}' does not exist.", remedy="Create the schema with POST /schemas first."
            )
        return [
            # Written as it is: its version grows, so that a deletion of the schema that is under way looks again.
            Replace(paths.schema(table.raw), schema.record, schema.version),
            Create(paths.table_config(table.typed), config.to_record()),
            Create(paths.ideal_state(table.typed), first.apply(ideal)),
            *(Create(paths.segment(table.typed, s), r) for s, r in sorted(first.created.items())),
            _broker_row(ctx, table),
        ]

    update_transaction(ctx.store, attempt)
    audit.record(actor, "createTable", cluster=ctx.cluster, target=table.typed)
    if table.type == REALTIME:
        make_remaining_segments(ctx, table)
    return config


def update_table(ctx: Context, name: str, body: Any, *, actor: Actor) -> TableConfig:
    """Change a table's config; a new replication holds for new segments; secrets that are masked in it stay as they are
    stored.

    Raises NotFound or InvalidInput.
    """
    if ctx.pinot is not None:
        return pinot_tables.update_table(ctx, name, body, actor=actor)
    given = configs.parse_table_config(body)
    table = given.table
    raw, suffix = split_table_name(name)
    if raw != table.raw or suffix not in (None, table.type):
        raise InvalidInput(f"The body is table '{table}', the address names '{name}'.", remedy="Make them the same.")
    node = ctx.store.get(paths.table_config(table.typed))
    if node is None:
        raise table_not_found(table)
    config = _with_secrets_of(node, given)
    with untold_secrets(config.body):
        validate_table(ctx, config.body)
    check_has_servers(ctx, config, _stored(node))
    before: list[dict[str, Any]] = []

    def attempt() -> Sequence[Write] | None:
        node, ideal = ctx.store.get(paths.table_config(table.typed)), ctx.store.get(paths.ideal_state(table.typed))
        if node is None or ideal is None or ideal.record is None:
            raise table_not_found(table)
        config, before[:] = _with_secrets_of(node, given), [_body_of(node)]
        writes: list[Write] = [Replace(paths.table_config(table.typed), config.to_record(), node.version)]
        after = _with_streams(ideal.record, node, config).with_simple(REPLICAS=str(config.replication))
        if after != ideal.record:
            writes.append(Replace(paths.ideal_state(table.typed), after, ideal.version))
        return writes

    update_transaction(ctx.store, attempt)
    audit.record(
        actor, "updateTable", cluster=ctx.cluster, target=table.typed, **recorded_change(before[0], config.body)
    )
    return config


def _stored(node: Versioned) -> TableConfig | None:
    """The config on record; None when it can not be read."""
    try:
        return configs.from_record(node.record) if node.record is not None else None
    except PinotAdminError:
        return None


def _body_of(node: Versioned) -> dict[str, Any]:
    """The config on record, for the audit; one that can not be read as the texts that it is stored as."""
    stored = _stored(node)
    return stored.body if stored else dict(node.record.simple) if node.record else {}


def _with_streams(ideal: ZNRecord, before: Versioned, config: TableConfig) -> ZNRecord:
    """The ideal state with a note of partitions that read another stream from now on. StateConflict while one of them
    still consumes.
    """
    if config.table.type != REALTIME or before.record is None:
        return ideal
    after = changed_streams.noted(ideal, check_realtime(configs.from_record(before.record)), check_realtime(config))
    if consuming := changed_streams.still_consuming(ideal, after):
        raise StateConflict(
            f"Segment {consuming[0]} still consumes the stream that this change replaces by another one.",
            remedy="Pause the table, wait until pauseStatus lists no consuming segment, change it, and say on resume "
            "where to begin.",
        )
    return after


def _with_secrets_of(node: Versioned, given: TableConfig) -> TableConfig:
    """The config as given, with the stored secrets where it is masked; one that can not be read is replaced, and has
    none to keep.
    """
    if not has_mask(given.body):
        return given
    stored = _stored(node)
    return configs.parse_table_config(keep_secrets(given.body, stored.body if stored else {}))


def with_broker_rows(record: ZNRecord, rows: dict[str, dict[str, str]]) -> ZNRecord:
    """brokerResource with these rows; NUM_PARTITIONS follows."""
    return replace(record.with_simple(NUM_PARTITIONS=str(len(rows))), maps=dict(sorted(rows.items())))


def remove_broker_row(ctx: Context, table: TableName) -> None:
    """Take the table out of routing; missing is fine."""

    def decide(node: Versioned | None) -> ZNRecord | None:
        if node is None or node.record is None or table.typed not in node.record.maps:
            return None
        return with_broker_rows(node.record, {t: r for t, r in node.record.maps.items() if t != table.typed})

    update_record(ctx.store, paths.BROKER_RESOURCE, decide)


def _broker_row(ctx: Context, table: TableName) -> Write:
    """All known brokers serve the table."""
    known = {*ctx.store.children(paths.LIVE_INSTANCES), *ctx.store.children(paths.PARTICIPANT_CONFIGS)}
    row = {b: ONLINE for b in sorted(known) if b.startswith("Broker_")}
    node = ctx.store.get(paths.BROKER_RESOURCE)
    before = node.record if node and node.record else broker_resource()
    after = with_broker_rows(before, {**before.maps, table.typed: row})
    return Create(paths.BROKER_RESOURCE, after) if node is None else Replace(paths.BROKER_RESOURCE, after, node.version)
