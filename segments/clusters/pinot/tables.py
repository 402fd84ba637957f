"""Tables and schemas of a real Pinot: its controller decides what is right, and what it refuses is raised with its
cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from segments.clusters.pinot.calls import controller, quoted, read_object, refusals_translated, version
from segments.clusters.pinot.changes import Request, send_change
from segments.domain.formats.recorded_change import recorded_change
from segments.domain.pinot.capabilities import PinotVersion
from segments.domain.realtime.first_starts import Watermark
from segments.domain.tables import schema as schemas
from segments.domain.tables.edits.document_version import check_version
from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound
from segments.names import REALTIME, TableName, check_raw_table_name, parse_table_type, split_table_name
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import table_not_found
from segments.services.tables.schemas import exists_already, require_unused
from segments.services.tables.stored_documents import config_body, schema_body
from segments.services.tables.table_record import table_exists
from segments.services.tables.table_secrets import secrets_masked_in_errors
from segments.store import paths

#: Seconds for a table to be created or dropped: a REALTIME one asks its stream, a drop waits for servers.
_ANSWER_S: Final = 120.0
#: From here on a table is enabled with PUT .../state; before it is a parameter of GET /tables/{table}.
_PUT_STATE: Final = PinotVersion(1, 0)
#: From here on ``replication`` alone says how many replicas a REALTIME table has.
_ONE_REPLICATION: Final = PinotVersion(1, 2)


def parse_config(body: Any) -> TableConfig:
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


def validate_config(ctx: Context, config: TableConfig, schema: Schema | None = None) -> Schema:
    """Have the controller check a config, against ``schema`` where it is given. InvalidInput with its reasons; NotFound
    when the schema is missing.
    """
    body = _for_version(ctx, config)
    with refusals_translated(is_change=False), secrets_masked_in_errors(config.body):
        if schema is not None:
            both = {"tableConfig": body, "schema": schema.body}
            controller(ctx).read("POST", "/tables/validateTableAndSchema", body=both)
            return schema
        controller(ctx).read("POST", "/tables/validate", body=body)
    return schemas.parse_schema(read_object(ctx, f"/schemas/{quoted(config.table.raw)}"))


def create_table(ctx: Context, config: TableConfig, watermarks: Mapping[int, Watermark]) -> None:
    """Create it. StateConflict when it exists; what Pinot refuses as InvalidInput, and so are watermarks."""
    if watermarks:
        raise InvalidInput(
            "Pinot takes no watermarks when a table is created.", remedy="Its own copy of a table goes on where it was."
        )
    if read_config(ctx, config.table) is not None:
        raise table_exists(config.table)
    request = Request("POST", "/tables", body=_for_version(ctx, config), timeout=_ANSWER_S)
    send_change(ctx, request, is_done=lambda: read_config(ctx, config.table) is not None)


def check_update(ctx: Context, config: TableConfig, schema: Schema | None = None) -> TableConfig:
    """Have the controller check a changed config, with its secrets. It knows the stored schema only, so with another
    ``schema`` it checks when that is written. NotFound; InvalidInput with its reasons.
    """
    before = read_config(ctx, config.table)
    if before is None:
        raise table_not_found(config.table)
    body = keep_secrets(config.body, before) if has_mask(config.body) else config.body
    full = TableConfig(config.table, body)
    if schema is None:
        validate_config(ctx, full)
    return full


def update_table(ctx: Context, config: TableConfig, detail: dict[str, Any], expected: str | None = None) -> TableConfig:
    """Change its config; secrets that are masked in it stay. NotFound; InvalidInput when Pinot refuses it;
    StateConflict when it is not the version ``expected``, read right before.
    """
    if expected is not None:
        node = ctx.store.get(paths.table_config(config.table.typed))
        stored = config_body(node.record) if node and node.record else None
        check_version(f"The config of table '{config.table}'", stored, expected)
    table, before = config.table, read_config(ctx, config.table)
    kept = keep_secrets(config.body, before or {}) if has_mask(config.body) else config.body
    body = _for_version(ctx, TableConfig(table, kept))
    detail.update(recorded_change(before, body))
    request = Request("PUT", f"/tables/{quoted(table.typed)}", body=body, timeout=_ANSWER_S)
    send_change(ctx, request, is_done=lambda: _holds(read_config(ctx, table), body))
    return config


def edit_custom_configs(ctx: Context, table: TableName, edit: Callable[[TableConfig], TableConfig]) -> None:
    """Change the config as it is now; customConfigs are kept by every version as they are. NotFound.

    Of two at the same moment the later one wins, as with Pinot's own console.
    """
    before = read_config(ctx, table)
    if before is None:
        raise table_not_found(table)
    update_table(ctx, edit(TableConfig(table, json.loads(json.dumps(before)))), {})


def delete_table(
    ctx: Context, table: TableName, *, retention: str | None, force: bool, actor: Actor, detail: dict[str, Any]
) -> None:
    """Drop it; Pinot keeps its files for ``retention``, else as its settings say. NotFound."""
    if read_config(ctx, table) is None:
        raise table_not_found(table)
    params = {"type": table.type.lower(), "retention": retention}
    request = Request("DELETE", f"/tables/{quoted(table.raw)}", params, timeout=_ANSWER_S)
    send_change(ctx, request, is_done=lambda: read_config(ctx, table) is None)


def set_table_enabled(ctx: Context, table: TableName, is_enabled: bool) -> None:
    """Enable or disable it as a whole. NotFound."""
    found = version(ctx)
    params = {"state": "enable" if is_enabled else "disable", "type": table.type.lower()}
    is_old = found is not None and found < _PUT_STATE
    path = f"/tables/{quoted(table.raw)}"
    request = Request("GET", path, params) if is_old else Request("PUT", f"{path}/state", params)
    # Setting it twice changes nothing, so what cannot be seen at once is sent again.
    send_change(ctx, request, is_done=lambda: False)


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


def create_schema(ctx: Context, schema: Schema, *, override: bool, detail: dict[str, Any]) -> None:
    """Create a schema, or change the existing one when ``override``. StateConflict when it exists."""
    before = _schema_body(ctx, schema.name)
    if before is not None and not override:
        raise exists_already(schema.name)
    if before:
        detail.update(recorded_change(before, schema.body))
    request = Request("POST", "/schemas", {"override": override}, schema.body)
    send_change(ctx, request, is_done=lambda: _has_columns(_schema_body(ctx, schema.name), schema))


def update_schema(ctx: Context, schema: Schema, detail: dict[str, Any], expected: str | None = None) -> None:
    """Change an existing schema: columns may be added only. NotFound, InvalidInput; StateConflict when it is not the
    version ``expected``, read right before.
    """
    if expected is not None:
        node = ctx.store.get(paths.schema(schema.name))
        check_version(f"Schema '{schema.name}'", schema_body(node.record) if node and node.record else None, expected)
    detail.update(recorded_change(_schema_body(ctx, schema.name), schema.body))
    request = Request("PUT", f"/schemas/{quoted(schema.name)}", body=schema.body)
    send_change(ctx, request, is_done=lambda: _has_columns(_schema_body(ctx, schema.name), schema))


def delete_schema(ctx: Context, name: str) -> None:
    """Delete a schema that no table uses. NotFound; StateConflict naming the tables, for which old versions do not
    check.
    """
    require_unused(ctx, name)
    request = Request("DELETE", f"/schemas/{quoted(name)}")
    send_change(ctx, request, is_done=lambda: _schema_body(ctx, name) is None)


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
