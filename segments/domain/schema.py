"""A table's schema as Pinot writes it: fields, types, default nulls, date-time formats, and which changes are allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from segments.domain.datetime_format import DateTimeFormat, check_granularity, parse_format
from segments.domain.znrecord import ZNRecord
from segments.errors import InvalidInput
from segments.names import check_raw_table_name

FieldKind = Literal["DIMENSION", "METRIC", "DATE_TIME", "TIME", "COMPLEX"]

#: Logical type -> stored type (segment-format.md 5).
STORED_TYPES: Final[dict[str, str]] = {
    "INT": "INT", "LONG": "LONG", "FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "BIG_DECIMAL": "BIG_DECIMAL",
    "BOOLEAN": "INT", "TIMESTAMP": "LONG", "STRING": "STRING", "JSON": "STRING", "BYTES": "BYTES", "UUID": "BYTES",
    "MAP": "MAP",
}  # fmt: skip
NUMERIC_STORED: Final = frozenset({"INT", "LONG", "FLOAT", "DOUBLE"})
METRIC_TYPES: Final = frozenset({"INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL", "BYTES"})
DEFAULT_MAX_LENGTH: Final = 512

_KINDS: Final[dict[str, FieldKind]] = {
    "dimensionFieldSpecs": "DIMENSION",
    "metricFieldSpecs": "METRIC",
    "dateTimeFieldSpecs": "DATE_TIME",
    "complexFieldSpecs": "COMPLEX",
}
_DIMENSION_NULLS: Final[dict[str, Any]] = {
    "INT": -(2**31), "LONG": -(2**63), "FLOAT": float("-inf"), "DOUBLE": float("-inf"), "BIG_DECIMAL": "0",
    "BOOLEAN": 0, "TIMESTAMP": 0, "STRING": "null", "JSON": "null", "BYTES": "", "UUID": "00000000-0000-0000-0000-000000000000",
}  # fmt: skip
_METRIC_NULLS: Final[dict[str, Any]] = {"INT": 0, "LONG": 0, "FLOAT": 0.0, "DOUBLE": 0.0, "BIG_DECIMAL": "0", "BYTES": ""}


@dataclass(frozen=True)
class FieldSpec:
    """One column. ``raw`` is the spec as given, with keys we do not know.

    ``default_null`` is the value stored for null: int, float or text (BYTES: hex text, UUID: dashed, BIG_DECIMAL: plain text).
    """

    name: str
    data_type: str
    kind: FieldKind
    single_value: bool
    default_null: Any
    format: str | None
    granularity: str | None
    max_length: int
    max_length_strategy: str | None
    not_null: bool
    transform: str | None
    raw: dict[str, Any]

    @property
    def stored_type(self) -> str:
        """The type in which values are stored (TIMESTAMP -> LONG)."""
        return STORED_TYPES[self.data_type]

    @property
    def datetime_format(self) -> DateTimeFormat | None:
        """The parsed format of a DATE_TIME field."""
        return parse_format(self.format) if self.format else None


@dataclass(frozen=True)
class Schema:
    """A schema, parsed and checked; ``body`` is the JSON as given, unknown keys included."""

    name: str
    fields: tuple[FieldSpec, ...]
    primary_keys: tuple[str, ...]
    body: dict[str, Any]

    @cached_property
    def by_name(self) -> dict[str, FieldSpec]:
        """Fields by column name."""
        return {f.name: f for f in self.fields}

    @property
    def column_based_nulls(self) -> bool:
        """``enableColumnBasedNullHandling``."""
        return bool(self.body.get("enableColumnBasedNullHandling", False))

    def to_record(self) -> ZNRecord:
        """The znode: one simple field with the JSON on a single line (storage-zk.md 1.6)."""
        return ZNRecord(self.name, {"schemaJSON": json.dumps(self.body, separators=(",", ":"))})


def parse_schema(body: Any) -> Schema:
    """Check a schema given as JSON. Raises InvalidInput that names the field and what is wrong with it."""
    if not isinstance(body, dict):
        raise InvalidInput("A schema is a JSON object.")
    name = body.get("schemaName")
    if not isinstance(name, str):
        raise InvalidInput("'schemaName' is missing.", remedy="Give the table's raw name.")
    check_raw_table_name(name)
    fields = tuple(_parse_fields(body))
    seen: set[str] = set()
    for field in fields:
        if field.name in seen:
            raise InvalidInput(f"Column '{field.name}' is there twice in schema '{name}'.")
        seen.add(field.name)
    keys = body.get("primaryKeyColumns") or []
    if not isinstance(keys, list) or any(k not in seen for k in keys):
        raise InvalidInput(f"'primaryKeyColumns' of schema '{name}' must list columns of the schema.")
    return Schema(name, fields, tuple(keys), body)


def from_record(record: ZNRecord) -> Schema:
    """The schema in a znode."""
    return parse_schema(json.loads(record.simple["schemaJSON"]))


def check_compatible(old: Schema, new: Schema) -> None:
    """Columns may be added; none may go, change its type, kind or being single-valued. Raises InvalidInput."""
    for field in old.fields:
        other = new.by_name.get(field.name)
        if other is None:
            raise InvalidInput(f"Column '{field.name}' is missing in the new schema '{new.name}'.", remedy="Columns can only be added.")
        before = (field.data_type, field.kind, field.single_value, field.format)
        if (other.data_type, other.kind, other.single_value, other.format) != before:
            raise InvalidInput(
                f"Column '{field.name}' of schema '{new.name}' can not change from {field.kind} {field.data_type}"
                f" to {other.kind} {other.data_type}.",
                remedy="Add a new column instead.",
            )


def _parse_fields(body: dict[str, Any]) -> Iterator[FieldSpec]:
    for key, kind in _KINDS.items():
        specs = body.get(key) or []
        if not isinstance(specs, list):
            raise InvalidInput(f"'{key}' must be a list.")
        for spec in specs:
            yield _parse_field(spec, kind, key)
    legacy = body.get("timeFieldSpec")
    if legacy:
        yield _parse_legacy_time(legacy)


def _parse_field(spec: Any, kind: FieldKind, key: str) -> FieldSpec:
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str) or not spec["name"]:
        raise InvalidInput(f"Every item of '{key}' needs a 'name'.")
    name, data_type = spec["name"], str(spec.get("dataType", "")).upper()
    if data_type not in STORED_TYPES:
        raise InvalidInput(
            f"Column '{name}' has the unknown data type '{spec.get('dataType')}'.", remedy=f"Use one of {', '.join(STORED_TYPES)}."
        )
    single = spec.get("singleValueField", True)
    if not isinstance(single, bool):
        raise InvalidInput(f"'singleValueField' of column '{name}' must be true or false.")
    if kind == "METRIC" and (data_type not in METRIC_TYPES or not single):
        raise InvalidInput(f"Metric '{name}' can not be {'multi-valued' if not single else data_type}.", remedy="Make it a dimension.")
    if data_type == "JSON" and not single:
        raise InvalidInput(f"JSON column '{name}' can not be multi-valued.")
    if kind == "DATE_TIME":
        _check_datetime(spec, name, data_type)
    length = spec.get("maxLength", DEFAULT_MAX_LENGTH)
    if not isinstance(length, int) or isinstance(length, bool) or length <= 0:
        raise InvalidInput(f"'maxLength' of column '{name}' must be a positive number.")
    return FieldSpec(
        name=name, data_type=data_type, kind=kind, single_value=single, default_null=_default_null(spec, name, kind, data_type),
        format=spec.get("format"), granularity=spec.get("granularity"), max_length=length,
        max_length_strategy=spec.get("maxLengthExceedStrategy"), not_null=bool(spec.get("notNull", False)),
        transform=spec.get("transformFunction"), raw=spec,
    )  # fmt: skip


def _check_datetime(spec: dict[str, Any], name: str, data_type: str) -> None:
    if not spec.get("format"):
        raise InvalidInput(f"Date-time column '{name}' needs a 'format'.", remedy="For example 1:DAYS:EPOCH.")
    try:
        parsed = parse_format(str(spec["format"]))
        check_granularity(spec.get("granularity"))
    except InvalidInput as error:
        raise InvalidInput(f"Date-time column '{name}': {error.message}", remedy=error.remedy) from error
    if parsed.kind == "SIMPLE_DATE_FORMAT" and data_type not in ("STRING", "INT", "LONG"):
        raise InvalidInput(f"Date-time column '{name}' with a text format must be STRING, INT or LONG, not {data_type}.")


def _parse_legacy_time(spec: dict[str, Any]) -> FieldSpec:
    inner = spec.get("outgoingGranularitySpec") or spec.get("incomingGranularitySpec") or {}
    unit = inner.get("timeType", "DAYS")
    given = {
        "name": inner.get("name"), "dataType": inner.get("dataType"),
        "format": f"{inner.get('timeUnitSize', 1)}:{unit}:EPOCH", "granularity": f"1:{unit}",
    }  # fmt: skip
    return _parse_field(given, "DATE_TIME", "timeFieldSpec")


def _default_null(spec: dict[str, Any], name: str, kind: FieldKind, data_type: str) -> Any:
    given = spec.get("defaultNullValue")
    if given is None:
        return (_METRIC_NULLS if kind == "METRIC" else _DIMENSION_NULLS).get(data_type)
    try:
        match STORED_TYPES[data_type]:
            case "INT" | "LONG" if data_type == "BOOLEAN":
                return int(str(given).lower() in ("true", "1"))
            case "INT" | "LONG":
                return int(given)
            case "FLOAT" | "DOUBLE":
                return float(given)
            case _:
                return str(given)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"'defaultNullValue' of column '{name}' is no {data_type}: {given!r}.") from error
