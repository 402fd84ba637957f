"""A new table's schema and config as choices in a grid, and back: what the grid does not show stays as it is in the
documents.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.tables.design.new_documents import INDEX_LISTS, LISTS, granularity_of
from segments.domain.tables.design.stream_documents import StreamChoice, set_stream_choice, stream_choice

_KINDS: Final = {key: kind for kind, key in LISTS.items()}


@dataclass(frozen=True)
class ColumnChoice:
    """A column as chosen; ``was`` is its name in the documents that are edited. ``null_value``: text of the value that
    is stored for null, "": the type's own. ``index``: a key of ``INDEX_LISTS`` or "".
    """

    name: str
    was: str
    is_kept: bool = True
    data_type: str = "STRING"
    kind: str = "DIMENSION"
    format: str = ""
    multi_value: bool = False
    null_value: str = ""
    in_key: bool = False
    index: str = ""


@dataclass(frozen=True)
class TableChoice:
    """The table as chosen. ``time_column`` by its new name; None: none. ``retention_days`` "": rows are kept.
    ``stream``: of a REALTIME table; None: it is OFFLINE.
    """

    name: str
    is_append: bool = False
    replicas: str = "1"
    retention_days: str = ""
    time_column: str | None = None
    stream: StreamChoice | None = None


def column_choices(schema: Mapping[str, Any], config: Mapping[str, Any], names: Sequence[str]) -> list[ColumnChoice]:
    """What the documents say of the columns ``names``; one that the schema has not is not kept."""
    specs = {str(s.get("name")): (s, _KINDS[key]) for key in _KINDS for s in _specs(schema, key)}
    keys, index = schema.get("primaryKeyColumns") or [], config.get("tableIndexConfig") or {}
    indexes = {str(name): kind for kind, key in INDEX_LISTS.items() for name in index.get(key) or ()}
    found = []
    for name in names:
        if name not in specs:
            found.append(ColumnChoice(name, name, is_kept=False))
            continue
        spec, kind = specs[name]
        null_value = spec.get("defaultNullValue")
        found.append(
            ColumnChoice(
                name, name, True, str(spec.get("dataType") or "STRING").upper(), kind, str(spec.get("format") or ""),
                spec.get("singleValueField") is False, "" if null_value is None else str(null_value), name in keys,
                indexes.get(name, ""),
            )
        )  # fmt: skip
    return found


def table_choice(config: Mapping[str, Any]) -> TableChoice:
    """What a config says of the table as a whole."""
    segments = config.get("segmentsConfig") or {}
    batch = (config.get("ingestionConfig") or {}).get("batchIngestionConfig") or {}
    days = segments.get("retentionTimeValue") if segments.get("retentionTimeUnit") == "DAYS" else None
    return TableChoice(
        str(config.get("tableName") or "").removesuffix("_OFFLINE").removesuffix("_REALTIME"),
        str(batch.get("segmentIngestionType") or "APPEND").upper() != "REFRESH",
        str(segments.get("replication") or "1"),
        "" if days is None else str(days),
        segments.get("timeColumnName"),
        stream_choice(config),
    )


def edited_schema(schema: Mapping[str, Any], name: str, columns: Sequence[ColumnChoice]) -> dict[str, Any]:
    """The schema with these columns; others of its columns stay."""
    old = {str(s.get("name")): s for key in _KINDS for s in _specs(schema, key)}
    shown = {c.was for c in columns}
    body = {k: v for k, v in copy.deepcopy(dict(schema)).items() if k not in (*_KINDS, "primaryKeyColumns")}
    body["schemaName"] = name
    lists: dict[str, list[Any]] = {key: [] for key in _KINDS}
    for column in columns:
        if column.is_kept:
            lists[LISTS[column.kind]].append(_spec(old.get(column.was, {}), column))
    for key, specs in lists.items():
        specs += [s for s in _specs(schema, key) if s.get("name") not in shown]
        if specs:
            body[key] = specs
    keys = [c.name for c in columns if c.in_key and c.is_kept]
    keys += [k for k in schema.get("primaryKeyColumns") or [] if k not in shown]
    return {**body, **({"primaryKeyColumns": keys} if keys else {})}


def edited_config(config: Mapping[str, Any], table: TableChoice, columns: Sequence[ColumnChoice]) -> dict[str, Any]:
    """The config with these settings and indexes."""
    body = copy.deepcopy(dict(config))
    body["tableName"] = table.name
    segments = body["segmentsConfig"] = dict(body.get("segmentsConfig") or {})
    segments["replication"] = table.replicas
    _set(segments, "timeColumnName", table.time_column)
    _set(segments, "retentionTimeUnit", "DAYS" if table.retention_days else None)
    _set(segments, "retentionTimeValue", table.retention_days or None)
    if table.stream is not None:
        set_stream_choice(body, table.stream)
    else:
        _set_loading(body, table)
    index = body["tableIndexConfig"] = dict(body.get("tableIndexConfig") or {})
    shown = {c.was for c in columns}
    for kind, key in INDEX_LISTS.items():
        listed = [n for n in index.get(key) or () if n not in shown]
        listed += [c.name for c in columns if c.index == kind and c.is_kept]
        _set(index, key, listed or None)
    return body


def _set_loading(body: dict[str, Any], table: TableChoice) -> None:
    ingestion = body["ingestionConfig"] = dict(body.get("ingestionConfig") or {})
    batch = ingestion["batchIngestionConfig"] = dict(ingestion.get("batchIngestionConfig") or {})
    batch["segmentIngestionType"] = "APPEND" if table.is_append else "REFRESH"
    _set(batch, "consistentDataPush", None if table.is_append else True)


def _specs(schema: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    listed = schema.get(key)
    return [s for s in listed if isinstance(s, dict)] if isinstance(listed, list) else []


def _spec(old: Mapping[str, Any], column: ColumnChoice) -> dict[str, Any]:
    spec: dict[str, Any] = {**old, "name": column.name, "dataType": column.data_type}
    _set(spec, "singleValueField", False if column.multi_value else None)
    _set(spec, "defaultNullValue", column.null_value or None)
    if column.kind == "DATE_TIME":
        changed = column.format != old.get("format")
        spec["format"] = column.format or "TIMESTAMP"
        if changed or not old.get("granularity"):
            spec["granularity"] = granularity_of(spec["format"])
    else:
        spec.pop("format", None)
        spec.pop("granularity", None)
    return spec


def _set(body: dict[str, Any], key: str, value: Any) -> None:
    """Set it, or without a value take it out."""
    if value is None:
        body.pop(key, None)
    else:
        body[key] = value
