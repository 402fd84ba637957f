"""Tables: list, validate, create, change, enable and drop; one audit record each, done or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segments.domain.realtime.first_starts import Watermark
from segments.domain.realtime.pause import is_disabled
from segments.domain.tables.kept_secrets import keep_secrets
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep import retention as rules
from segments.errors import InvalidInput, NotFound
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
from segments.services.replacement.lineage_record import table_not_found
from segments.services.schedules.task_check import refuse_wrong_task
from segments.services.segments import last_copies
from segments.services.tables.edits import versions
from segments.services.tables.table_secrets import secrets_masked_in_errors
from segments.store import paths


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
    """The one existing table that name and required type stand for.

    Raises InvalidInput without a type, Forbidden for one that contradicts the name, NotFound.
    """
    table = resolve_table(name, type_text)
    if ctx.store.exists(paths.table_config(table.typed)) is None:
        raise table_not_found(table)
    return table


def validate_table(ctx: Context, body: Any) -> tuple[TableConfig, Schema]:
    """Check a config against its schema; writes nothing. Raises InvalidInput, also when the schema is missing (NotFound
    where Pinot judges it).
    """
    config = ctx.engine.tables.parse_config(body)
    refuse_wrong_task(ctx, config, is_change=False)
    return config, ctx.engine.tables.validate_config(ctx, config)


def create_table(
    ctx: Context, body: Any, *, actor: Actor, watermarks: Mapping[int, Watermark] | None = None
) -> TableConfig:
    """Create a table; partitions of a REALTIME one consume from then on. ``watermarks``: {partition: sequence number
    and offset of its first segment}, where it goes on for another table.

    Raises InvalidInput, StateConflict when it, or what is left of a dropped one, exists, there are fewer servers than
    replicas, or a stream has lost rows behind a watermark, Unavailable when a stream does not answer.
    """
    config = ctx.engine.tables.parse_config(keep_secrets(body, {}))  # a mask is nobody's secret
    marks = {str(p): {"sequence": m.sequence, "offset": m.offset} for p, m in (watermarks or {}).items()}
    detail = {"watermarks": marks} if marks else {}
    with audit.recorded(ctx, actor, "createTable", config.table.typed, **detail), secrets_masked_in_errors(config.body):
        if marks and config.table.type != REALTIME:
            raise InvalidInput("Only a REALTIME table has watermarks.", remedy="Leave them out.")
        refuse_wrong_task(ctx, config, is_change=False)
        ctx.engine.tables.create_table(ctx, config, watermarks or {})
        versions.note_config(ctx, config.table, actor, is_new=True)
    return config


def update_table(ctx: Context, name: str, body: Any, *, actor: Actor, expected: str | None = None) -> TableConfig:
    """Change a table's config; a new replication holds for new segments; secrets that are masked in it stay as they are
    stored. It becomes a version of the table's history.

    Raises NotFound or InvalidInput, StateConflict while partitions consume a stream that the change replaces, or when
    the config is not the version ``expected``.
    """
    given = ctx.engine.tables.parse_config(body)
    table = given.table
    raw, suffix = split_table_name(name)
    if raw != table.raw or suffix not in (None, table.type):
        raise InvalidInput(f"The body is table '{table}', the address names '{name}'.", remedy="Make them the same.")
    with audit.recorded(ctx, actor, "updateTable", table.typed) as detail, secrets_masked_in_errors(given.body):
        refuse_wrong_task(ctx, given, is_change=True)
        changed = ctx.engine.tables.update_table(ctx, given, detail, expected)
        versions.note_config(ctx, table, actor)
    return changed


def is_table_enabled(ctx: Context, table: TableName) -> bool:
    """Is it enabled as a whole? NotFound when there is no such table."""
    node = ctx.store.get(paths.ideal_state(table.typed))
    if node is None or node.record is None:
        raise table_not_found(table)
    return not is_disabled(node.record)


def set_table_enabled(ctx: Context, table: TableName, enabled: bool, *, actor: Actor) -> None:
    """Enable or disable a table as a whole. NotFound when there is no such table."""
    with audit.recorded(ctx, actor, "enableTable" if enabled else "disableTable", table.typed):
        ctx.engine.tables.set_table_enabled(ctx, table, enabled)


def delete_table(
    ctx: Context, table: TableName, *, retention: str | None = None, force: bool = False, actor: Actor
) -> None:
    """Drop the table. Files are kept for ``retention``, the table's or the cluster's time, as those of deleted segments
    are.

    Segments that only servers have are copied into the deep store first where servers are ours; StateConflict where
    that fails, and nothing is dropped, unless ``force`` and a reason say that they may be lost. NotFound when the table
    does not exist; InvalidInput for a retention that is none.
    """
    rules.check_retention(retention)
    last_copies.check_force(force, actor)
    with audit.recorded(ctx, actor, "deleteTable", table.typed) as detail:
        ctx.engine.tables.delete_table(ctx, table, retention=retention, force=force, actor=actor, detail=detail)
        versions.note(ctx, "config", table.typed, None, actor)
