"""The schema and the table config of a new table, as Pinot's JSON, from the columns that were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from segments.domain.tables.design.found_column import FoundColumn
from segments.domain.tables.design.suggestions import suggested_index, suggested_kind, suggested_time_column
from segments.domain.tables.schema import FieldKind

#: Kind of a column -> the list of the schema that it stands in.
LISTS: Final[Mapping[str, str]] = {
    "DIMENSION": "dimensionFieldSpecs",
    "METRIC": "metricFieldSpecs",
    "DATE_TIME": "dateTimeFieldSpecs",
}
#: Index -> the list of ``tableIndexConfig`` that names its columns.
INDEX_LISTS: Final[Mapping[str, str]] = {
    "inverted": "invertedIndexColumns",
    "range": "rangeIndexColumns",
    "bloom": "bloomFilterColumns",
    "json": "jsonIndexColumns",
    "raw": "noDictionaryColumns",
}


def new_schema_body(name: str, columns: Sequence[FoundColumn]) -> dict[str, Any]:
    """The schema of these columns."""
    body: dict[str, Any] = {"schemaName": name}
    for column in columns:
        kind = suggested_kind(column)
        body.setdefault(LISTS[kind], []).append(field_spec(column, kind))
    return body


def field_spec(column: FoundColumn, kind: FieldKind) -> dict[str, Any]:
    """One column of a schema."""
    spec: dict[str, Any] = {"name": column.name, "dataType": column.data_type}
    if column.multi_value:
        spec["singleValueField"] = False
    if kind == "DATE_TIME":
        spec |= {"format": column.format or "TIMESTAMP", "granularity": granularity_of(column.format)}
    return spec


def granularity_of(text: str) -> str:
    """``1:DAYS`` for formats of whole days, else ``1:MILLISECONDS`` or that of the epoch's unit."""
    if ":DAYS:" in text or (text.startswith("SIMPLE_DATE_FORMAT") and "H" not in text and "h" not in text):
        return "1:DAYS"
    return "1:SECONDS" if ":SECONDS:" in text else "1:MILLISECONDS"


def new_config_body(name: str, columns: Sequence[FoundColumn]) -> dict[str, Any]:
    """The config of a table that each push replaces as a whole, in one switch that can be rolled back."""
    segments: dict[str, Any] = {"replication": "1"}
    time_column = suggested_time_column(columns)
    if time_column is not None:
        segments["timeColumnName"] = time_column
    index: dict[str, Any] = {"loadMode": "MMAP"}
    for column in columns:
        found = suggested_index(column, suggested_kind(column))
        if found:
            index.setdefault(INDEX_LISTS[found], []).append(column.name)
    if any(c.nulls for c in columns):
        index["nullHandlingEnabled"] = True
    return {
        "tableName": name,
        "tableType": "OFFLINE",
        "segmentsConfig": segments,
        "tenants": {},
        "tableIndexConfig": index,
        "metadata": {},
        "ingestionConfig": {
            "batchIngestionConfig": {
                "segmentIngestionType": "REFRESH",
                "segmentIngestionFrequency": "DAILY",
                "consistentDataPush": True,
            }
        },
    }
