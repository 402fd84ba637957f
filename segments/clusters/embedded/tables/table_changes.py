"""Create and change tables: config, ideal state and broker row are born in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from segments.clusters.embedded.segments.segment_servers import check_has_servers
from segments.clusters.embedded.tables.broker_rows import broker_row
from segments.domain.formats.recorded_change import recorded_change
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.first_starts import Watermark
from segments.domain.realtime.realtime_assignment import check_enough_servers
from segments.domain.realtime.realtime_plan import Changes
from segments.domain.realtime.realtime_table import check_offset_reset, check_realtime
from segments.domain.realtime.streams import changed_streams
from segments.domain.replacement.replacement_settings import replacement_settings
from segments.domain.segments.archive import RECORDS
from segments.domain.segments.ideal_state import new_ideal_state
from segments.domain.segments.peer_download_rules import check_has_place, check_peer_scheme
from segments.domain.tables import table_config as configs
from segments.domain.tables.edits.document_version import check_version
from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.keyed_checks import check_keyed, check_unchanged
from segments.domain.tables.readable_values import check_readable
from segments.domain.tables.schema import Schema
from segments.domain.tables.server_tags import check_tags, consuming_tag
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.gateways.deep_store.deepstore import DELETED, INGESTION, STAGING
from segments.names import REALTIME, TableName
from segments.segmentfile.columns.complex_type import complex_type_of_messages
from segments.services.core.context import Context
from segments.services.realtime.consuming_segments import first_segments, make_remaining_segments
from segments.services.realtime.realtime_servers import tenant_servers
from segments.services.replacement.checks.check_settings import validate_checks
from segments.services.replacement.lineage_record import table_not_found
from segments.services.tables.schemas import read_schema
from segments.services.tables.stored_documents import config_body
from segments.services.tables.table_record import table_exists
from segments.services.tables.table_secrets import secrets_masked_in_errors
from segments.store import paths
from segments.store.base import Create, Replace, Versioned, Write
from segments.store.update import update_record, update_transaction


def validate_config(
    ctx: Context, config: TableConfig, schema: Schema | None = None, before: TableConfig | None = None
) -> Schema:
    """Check a config, which replaces ``before``, against its schema, or against ``schema``, which is to be it; returns
    that. InvalidInput, also when the schema is missing.
    """
    if config.table.raw in (DELETED, RECORDS, STAGING, INGESTION):
        raise InvalidInput(
            f"'{config.table.raw}' is a folder of the deep store, and no name for a table.",
            remedy="Choose another name.",
        )
    have_tls = ctx.controller_url.startswith("https:")
    check_peer_scheme(config, have_tls=have_tls)
    check_has_place(config, has_deep_store=ctx.deep_store.exists, have_tls=have_tls)
    check_tags(config)
    check_readable(config, before)
    if config.table.type == REALTIME:
        for stream in check_realtime(config):
            ctx.check_stream(stream)
            complex_type_of_messages(config, stream.decoder.kind)
        check_offset_reset(config)
    schema = schema or _schema_of(ctx, config.table)
    configs.check_against_schema(config, schema)
    check_keyed(config, schema)
    validate_checks(config, schema)
    replacement_settings(config)
    return schema


def _schema_of(ctx: Context, table: TableName) -> Schema:
    try:
        return read_schema(ctx, table.raw)
    except NotFound as error:
        raise InvalidInput(
            f"Table '{table}' has no schema '{table.raw}'.", remedy="Create the schema with POST /schemas first."
        ) from error


def create_table(ctx: Context, config: TableConfig, watermarks: Mapping[int, Watermark]) -> None:
    """Create a table; partitions of a REALTIME one consume from then on, those with a watermark from there.

    Raises InvalidInput, StateConflict when it, or what is left of a dropped one, exists or there are fewer servers than
    replicas, Unavailable when a stream does not answer. Then nothing is left.
    """
    validate_config(ctx, config)
    check_has_servers(ctx, config)
    table = config.table
    empty = new_ideal_state(table.typed, config.replication)
    ideal, first = first_segments(ctx, config, empty, watermarks) if table.type == REALTIME else (empty, Changes())
    update_transaction(ctx.store, lambda: _birth(ctx, config, first.apply(ideal), first.created))
    if table.type == REALTIME:
        make_remaining_segments(ctx, table)


def _birth(ctx: Context, config: TableConfig, ideal: ZNRecord, segments: Mapping[str, ZNRecord]) -> Sequence[Write]:
    """Everything that a new table is, as it may be written now."""
    table = config.table
    if ctx.store.exists(paths.table_config(table.typed)) is not None:
        raise table_exists(table)
    for path in (paths.external_view(table.typed), paths.ideal_state(table.typed)):
        if ctx.store.exists(path) is not None:
            raise StateConflict(
                f"A dropped table '{table}' is not quite gone: {path} exists.", remedy="Try again in a few seconds."
            )
    validate_config(ctx, config)
    schema = ctx.store.get(paths.schema(table.raw))
    if schema is None or schema.record is None:
        raise NotFound(f"Schema '{table.raw}' does not exist.", remedy="Create the schema with POST /schemas first.")
    return [
        # Written as it is: its version grows, so that a deletion of the schema under way is decided again.
        Replace(paths.schema(table.raw), schema.record, schema.version),
        Create(paths.table_config(table.typed), config.to_record()),
        Create(paths.ideal_state(table.typed), ideal),
        *(Create(paths.segment(table.typed, s), r) for s, r in sorted(segments.items())),
        broker_row(ctx, table),
    ]


def update_table(ctx: Context, given: TableConfig, detail: dict[str, Any], expected: str | None = None) -> TableConfig:
    """Change a table's config; a new replication holds for new segments. NotFound, InvalidInput, StateConflict, also
    when the stored one is not the version ``expected``.
    """
    config = _checked(ctx, given)

    def attempt() -> Sequence[Write]:
        node, writes = _update(ctx, given)
        check_version(f"The config of table '{given.table}'", _body_of(node), expected)
        detail.update(recorded_change(_body_of(node), _with_secrets_of(node, given).body))
        return writes

    update_transaction(ctx.store, attempt)
    return config


def check_update(ctx: Context, given: TableConfig, schema: Schema | None = None) -> TableConfig:
    """Raise what ``update_table`` would raise now, with ``schema`` as the table's schema; writes nothing."""
    config = _checked(ctx, given, schema)
    _update(ctx, given)
    return config


def _checked(ctx: Context, given: TableConfig, schema: Schema | None = None) -> TableConfig:
    """The config with its stored secrets, right in itself; what only holds for now is decided in each attempt."""
    node = ctx.store.get(paths.table_config(given.table.typed))
    if node is None:
        raise table_not_found(given.table)
    config = _with_secrets_of(node, given)
    with secrets_masked_in_errors(config.body):
        validate_config(ctx, config, schema, _stored(node))
    check_has_servers(ctx, config, _stored(node))
    _check_can_consume(ctx, config, _stored(node))
    return config


def _check_can_consume(ctx: Context, config: TableConfig, before: TableConfig | None) -> None:
    """More replicas than the tenant has servers would stop consumption with the next commit. What is stored so already
    may stay, whatever became of the servers.
    """
    asked = (config.replication, consuming_tag(config))
    if config.table.type == REALTIME and (before is None or asked != (before.replication, consuming_tag(before))):
        check_enough_servers(config.table.typed, config.replication, tenant_servers(ctx, config))


def _update(ctx: Context, given: TableConfig) -> tuple[Versioned, list[Write]]:
    """The stored config, and what changing it writes on the versions that are there now."""
    table = given.table
    node, ideal = ctx.store.get(paths.table_config(table.typed)), ctx.store.get(paths.ideal_state(table.typed))
    if node is None or ideal is None or ideal.record is None:
        raise table_not_found(table)
    config = _with_secrets_of(node, given)
    if (stored := _stored(node)) is not None:
        check_unchanged(stored, config)
    writes: list[Write] = [Replace(paths.table_config(table.typed), config.to_record(), node.version)]
    after = _with_streams(ideal.record, node, config).with_simple(REPLICAS=str(config.replication))
    if after != ideal.record:
        writes.append(Replace(paths.ideal_state(table.typed), after, ideal.version))
    return node, writes


def edit_custom_configs(ctx: Context, table: TableName, edit: Callable[[TableConfig], TableConfig]) -> None:
    """Change ``metadata.customConfigs`` alone, by what ``edit`` decides in every attempt. NotFound."""

    def decide(node: Versioned | None) -> ZNRecord:
        if node is None or node.record is None:
            raise table_not_found(table)
        config = edit(configs.from_record(node.record))
        return node.record.with_simple(metadata=config.to_record().simple["metadata"])

    update_record(ctx.store, paths.table_config(table.typed), decide)


def set_table_enabled(ctx: Context, table: TableName, is_enabled: bool) -> None:
    """Set Helix's flag in the ideal state. NotFound."""

    def decide(node: Versioned | None) -> ZNRecord:
        if node is None or node.record is None:
            raise table_not_found(table)
        return node.record.with_simple(HELIX_ENABLED=None if is_enabled else "false")

    update_record(ctx.store, paths.ideal_state(table.typed), decide)


def _stored(node: Versioned) -> TableConfig | None:
    """The config on record; None when it cannot be read."""
    try:
        return configs.from_record(node.record) if node.record is not None else None
    except PinotAdminError:
        return None


def _body_of(node: Versioned) -> dict[str, Any]:
    """The config on record, for the audit; one that cannot be read as the texts that it is stored as."""
    return config_body(node.record) if node.record else {}


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
    """The config as given, with the stored secrets where it is masked; one that cannot be read is replaced, and has
    none to keep.
    """
    if not has_mask(given.body):
        return given
    stored = _stored(node)
    return configs.parse_table_config(keep_secrets(given.body, stored.body if stored else {}))
