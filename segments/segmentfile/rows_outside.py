"""The rows of a segment outside of a part of its table, as they are stored: what stays of it when that is replaced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.datatypes.timecolumn import row_millis
from segments.domain.ingestion.replaced_part import Partitions
from segments.domain.tables.schema import FieldSpec, Schema
from segments.errors import StateConflict
from segments.segmentfile.columns.partition import partition_ids, partition_texts
from segments.segmentfile.reader import SegmentReader


def outside_times(reader: SegmentReader, time: FieldSpec, from_ms: int, until_ms: int) -> NDArray[np.bool_]:
    """Which rows have a time before ``from_ms``, or from ``until_ms`` on (epoch milliseconds)."""
    try:
        millis = row_millis(time, reader.column(time.name)).to_numpy(zero_copy_only=False)
    except ValueError as error:
        raise StateConflict(
            f"Segment '{reader.info.name}' has a value in time column '{time.name}' that is not a time: {error}.",
            remedy="Reload or replace the segment whole.",
        ) from error
    found: NDArray[np.bool_] = (millis < from_ms) | (millis >= until_ms)
    return found


def outside_partitions(reader: SegmentReader, wanted: Partitions) -> NDArray[np.bool_]:
    """Which rows are of other partitions than the wanted ones, by the values that are stored. StateConflict where the
    segment has no such column, or one of several values a row.
    """
    column = reader.info.columns.get(wanted.column)
    if column is None or not column.single_value:
        raise StateConflict(
            f"Segment '{reader.info.name}' was built with another schema: column '{wanted.column}'.",
            remedy="Reload or replace the segment whole.",
        )
    encoded = reader.column(wanted.column).dictionary_encode()
    texts = partition_texts(encoded.dictionary.to_pylist(), column.stored_type)
    ids = [partition_ids([text], wanted.function, wanted.count)[0] for text in texts]
    is_out = np.array([n not in wanted.ids for n in ids], bool)
    found: NDArray[np.bool_] = is_out[encoded.indices.to_numpy(zero_copy_only=False)]
    return found


def stored_rows(
    reader: SegmentReader, schema: Schema, keep: NDArray[np.bool_]
) -> tuple[pa.Table, dict[str, NDArray[np.bool_]]]:
    """These rows with their null masks, ready to be written as a segment. StateConflict where the segment was built
    with another schema.
    """
    columns: dict[str, Any] = {}
    masks: dict[str, NDArray[np.bool_]] = {}
    wanted = pa.array(keep)
    for field in schema.fields:
        column = reader.info.columns.get(field.name)
        if column is None or column.stored_type != field.stored_type or column.single_value != field.single_value:
            raise StateConflict(
                f"Segment '{reader.info.name}' was built with another schema: column '{field.name}'.",
                remedy="Widen the replaced range until it holds the segment whole.",
            )
        columns[field.name] = reader.column(field.name).filter(wanted)
        mask = reader.null_mask(field.name)
        masks[field.name] = mask[keep] if mask is not None else np.zeros(int(keep.sum()), bool)
    return pa.table(columns), masks
