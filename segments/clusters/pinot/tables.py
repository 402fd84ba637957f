"""Tables and schemas of a real Pinot: its controller decides what is right, and what it refuses is told
with the cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from segments.clusters.pinot.calls import controller, quoted, read_object, refusals_told, version
from segments.clusters.pinot.changes import change
from segments.domain.formats.recorded_change import recorded_change
from segments.domain.pinot.version import PinotVersion
from segments.domain.tables import schema as schemas
from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.names import REALTIME, TABLE_TYPES, TableName, check_raw_table_name, parse_table_type, split_table_name
from segments.services.core.context import Actor, Context
from segments.services.tables.table_secrets import untold_secrets
from segments.store import paths

#: Seconds for a table to be created or dropped: a REALTIME one asks its stream, a drop waits for servers.
_ANSWER_S: Final = 120.0
#: From here on a table is enabled with PUT .../state; before it is a parameter of GET /tables/{table}.
_PUT_STATE: Final = PinotVersion(1, 0)
#: From here on ``replication`` alone says how many replicas a REALTIME table has.
_ONE_REPLICATION: Final = PinotVersion(1, 2)


def parse_foreign_config(body: Any) -> TableConfig:
    """Name and type of a table config; everything else is Pinot's to judge. InvalidInput when these two
    are not there.
    """
    if not isinstance(body, dict) or not isinstance(body.get("tableName"), str):
        raise InvalidInput("A table config is an object with a tableName and a tableType.")
    raw, suffix = split_table_name(body["tableName"])
    kind = parse_table_type(body.get("tableType")) or suffix
    if kind is None:
        raise InvalidInput(f"Table config '{raw}' has no tableType.", remedy="Use OFFLINE or REALTIME.")
    return TableConfig(TableName(check_raw_table_name(raw), kind), body)


def read_config(ctx: Context, table: TableName) -> dict[str, Any] | None:
    """The config as the controller has it now; None: there is no such table."""
    try:
        config = read_object(ctx, f"/tables/{quoted(table.raw)}", {"type": table.type.lower()}).get(table.type)
    except NotFound:
        return None
    return config if isinstance(config, dict) else None


def validate_table(ctx: Context, body: Any) -> tuple[TableConfig, Schema]:
    """Have the controller check a config. InvalidInput with its reasons; NotFound when the schema is missing."""
    config = parse_foreign_config(body)
    with refusals_told(is_change=False), untold_secrets(config.body):
        controller(ctx).read("POST", "/tables/validate", body=_for_version(ctx, config))
    return config, read_schema(ctx, config.table.raw)


def create_table(ctx: Context, body: Any, *, actor: Actor) -> TableConfig:
    """Create it. StateConflict when it exists; what Pinot refuses as InvalidInput."""
    config = parse_foreign_config(keep_secrets(body, {}))  # a mask is nobody's secret
    table = config.table
    change(
        ctx, actor, "createTable", table.typed, ("POST", "/tables"), body=_for_version(ctx, config),
        is_done=lambda: read_config(ctx, table) is not None, timeout=_ANSWER_S,
    )  # fmt: skip
    return config


def update_table(ctx: Context, name: str, body: Any, *, actor: Actor) -> TableConfig:
    """Change its config; secrets that are masked in it stay.

    NotFound; InvalidInput when the body is another table's, or Pinot refuses it.
    """
    config = parse_foreign_config(body)
    table = config.table
    raw, suffix = split_table_name(name)
    if raw != table.raw or suffix not in (None, table.type):
        raise InvalidInput(f"The body is table '{table}', the address names '{name}'.", remedy="Make them the same.")
    before = read_config(ctx, table)
    body = _for_version(
        ctx, TableConfig(table, keep_secrets(config.body, before or {}) if has_mask(body) else config.body)
    )
    change(
        ctx, actor, "updateTable", table.typed, ("PUT", f"/tables/{quoted(table.typed)}"), body=body,
        is_done=lambda: _holds(read_config(ctx, table), body), timeout=_ANSWER_S, **recorded_change(before, body),
    )  # fmt: skip
    return config


def edit_config(
    ctx: Context, table: TableName, edit: Callable[[dict[str, Any]], dict[str, Any]], *, actor: Actor
) -> None:
    """Change the config as it is now. NotFound. Two that edit at the same moment: the later one wins, as with Pinot's
    own console.
    """
    before = read_config(ctx, table)
    if before is None:
        raise NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
    update_table(ctx, table.typed, edit(json.loads(json.dumps(before))), actor=actor)


def delete_table(ctx: Context, table: TableName, *, retention: str | None, actor: Actor) -> None:
    """Drop it; Pinot keeps its files for ``retention``, else as its settings say. NotFound."""
    if read_config(ctx, table) is None:
        raise NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
    params = {"type": table.type.lower(), "retention": retention}
    change(
        ctx, actor, "deleteTable", table.typed, ("DELETE", f"/tables/{quoted(table.raw)}"), params=params,
        is_done=lambda: read_config(ctx, table) is None, timeout=_ANSWER_S,
    )  # fmt: skip


def set_table_enabled(ctx: Context, table: TableName, enabled: bool, *, actor: Actor) -> None:
    """Enable or disable it as a whole. NotFound."""
    found, word = version(ctx), "enable" if enabled else "disable"
    params = {"state": word, "type": table.type.lower()}
    is_old = found is not None and found < _PUT_STATE
    request = ("GET", f"/tables/{quoted(table.raw)}") if is_old else ("PUT", f"/tables/{quoted(table.raw)}/state")
    # Setting it twice changes nothing, so what can not be seen at once is sent again.
    change(ctx, actor, f"{word}Table", table.typed, request, params=params, is_done=lambda: False)


def _for_version(ctx: Context, config: TableConfig) -> dict[str, Any]:
    """The config as the cluster's version takes it: an old one refuses a REALTIME table that says only
    ``replication``.
    """
    settings, found = config.body.get("segmentsConfig"), version(ctx)
    is_old = found is None or found < _ONE_REPLICATION
    if (
        config.table.type != REALTIME
        or not is_old
        or not isinstance(settings, dict)
        or settings.get("replicasPerPartition") is not None
    ):
        return config.body
    return {**config.body, "segmentsConfig": {**settings, "replicasPerPartition": str(settings.get("replication", 1))}}


def read_schema(ctx: Context, name: str) -> Schema:
    """As the controller has it now. NotFound."""
    return schemas.parse_schema(read_object(ctx, f"/schemas/{quoted(name)}"))


def create_schema(ctx: Context, body: Any, *, override: bool, actor: Actor) -> Schema:
    """Create a schema, or change the existing one when ``override``. StateConflict when it exists."""
    schema = schemas.new_schema(body)
    if not override and _schema_body(ctx, schema.name) is not None:
        raise StateConflict(f"Schema '{schema.name}' exists already.", remedy="Send override=true to change it.")
    before = _schema_body(ctx, schema.name) if override else None
    detail = recorded_change(before, body) if before else {}
    change(
        ctx, actor, "createSchema", schema.name, ("POST", "/schemas"), params={"override": override}, body=body,
        is_done=lambda: _has_columns(_schema_body(ctx, schema.name), schema), columns=len(schema.fields), **detail,
    )  # fmt: skip
    return schema


def update_schema(ctx: Context, name: str, body: Any, *, actor: Actor) -> Schema:
    """Change an existing schema: columns may be added only. NotFound, InvalidInput."""
    schema = schemas.new_schema(body)
    if schema.name != name:
        raise InvalidInput(
            f"The body is schema '{schema.name}', the address names '{name}'.", remedy="Make them the same."
        )
    change(
        ctx, actor, "updateSchema", name, ("PUT", f"/schemas/{quoted(name)}"), body=body,
        is_done=lambda: _has_columns(_schema_body(ctx, name), schema), columns=len(schema.fields),
        **recorded_change(_schema_body(ctx, name), body),
    )  # fmt: skip
    return schema


def delete_schema(ctx: Context, name: str, *, actor: Actor) -> None:
    """Delete a schema that no table uses. NotFound; StateConflict naming the tables, which old versions do not look
    for.
    """
    users = [
        t for t in (f"{name}_{kind}" for kind in TABLE_TYPES) if ctx.store.exists(paths.table_config(t)) is not None
    ]
    if users:
        raise StateConflict(
            f"Schema '{name}' is used by table {', '.join(users)}.", remedy="Delete the table first.", tables=users
        )
    change(
        ctx,
        actor,
        "deleteSchema",
        name,
        ("DELETE", f"/schemas/{quoted(name)}"),
        is_done=lambda: _schema_body(ctx, name) is None,
    )


def _schema_body(ctx: Context, name: str) -> dict[str, Any] | None:
    try:
        return read_object(ctx, f"/schemas/{quoted(name)}")
    except NotFound:
        return None


def _has_columns(body: dict[str, Any] | None, wanted: Schema) -> bool:
    return body is not None and {f.name for f in wanted.fields} <= {f.name for f in schemas.parse_schema(body).fields}


def _holds(found: dict[str, Any] | None, wanted: dict[str, Any]) -> bool:
    """Has the table every setting of ``wanted``? Pinot adds defaults to what it is given."""
    return found is not None and all(
        _is_within(value, found.get(key)) for key, value in wanted.items() if key != "tableName"
    )


def _is_within(value: Any, found: Any) -> bool:
    if isinstance(value, dict) and isinstance(found, dict):
        return all(_is_within(v, found.get(k)) for k, v in value.items())
    return str(value) == str(found) or value in (None, {}, [])
