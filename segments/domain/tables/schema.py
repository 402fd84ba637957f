"""A table's schema as Pinot writes it: fields, types, default nulls, date-time formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Literal

from segments.domain.formats.json_model import Long, Text, Whole, read_model
from segments.domain.formats.plural import counted
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables.datetime_format import DateTimeFormat, check_granularity, parse_format
from segments.domain.tables.schema_model import FieldModel, SchemaModel, TimeFieldModel, TimeGranularityModel
from segments.errors import InvalidInput
from segments.names import check_column_name, check_raw_table_name, shown

FieldKind = Literal["DIMENSION", "METRIC", "DATE_TIME", "TIME", "COMPLEX"]

#: Logical type -> stored type.
STORED_TYPES: Final[dict[str, str]] = {
    "INT": "INT", "LONG": "LONG", "FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "BIG_DECIMAL": "BIG_DECIMAL",
    "BOOLEAN": "INT", "TIMESTAMP": "LONG", "STRING": "STRING", "JSON": "STRING", "BYTES": "BYTES", "UUID": "BYTES",
    "MAP": "MAP",
}  # fmt: skip
NUMERIC_STORED: Final = frozenset({"INT", "LONG", "FLOAT", "DOUBLE"})
METRIC_TYPES: Final = frozenset({"INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL", "BYTES"})
DEFAULT_MAX_LENGTH: Final = 512

_DIMENSION_NULLS: Final[dict[str, Any]] = {
    "INT": -(2**31),
    "LONG": -(2**63),
    "FLOAT": float("-inf"),
    "DOUBLE": float("-inf"),
    "BIG_DECIMAL": "0",
    "BOOLEAN": 0,
    "TIMESTAMP": 0,
    "STRING": "null",
    "JSON": "null",
    "BYTES": "",
    "UUID": "00000000-0000-0000-0000-000000000000",
}
_METRIC_NULLS: Final[dict[str, Any]] = {
    "INT": 0,
    "LONG": 0,
    "FLOAT": 0.0,
    "DOUBLE": 0.0,
    "BIG_DECIMAL": "0",
    "BYTES": "",
}
#: Of a schema that is sent.
MOST_COLUMNS: Final = 5_000


@dataclass(frozen=True)
class FieldSpec:
    """One column. ``raw`` is the spec as given, with keys we do not know.

    ``default_null`` is the value stored for null: int, float or text (BYTES: hex text, UUID: dashed, BIG_DECIMAL: plain
    text).
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
        return str(self.body.get("enableColumnBasedNullHandling", False)).lower() in ("true", "1")

    def to_record(self) -> ZNRecord:
        """The znode: one simple field with the JSON on a single line."""
        return ZNRecord(self.name, {"schemaJSON": json.dumps(self.body, separators=(",", ":"))})


def parse_schema(body: Any) -> Schema:
    """Check a schema given as JSON. Raises InvalidInput that names the field and what is wrong with it."""
    model = read_model(SchemaModel, body, "schema")
    if not model.schema_name:
        raise InvalidInput("'schemaName' is missing.", remedy="Give the table's raw name.")
    name = check_raw_table_name(str(model.schema_name))
    fields = tuple(_parse_fields(model, body))
    seen: set[str] = set()
    for field in fields:
        if field.name in seen:
            raise InvalidInput(
                f"Column '{field.name}' is there twice in schema '{name}'.", remedy="Remove one of them."
            )
        seen.add(field.name)
    keys = tuple(str(k) for k in model.primary_key_columns or ())
    if not seen.issuperset(keys):
        raise InvalidInput(f"'primaryKeyColumns' of schema '{name}' must list columns of the schema.")
    return Schema(name, fields, keys, body)


def new_schema(body: Any) -> Schema:
    """The same of one that somebody sends: with a bounded number of columns, since every query, segment and page walks
    over them.
    """
    schema = parse_schema(body)
    if len(schema.fields) > MOST_COLUMNS:
        text = f"Schema '{schema.name}' has {counted(len(schema.fields), 'column')}."
        raise InvalidInput(text, remedy=f"A table has at most {MOST_COLUMNS}; keep the rest in a column of type JSON.")
    return schema


def from_record(record: ZNRecord) -> Schema:
    """The schema in a znode."""
    return parse_schema(json.loads(record.simple["schemaJSON"]))


def _parse_fields(model: SchemaModel, body: dict[str, Any]) -> Iterator[FieldSpec]:
    listed: tuple[tuple[str, FieldKind, list[FieldModel] | None], ...] = (
        ("dimensionFieldSpecs", "DIMENSION", model.dimension_field_specs),
        ("metricFieldSpecs", "METRIC", model.metric_field_specs),
        ("dateTimeFieldSpecs", "DATE_TIME", model.date_time_field_specs),
        ("complexFieldSpecs", "COMPLEX", model.complex_field_specs),
    )
    for key, kind, specs in listed:
        for index, spec in enumerate(specs or ()):
            yield _parse_field(spec, kind, key, body[key][index])
    if model.time_field_spec is not None:
        yield _parse_legacy_time(model.time_field_spec)


def _parse_field(spec: FieldModel, kind: FieldKind, key: str, raw: dict[str, Any]) -> FieldSpec:
    if not spec.name:
        raise InvalidInput(f"Every item of '{key}' needs a 'name'.")
    name, data_type = check_column_name(str(spec.name)), str(spec.data_type or "").upper()
    if data_type not in STORED_TYPES:
        raise InvalidInput(
            f"Column '{name}' has the unknown data type '{shown(spec.data_type or '')}'.",
            remedy=f"Use one of {', '.join(STORED_TYPES)}.",
        )
    single = spec.single_value_field is None or bool(spec.single_value_field)
    if kind == "METRIC" and (data_type not in METRIC_TYPES or not single):
        raise InvalidInput(
            f"Metric '{name}' cannot be {'multi-valued' if not single else data_type}.", remedy="Make it a dimension."
        )
    if data_type == "JSON" and not single:
        raise InvalidInput(f"JSON column '{name}' cannot be multi-valued.")
    if kind == "DATE_TIME":
        _check_datetime(spec, name, data_type)
    length = DEFAULT_MAX_LENGTH if spec.max_length is None else int(spec.max_length)
    if length <= 0:
        raise InvalidInput(f"'maxLength' of column '{name}' must be a positive number.")
    return FieldSpec(
        name=name,
        data_type=data_type,
        kind=kind,
        single_value=single,
        default_null=_default_null(spec.default_null_value, name, kind, data_type),
        format=_plain(spec.format),
        granularity=_plain(spec.granularity),
        max_length=length,
        max_length_strategy=_plain(spec.max_length_exceed_strategy),
        not_null=bool(spec.not_null),
        transform=_plain(spec.transform_function),
        raw=raw,
    )


def _plain(text: str | None) -> str | None:
    return None if text is None else str(text)


def _check_datetime(spec: FieldModel, name: str, data_type: str) -> None:
    if not spec.format:
        raise InvalidInput(f"Date-time column '{name}' needs a 'format'.", remedy="For example 1:DAYS:EPOCH.")
    try:
        parsed = parse_format(spec.format)
        check_granularity(spec.granularity)
    except InvalidInput as error:
        raise InvalidInput(f"Date-time column '{name}': {error.message}", remedy=error.remedy) from error
    if parsed.kind == "SIMPLE_DATE_FORMAT" and data_type not in ("STRING", "INT", "LONG"):
        raise InvalidInput(
            f"Date-time column '{name}' with a text format must be STRING, INT or LONG, not {data_type}."
        )


def _parse_legacy_time(spec: TimeFieldModel) -> FieldSpec:
    inner = spec.outgoing_granularity_spec or spec.incoming_granularity_spec or TimeGranularityModel()
    unit, size = inner.time_type or "DAYS", 1 if inner.time_unit_size is None else int(inner.time_unit_size)
    given = {
        "name": _plain(inner.name),
        "dataType": _plain(inner.data_type),
        "format": f"{size}:{unit}:EPOCH",
        "granularity": f"1:{unit}",
    }
    return _parse_field(read_model(FieldModel, given, "timeFieldSpec"), "DATE_TIME", "timeFieldSpec", given)


def _default_null(given: Any, name: str, kind: FieldKind, data_type: str) -> Any:
    if given is None:
        return (_METRIC_NULLS if kind == "METRIC" else _DIMENSION_NULLS).get(data_type)
    try:
        return _typed_null(given, data_type)
    except (InvalidInput, ValueError, ArithmeticError) as error:
        raise InvalidInput(
            f"'defaultNullValue' of column '{name}' is not a valid {data_type}: {shown(repr(given))}.",
            remedy="Give a value of the column's type.",
        ) from error


def _typed_null(given: Any, data_type: str) -> Any:
    """Raises InvalidInput, ValueError or ArithmeticError for a value of another type."""
    if data_type == "MAP":
        return given if isinstance(given, str) else json.dumps(given)
    text = str(read_model(Text, given, "defaultNullValue"))
    match data_type:
        case "BOOLEAN":
            return int(text.lower() in ("true", "1"))
        case "INT":
            return int(read_model(Whole, given, "defaultNullValue")) if not isinstance(given, bool) else int(given)
        case "LONG" | "TIMESTAMP":
            return int(read_model(Long, given, "defaultNullValue")) if not isinstance(given, bool) else int(given)
        case "FLOAT" | "DOUBLE":
            return float(given)
        case "BIG_DECIMAL" if not Decimal(text).is_finite():
            raise ValueError("no number")
        case "BYTES" | "UUID":
            bytes.fromhex(text.replace("-", "") if data_type == "UUID" else text)
    return text
