"""Turns raw input columns into the stored columns of a segment, as Pinot's creator does."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.datatypes.compute import pc
from segments.datatypes.convert import ARROW, BadValue, RefusedRows, convert, is_list, plain
from segments.datatypes.javatext import parse_decimal, plain_decimal
from segments.datatypes.shown_value import quoted_text
from segments.datatypes.timecolumn import check_row_times, null_time
from segments.domain.tables.schema import FieldSpec, Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.segmentfile.columns.ingest import Ingestion, apply_ingestion, lenient, read_ingestion
from segments.segmentfile.format.buffers import lists_of, offsets_of, parts

Mask = NDArray[np.bool_]
#: Characters of a value that a refusal shows.
_LONGEST: Final = 120
_STRATEGIES: Final = ("TRIM_LENGTH", "ERROR", "SUBSTITUTE_DEFAULT_VALUE", "NO_ACTION")


def transform_table(
    table: Any, schema: Schema, config: TableConfig, *, now_ms: int
) -> tuple[pa.Table, dict[str, Mask]]:
    """Raw columns -> (stored columns of every field of the schema, null masks by column; True = the value was null).

    First the table's ``ingestionConfig``: transforms, then the filter, which drops rows (see
    :mod:`segments.segmentfile.columns.ingest`).

    Stored columns have the Arrow types int32, int64, float32, float64, string, binary (BIG_DECIMAL: string),
    multi-value ones lists of them, and no nulls. A column missing in ``table`` is all default. ``now_ms`` replaces null
    times. Raises InvalidInput that names the column, the row (from 0) and the value that does not convert.
    """
    prepared = prepare(table, schema, config, now_ms=now_ms)
    columns, masks = {}, {}
    for field in stored_fields(schema):
        columns[field.name], masks[field.name] = prepared.column(field.name)
    return pa.table(columns), masks


@dataclass(frozen=True)
class Prepared:
    """Rows after ``ingestionConfig``; :meth:`column` converts one column when asked, so that not all are in memory
    twice.
    """

    table: Any
    kept: Any
    plan: Ingestion
    schema: Schema
    config: TableConfig
    now_ms: int

    def column(self, name: str) -> tuple[Any, Mask]:
        """Stored values and null mask of one column, as :func:`transform_table` gives them. Raises InvalidInput."""
        field = self.schema.by_name[name]
        try:
            return _column(self.table, field, self.config, self.plan, self.now_ms)
        except BadValue as bad:
            every = [(at if self.kept is None else int(self.kept[at]), value) for at, value in bad.every]
            rows = [(row, _complaint(field, "", value, bad.reason)) for row, value in every]
            raise _refused(field, every[0][0], bad) from RefusedRows(
                rows, [value for _, value in every], _fault(field, bad.reason)
            )


def prepare(table: Any, schema: Schema, config: TableConfig, *, now_ms: int) -> Prepared:
    """Apply ``ingestionConfig`` and convert nothing yet. Raises InvalidInput."""
    plan = read_ingestion(schema, config)
    rows, kept = apply_ingestion(table, plan, schema)
    return Prepared(rows, kept, plan, schema, config, now_ms)


def stored_fields(schema: Schema) -> list[FieldSpec]:
    """The fields that are stored: servers make virtual ones (with a ``virtualColumnProvider``) themselves."""
    return [f for f in schema.fields if not f.raw.get("virtualColumnProvider")]


def default_value(field: FieldSpec) -> Any:
    """The stored form of a field's default null: int, float, text or bytes."""
    match field.data_type:
        case "BYTES":
            return bytes.fromhex(str(field.default_null or ""))
        case "UUID":
            return uuid.UUID(str(field.default_null)).bytes
        case "BIG_DECIMAL":
            return plain_decimal(parse_decimal(str(field.default_null)))
    return field.default_null


def uses_null_vector(field: FieldSpec, schema: Schema, config: TableConfig) -> bool:
    """Null handling is on for this column: by column when the schema says so, else by the table's flag."""
    return not field.not_null if schema.column_based_nulls else config.null_handling


def _refused(field: FieldSpec, row: int, bad: BadValue) -> InvalidInput:
    return InvalidInput(
        _complaint(field, f", row {row}", bad.value, bad.reason),
        remedy="Correct the input or the column's data type in the schema.",
        column=field.name,
        row=row,
    )


def _complaint(field: FieldSpec, where: str, value: Any, reason: str) -> str:
    return f"Column '{field.name}'{where}: value {quoted_text(value, _LONGEST)} {_fault(field, reason)}"


def _fault(field: FieldSpec, reason: str) -> str:
    return (reason or f"does not convert to {field.data_type}{'' if field.single_value else '[]'}") + "."


def _column(table: Any, field: FieldSpec, config: TableConfig, plan: Ingestion, now_ms: int) -> tuple[Any, Mask]:
    if field.data_type == "MAP":
        raise InvalidInput(
            f"Column '{field.name}' has the type MAP, which cannot be built.", remedy="Use JSON instead."
        )
    kind = ARROW[field.stored_type]
    default = default_value(field)
    if field.name == config.time_column:
        default = null_time(field, default, now_ms)
    filler = pa.scalar(default, kind)
    values = plain(table.column(field.name)) if field.name in table.column_names else pa.nulls(table.num_rows, kind)
    checked = field if plan.row_time_check and field.name == config.time_column else None
    if not plan.continue_on_error:
        return _stored(values, field, filler, checked)
    parts = lenient(
        lambda a, b: _stored(values.slice(a, b - a), field, filler, checked), 0, len(values),
        lambda n: _stored(pa.nulls(n, kind), field, filler, None),
    )  # fmt: skip
    return pa.concat_arrays([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _stored(values: Any, field: FieldSpec, filler: Any, checked: FieldSpec | None) -> tuple[Any, Mask]:
    if not field.single_value:
        return _multi_value(values, field, filler)
    stored = _sanitize(convert(values, field.data_type), field, filler)
    if checked is not None:
        check_row_times(checked, stored)
    mask = stored.is_null().to_numpy(zero_copy_only=False) if stored.null_count else np.zeros(len(stored), bool)
    return (stored.fill_null(filler) if stored.null_count else stored), mask


def _multi_value(values: Any, field: FieldSpec, filler: Any) -> tuple[Any, Mask]:
    if is_list(values.type):
        lengths = values.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        flat = values.flatten()
    else:
        lengths, flat = np.ones(len(values), np.int64), values
    rows = np.repeat(np.arange(len(values)), lengths)
    try:
        stored = _sanitize(convert(flat, field.data_type), field, filler)
    except BadValue as bad:
        raise BadValue(
            int(rows[bad.position]), bad.value, bad.reason, [(int(rows[at]), value) for at, value in bad.every]
        ) from bad
    if stored.null_count:
        keep = stored.is_valid().to_numpy(zero_copy_only=False)
        stored, rows = stored.drop_null(), rows[keep]
    counts = np.bincount(rows, minlength=len(values)).astype(np.int64)
    missing = counts == 0
    if not missing.any():
        return lists_of(offsets_of(counts), stored), missing
    offsets = offsets_of(np.where(missing, 1, counts))
    places = np.full(int(offsets[-1]), len(stored), np.int64)
    is_given = np.ones(len(places), bool)
    is_given[offsets[:-1][missing]] = False
    places[is_given] = np.arange(len(stored))
    return lists_of(
        offsets, pa.concat_arrays([stored, pa.array([filler.as_py()], stored.type)]).take(pa.array(places))
    ), missing


def _sanitize(values: Any, field: FieldSpec, filler: Any) -> Any:
    """Cut or refuse texts beyond ``maxLength`` and everything from the first NUL of a STRING on."""
    if field.data_type not in ("STRING", "JSON", "BYTES"):
        return values
    strategy = field.max_length_strategy or ("TRIM_LENGTH" if field.data_type == "STRING" else "NO_ACTION")
    if strategy not in _STRATEGIES:
        raise InvalidInput(
            f"'maxLengthExceedStrategy' of column '{field.name}' is '{strategy}'.",
            remedy=f"Use {', '.join(_STRATEGIES)}.",
        )
    if strategy == "NO_ACTION" or not len(values):
        return values
    text = field.data_type != "BYTES"
    bad = pc.fill_null(pc.greater(pc.binary_length(values), field.max_length), False)
    if text and pc.any(bad).as_py():
        bad = pc.fill_null(pc.greater(pc.utf8_length(values), field.max_length), False)
    if text and _has_nul(values):
        bad = pc.or_(bad, pc.fill_null(pc.match_substring(values, "\0"), False))
    if not pc.any(bad).as_py():
        return values
    if strategy == "ERROR":
        raise BadValue.among(values, bad.to_numpy(zero_copy_only=False))
    if strategy == "SUBSTITUTE_DEFAULT_VALUE":
        return pc.if_else(bad, filler, values)
    if not text:
        return pc.binary_slice(values, 0, field.max_length)
    return pc.utf8_slice_codeunits(pc.replace_substring_regex(values, r"(?s)\x00.*", ""), 0, field.max_length)


def _has_nul(values: Any) -> bool:
    filled = values.fill_null("") if values.null_count else values
    return bool((parts(filled)[1] == 0).any())
