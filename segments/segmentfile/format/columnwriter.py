"""Encodes one stored column: its index payloads and its lines in ``metadata.properties``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.datatypes.compute import pc
from segments.datatypes.javatext import java_number
from segments.domain.tables.schema import DEFAULT_MAX_LENGTH, FieldSpec
from segments.segmentfile.columns.partition import partition_ids
from segments.segmentfile.columns.settings import ColumnSettings
from segments.segmentfile.columns.transform import default_value
from segments.segmentfile.format import forward, raw
from segments.segmentfile.format.bits import bits_for, pack
from segments.segmentfile.format.buffers import Offsets, parts, row_offsets
from segments.segmentfile.format.crc import java_order
from segments.segmentfile.format.dictionary import (
    WIDTHS,
    Distinct,
    count_distinct,
    count_small_range,
    distinct,
    needs_java_order,
    payload,
)
from segments.segmentfile.format.layout import forward_suffix
from segments.segmentfile.format.properties import MAX_STORED_TEXT, to_safe


@dataclass(frozen=True)
class Stats:
    """What the metadata says of a column's values; lengths are bytes of one value, ``max_row`` bytes of
    a row's values.
    """

    cardinality: int = 0
    is_sorted: bool = False
    low: str | None = None
    high: str | None = None
    shortest: int = 0
    longest: int = 0
    is_ascii: bool = False
    max_row: int = 0
    max_values: int = 0
    values: int = 0
    entry_length: int = 0
    partitions: tuple[int, ...] | None = None


@dataclass(frozen=True)
class WrittenColumn:
    """``payloads`` by Pinot's index id; ``lines`` are the metadata without the ``column.<name>.`` prefix."""

    name: str
    payloads: dict[str, bytes]
    lines: list[tuple[str, str | list[str]]]
    forward_suffix: str = field(default="")


def write_column(
    spec: FieldSpec, values: Any, nulls: NDArray[np.bool_] | None, settings: ColumnSettings
) -> WrittenColumn:
    """Encode stored ``values``. ``nulls`` (True = null) is None when null handling is off for the column."""
    docs = len(values)
    if docs == 0:
        stats = Stats(is_sorted=spec.single_value)
        return WrittenColumn(spec.name, {}, _lines(spec, stats, settings, docs, has_dictionary=False))
    offsets = None if spec.single_value else row_offsets(values)
    flat = values if offsets is None else values.flatten()
    if settings.raw:
        payloads, stats = _raw(spec, flat, offsets, settings)
    else:
        payloads, stats = _dictionary(spec, flat, offsets, settings)
    if offsets is not None:
        stats = replace(stats, max_values=int(np.diff(offsets).max()), is_sorted=False)
    lines = _lines(spec, replace(stats, values=len(flat)), settings, docs, has_dictionary=not settings.raw)
    if nulls is not None and nulls.any():
        payloads["nullvalue_vector"] = forward.roaring(np.flatnonzero(nulls))
    elif nulls is not None:
        lines.append(("isNonNull", "true"))
    suffix = forward_suffix(single_value=spec.single_value, raw=settings.raw, is_sorted=stats.is_sorted)
    return WrittenColumn(spec.name, payloads, lines, suffix)


def _dictionary(
    spec: FieldSpec, flat: Any, offsets: Offsets | None, settings: ColumnSettings
) -> tuple[dict[str, bytes], Stats]:
    found = distinct(flat, spec.data_type, spec.stored_type)
    entries, width = payload(found, var_length=settings.var_length_dictionary)
    ids, bits = found.ids, bits_for(found.cardinality)
    in_order = offsets is None and forward.is_non_decreasing(ids)
    stats = replace(_distinct_stats(found, offsets, settings), is_sorted=in_order, entry_length=width)
    if offsets is not None:
        index = forward.multi_values(ids, offsets, bits)
    else:
        index = forward.sorted_pairs(ids, found.cardinality) if in_order else pack(ids, bits)
    payloads = {"dictionary": entries, "forward_index": index}
    if settings.inverted and not in_order:
        docs = None if offsets is None else np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        payloads["inverted_index"] = forward.inverted(ids, found.cardinality, docs)
    return payloads, stats


def _raw(
    spec: FieldSpec, flat: Any, offsets: Offsets | None, settings: ColumnSettings
) -> tuple[dict[str, bytes], Stats]:
    stored, codec = spec.stored_type, settings.codec
    if stored in WIDTHS:
        numbers = flat.to_numpy(zero_copy_only=False)
        stats = _number_stats(flat, numbers, stored, settings)
        if offsets is None:
            return {"forward_index": raw.fixed_width(numbers, stored, codec)}, stats
        row_starts, data = raw.fixed_rows(numbers, offsets, stored)
        longest = 4 + WIDTHS[stored] * int(np.diff(offsets).max())
        return {"forward_index": raw.variable_width(row_starts, data, longest, codec)}, stats
    if stored == "BIG_DECIMAL" or settings.partition is not None:
        found = distinct(flat, spec.data_type, stored)
        stats = replace(_distinct_stats(found, offsets, settings), is_sorted=forward.is_non_decreasing(found.ids))
        flat = found.binary().take(pa.array(found.ids))
    else:
        stats = _text_stats(flat, offsets, text=stored == "STRING")
    value_offsets, data = parts(flat)
    if offsets is None:
        return {"forward_index": raw.variable_width(value_offsets, data, stats.longest, codec)}, stats
    row_starts, rows = raw.variable_rows(value_offsets, data, offsets)
    longest = 4 + 4 * int(np.diff(offsets).max()) + stats.max_row
    return {"forward_index": raw.variable_width(row_starts, rows, longest, codec)}, stats


def _distinct_stats(found: Distinct, offsets: Offsets | None, settings: ColumnSettings) -> Stats:
    stats = Stats(cardinality=found.cardinality, low=found.low, high=found.high)
    if settings.partition is not None:
        stats = replace(stats, partitions=tuple(partition_ids(_texts(found), *settings.partition)))
    if found.offsets is None or found.data is None:
        return stats
    lengths = np.diff(found.offsets)
    row = 0 if offsets is None else _max_row(lengths[found.ids], offsets)
    ascii_only = bool(not len(found.data) or found.data.max() < 0x80)
    return replace(stats, shortest=int(lengths.min()), longest=int(lengths.max()), is_ascii=ascii_only, max_row=row)


def _number_stats(flat: Any, numbers: NDArray[Any], stored: str, settings: ColumnSettings) -> Stats:
    if settings.partition is not None:
        found = distinct(flat, stored, stored)
        return replace(_distinct_stats(found, None, settings), is_sorted=forward.is_non_decreasing(numbers))
    low, high = java_number(numbers.min(), stored), java_number(numbers.max(), stored)
    cardinality = count_small_range(numbers) if stored in ("INT", "LONG") else None
    return Stats(cardinality or pc.count_distinct(flat).as_py(), forward.is_non_decreasing(numbers), low, high)


def _text_stats(flat: Any, offsets: Offsets | None, *, text: bool) -> Stats:
    value_offsets, data = parts(flat)
    lengths = np.diff(value_offsets)
    if text and needs_java_order(data):
        keys = [java_order(t) for t in flat.to_pylist()]
        low, high = (end(keys).decode("utf-16-be") for end in (min, max))
        in_order = all(a <= b for a, b in pairwise(keys))
    else:
        ends = pc.min_max(flat).as_py()
        low, high = (v if text else v.hex() for v in (ends["min"], ends["max"]))
        in_order = len(flat) < 2 or not pc.any(pc.less(flat.slice(1), flat.slice(0, len(flat) - 1))).as_py()
    return Stats(
        count_distinct(flat, value_offsets, data), bool(in_order), low, high, int(lengths.min()), int(lengths.max()),
        bool(not len(data) or data.max() < 0x80), 0 if offsets is None else _max_row(lengths, offsets),
    )  # fmt: skip


def _max_row(lengths: NDArray[Any], offsets: Offsets) -> int:
    return int(np.add.reduceat(lengths, offsets[:-1]).max())


def _texts(found: Distinct) -> Iterable[str]:
    """Distinct values as the text that partition functions take."""
    if found.numbers is not None:
        return (java_number(v, found.stored_type) for v in found.numbers.tolist())
    values = found.binary().to_pylist()
    if found.stored_type == "STRING":
        return (v.decode() for v in values)
    return (v.hex() for v in values)


def _lines(
    spec: FieldSpec, stats: Stats, settings: ColumnSettings, docs: int, *, has_dictionary: bool
) -> list[tuple[str, str | list[str]]]:
    lines: list[tuple[str, str | list[str]]] = [
        ("columnType", spec.kind), ("dataType", spec.data_type), ("isSingleValues", _flag(spec.single_value)),
    ]  # fmt: skip
    default = _default_text(spec)
    if default is not None:
        lines.append(("defaultNullValue", default))
    lines += _length_limits(spec)
    if spec.kind == "DATE_TIME":
        lines += [("datetimeFormat", spec.format or ""), ("datetimeGranularity", spec.granularity or "")]
    lines += [
        ("totalDocs", str(docs)), ("cardinality", str(stats.cardinality)), ("hasDictionary", _flag(has_dictionary)),
        ("forwardIndexEncoding", "RAW" if settings.raw else "DICTIONARY"), ("isSorted", _flag(stats.is_sorted)),
    ]  # fmt: skip
    if spec.stored_type not in WIDTHS:
        lines += [("lengthOfShortestElement", str(stats.shortest)), ("lengthOfLongestElement", str(stats.longest))]
        if spec.stored_type == "STRING":
            lines.append(("isAscii", _flag(stats.is_ascii)))
        if not spec.single_value:
            lines.append(("maxRowLengthInBytes", str(stats.max_row)))
    lines += [
        ("lengthOfEachEntry", str(stats.entry_length)), ("bitsPerElement", str(bits_for(stats.cardinality))),
        ("maxNumberOfMultiValues", str(stats.max_values)), ("totalNumberOfEntries", str(stats.values)),
    ]  # fmt: skip
    return lines + _range_lines(spec, stats) + _partition_lines(stats, settings)


def _range_lines(spec: FieldSpec, stats: Stats) -> list[tuple[str, str | list[str]]]:
    if stats.low is None or stats.high is None:
        return []
    lines: list[tuple[str, str | list[str]]] = []
    for key, value in (("minValue", stats.low), ("maxValue", stats.high)):
        text = to_safe(value) if spec.stored_type == "STRING" else value
        if text is not None and len(value) <= MAX_STORED_TEXT:
            lines.append((key, text))
    return lines or [("minMaxValueInvalid", "true")]


def _partition_lines(stats: Stats, settings: ColumnSettings) -> list[tuple[str, str | list[str]]]:
    if settings.partition is None:
        return []
    function, count = settings.partition
    lines: list[tuple[str, str | list[str]]] = [("partitionFunction", function), ("numPartitions", str(count))]
    if stats.partitions:
        lines.append(("partitionValues", [str(p) for p in stats.partitions]))
    return lines


def _length_limits(spec: FieldSpec) -> list[tuple[str, str | list[str]]]:
    usual = "TRIM_LENGTH" if spec.data_type == "STRING" else "NO_ACTION"
    lines: list[tuple[str, str | list[str]]] = []
    if spec.max_length != DEFAULT_MAX_LENGTH:
        lines.append(("schemaMaxLength", str(spec.max_length)))
    if spec.max_length_strategy and spec.max_length_strategy != usual:
        lines.append(("schemaMaxLengthExceedStrategy", spec.max_length_strategy))
    return lines


def _default_text(spec: FieldSpec) -> str | None:
    if spec.stored_type in WIDTHS:
        return java_number(spec.default_null, spec.stored_type)
    if spec.stored_type == "STRING":
        return to_safe(str(spec.default_null))
    if spec.data_type == "BYTES":
        return bytes(default_value(spec)).hex()
    return str(spec.default_null).lower() if spec.data_type == "UUID" else str(default_value(spec))


def _flag(value: bool) -> str:
    return "true" if value else "false"
