"""Finds every fault of a segment that Pinot itself would load without a word."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from segments.datatypes.compute import pc
from segments.datatypes.javatext import java_number
from segments.errors import PinotAdminError
from segments.segmentfile.format.buffers import row_offsets
from segments.segmentfile.format.crc import NO_CRC, compute_crc
from segments.segmentfile.format.decode import roaring_rows
from segments.segmentfile.format.dictionary import WIDTHS, text_order
from segments.segmentfile.format.info import ColumnInfo, SegmentInfo, read_info
from segments.segmentfile.format.store import DICTIONARY, INVERTED
from segments.segmentfile.packed.tar import extract_tar
from segments.segmentfile.reader import SegmentReader


def verify(path: Path) -> list[str]:
    """One line per fault of the segment directory or tar at ``path``; empty when it is sound.

    Checks the CRC, that indexes neither overlap nor leave the file, every column's bytes, dictionary order, lengths,
    min and max, null vector and inverted index. A server's copy that Pinot preprocessed has another CRC than its
    ``creation.meta`` says, by design.
    """
    try:
        if path.is_dir():
            return list(_directory(path))
        with tempfile.TemporaryDirectory(prefix="verify-") as folder:
            return list(_directory(extract_tar(path, Path(folder))))
    except PinotAdminError as error:
        return [str(error)]


def _directory(path: Path) -> Iterator[str]:
    info = read_info(path)
    actual = compute_crc(path)
    if info.crc == NO_CRC:
        yield "creation.meta is missing, so the CRC cannot be checked."
    elif actual != info.crc:
        yield f"CRC of the files is {actual}, creation.meta says {info.crc}."
    if not info.name:
        yield "metadata.properties: 'segment.name' is missing."
    with SegmentReader(path) as reader:
        yield from _overlaps(reader.places())
        for column in info.columns.values():
            try:
                yield from _column(reader, column, info)
            except PinotAdminError as error:
                yield error.message


def _overlaps(places: dict[tuple[str, str], tuple[int, int]]) -> Iterator[str]:
    end, before = 0, ""
    for (column, kind), (start, size) in sorted(places.items(), key=lambda item: item[1]):
        if start < end:
            yield f"index_map: {kind} of column '{column}' at offset {start} overlaps {before}, which ends at {end}."
        end, before = max(end, start + size), f"{kind} of column '{column}'"


def _column(reader: SegmentReader, column: ColumnInfo, info: SegmentInfo) -> Iterator[str]:
    values = reader.column(column.name)
    if len(values) != info.total_docs:
        yield f"Column '{column.name}' has {len(values)} rows, the segment {info.total_docs}."
    if not len(values):
        return
    reader.null_mask(column.name)
    flat = values
    if not column.single_value:
        counts = np.diff(row_offsets(values))
        flat = values.flatten()
        yield from _multi(column, counts, len(flat))
    if column.has_dictionary and reader.index(column.name, DICTIONARY) is not None:
        yield from _dictionary(reader, column)
    yield from _range(column, flat)
    if column.has_dictionary:
        yield from _inverted(reader, column)


def _multi(column: ColumnInfo, counts: Any, values: int) -> Iterator[str]:
    if int(counts.max()) > column.max_multi_values:
        yield (
            f"Column '{column.name}': a row has {int(counts.max())} values, maxNumberOfMultiValues is "
            f"{column.max_multi_values}."
        )
    if values != column.total_entries:
        yield f"Column '{column.name}' has {values} values, totalNumberOfEntries is {column.total_entries}."
    if int(counts.min()) < 1:
        yield f"Column '{column.name}' has a row without a value."


def _dictionary(reader: SegmentReader, column: ColumnInfo) -> Iterator[str]:
    entries = reader.dictionary(column.name)
    if len(entries) != column.cardinality:
        yield f"Column '{column.name}': the dictionary has {len(entries)} entries, cardinality is {column.cardinality}."
    if column.stored_type in WIDTHS:
        numbers = entries.to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~(numbers[1:] > numbers[:-1]))
    elif column.stored_type == "BIG_DECIMAL":
        decimals = [Decimal(v) for v in entries.to_pylist()]
        wrong = np.array([i for i, (a, b) in enumerate(pairwise(decimals)) if not a < b])
    else:
        unique = pc.count_distinct(entries).as_py() == len(entries)
        order = text_order(entries)
        wrong = np.flatnonzero(order != np.arange(len(order))) if unique else np.array([0])
        yield from _text_range(column, entries)
    if len(wrong):
        yield (
            f"Column '{column.name}': the dictionary is not in ascending order from entry {int(wrong[0])} on; "
            "lookups would miss values."
        )


def _text_range(column: ColumnInfo, entries: Any) -> Iterator[str]:
    if column.stored_type != "STRING" or not len(entries):
        return
    for label, stated, actual in (
        ("minValue", column.min_value, entries[0]),
        ("maxValue", column.max_value, entries[-1]),
    ):
        if stated is not None and stated != actual.as_py():
            yield (
                f"Column '{column.name}': {label} is '{stated}', the dictionary says '{actual}'; queries would be "
                "pruned wrongly."
            )


def _range(column: ColumnInfo, flat: Any) -> Iterator[str]:
    if column.min_value is None or column.max_value is None or column.stored_type not in WIDTHS:
        return
    ends = pc.min_max(flat).as_py()
    for label, stated, actual in (
        ("minValue", column.min_value, ends["min"]),
        ("maxValue", column.max_value, ends["max"]),
    ):
        if java_number(actual, column.stored_type) != stated and not _same(stated, actual):
            shown = java_number(actual, column.stored_type)
            yield f"Column '{column.name}': {label} is {stated}, the data say {shown}; queries would be pruned wrongly."


def _same(stated: str, actual: Any) -> bool:
    try:
        return math.isclose(float(stated), actual, rel_tol=1e-6) if isinstance(actual, float) else int(stated) == actual
    except ValueError:
        return False


def _inverted(reader: SegmentReader, column: ColumnInfo) -> Iterator[str]:
    index = reader.index(column.name, INVERTED)
    if index is None:
        return
    head = 4 * (column.cardinality + 1)
    where = f"{index.file}: inverted index of column '{column.name}' at offset {index.offset}"
    if len(index.data) < head:
        yield f"{where} is cut short."
        return
    starts = index.data[:head].view(">u4").astype(np.int64)
    starts += head - starts[0]  # the legacy form counts from the first bitmap
    if (np.diff(starts) < 0).any() or starts[-1] > len(index.data):
        yield f"{where} has offsets that are not ascending."
        return
    ids = reader.ids(column.name)
    counts = np.bincount(ids, minlength=column.cardinality)
    for i in range(column.cardinality):
        try:
            rows = roaring_rows(index.data[starts[i] : starts[i + 1]])
        except ValueError as error:
            yield f"{where}, entry {i}: {error}."
            return
        if column.single_value and len(rows) != counts[i]:
            yield f"{where}: entry {i} has {len(rows)} rows, the forward index {int(counts[i])}."
            return
