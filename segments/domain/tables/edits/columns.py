"""Columns of a table that is there, as rows of a grid: what may change of them, and new ones; and back into the
documents, where everything else stays as it was written.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.tables.design.new_documents import INDEX_LISTS, LISTS, granularity_of

_KINDS: Final = {key: kind for kind, key in LISTS.items()}


@dataclass(frozen=True)
class ColumnRow:
    """A column. Of one that is stored only ``null_value`` (the text of what is stored for null, "": the type's own),
    ``description`` and ``index`` (a key of ``INDEX_LISTS`` or "") may change.
    """

    name: str
    data_type: str = "STRING"
    kind: str = "DIMENSION"
    format: str = ""
    multi_value: bool = False
    null_value: str = ""
    description: str = ""
    index: str = ""
    in_key: bool = False


def column_rows(schema: Mapping[str, Any], config: Mapping[str, Any]) -> list[ColumnRow]:
    """The columns of the documents, in the order of the schema."""
    index, keys = config.get("tableIndexConfig") or {}, _list(schema, "primaryKeyColumns")
    indexes = {str(name): kind for kind, key in INDEX_LISTS.items() for name in _list(index, key)}
    return [_row(spec, kind, indexes, keys) for key, kind in _KINDS.items() for spec in _specs(schema, key)]


def with_columns(
    schema: Mapping[str, Any], config: Mapping[str, Any], rows: Sequence[ColumnRow], gone: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The documents with these columns: what differs is written, ``gone`` are left out, others stay."""
    new_schema, new_config = copy.deepcopy(dict(schema)), copy.deepcopy(dict(config))
    before = {row.name: row for row in column_rows(schema, config)}
    for key in _KINDS:
        if _specs(new_schema, key):
            new_schema[key] = [s for s in new_schema[key] if not isinstance(s, dict) or s.get("name") not in gone]
    for row in rows:
        old = before.get(row.name)
        if old is None or _shape(old) != _shape(row):
            _place(new_schema, row)
        elif (old.null_value, old.description) != (row.null_value, row.description):
            _say(_spec(new_schema, row.name), row, old)
        if row.index != (old.index if old else ""):
            _set_index(new_config, row)
    for name in gone:
        _set_index(new_config, ColumnRow(name))
    return new_schema, new_config


def _row(spec: Mapping[str, Any], kind: str, indexes: Mapping[str, str], keys: Sequence[Any]) -> ColumnRow:
    name, null_value = str(spec.get("name")), spec.get("defaultNullValue")
    return ColumnRow(
        name, str(spec.get("dataType") or "STRING").upper(), kind, str(spec.get("format") or ""),
        spec.get("singleValueField") is False, "" if null_value is None else str(null_value),
        str(spec.get("description") or ""), indexes.get(name, ""), name in keys,
    )  # fmt: skip


def _shape(row: ColumnRow) -> tuple[str, str, str, bool]:
    return row.data_type, row.kind, row.format, row.multi_value


def _place(schema: dict[str, Any], row: ColumnRow) -> None:
    """A new column, at the end of its list; one of this name that is new, too, goes."""
    for key in _KINDS:
        if _specs(schema, key):
            schema[key] = [s for s in schema[key] if not isinstance(s, dict) or s.get("name") != row.name]
    spec: dict[str, Any] = {"name": row.name, "dataType": row.data_type}
    if row.multi_value:
        spec["singleValueField"] = False
    if row.kind == "DATE_TIME":
        spec["format"] = row.format or "TIMESTAMP"
        spec["granularity"] = granularity_of(spec["format"])
    _say(spec, row, ColumnRow(row.name))
    schema.setdefault(LISTS[row.kind], []).append(spec)


def _say(spec: dict[str, Any], row: ColumnRow, old: ColumnRow) -> None:
    changed = (("defaultNullValue", row.null_value, old.null_value), ("description", row.description, old.description))
    for key, value, before in changed:
        if value and value != before:
            spec[key] = value
        elif not value:
            spec.pop(key, None)


def _set_index(config: dict[str, Any], row: ColumnRow) -> None:
    index = config["tableIndexConfig"] = dict(config.get("tableIndexConfig") or {})
    for kind, key in INDEX_LISTS.items():
        there = _list(index, key)
        listed = [n for n in there if n != row.name] + ([row.name] if kind == row.index else [])
        if listed:
            index[key] = listed
        elif there:
            index.pop(key)


def _spec(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return next(s for key in _KINDS for s in schema.get(key) or () if isinstance(s, dict) and s.get("name") == name)


def _specs(schema: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [s for s in _list(schema, key) if isinstance(s, dict)]


def _list(body: Any, key: str) -> list[Any]:
    listed = body.get(key) if isinstance(body, Mapping) else None
    return listed if isinstance(listed, list) else []
