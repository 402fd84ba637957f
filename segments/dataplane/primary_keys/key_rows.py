"""Reads the primary keys of rows, what decides between rows of one key, and which rows delete theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from segments.dataplane.primary_keys.key_hashes import Hashes, hash_rows
from segments.dataplane.primary_keys.order_of_values import NOTHING, sort_keys
from segments.dataplane.primary_keys.wide_values import WORDS, Wholes, encoded, in_words, is_wide
from segments.dataplane.query.nulls import PREFIX
from segments.dataplane.query.scan import default_values, stored_type
from segments.domain.tables.keyed_tables import KeyRules
from segments.domain.tables.schema import Schema
from segments.segmentfile.columns.transform import Mask


@dataclass(frozen=True)
class KeyRows:
    """Rows in order: ``keys``; ``values``, of which the greatest counts, as integers that sort as the column's values
    do, with several comparison columns as rows of such integers (``order_of_values``), with texts, decimals and bytes
    as their first bytes, ``wholes``: the longer ones (``wide_values``); ``deletes``: the row deletes its key.
    """

    keys: Hashes
    values: NDArray[np.int64]
    deletes: NDArray[np.bool_]
    wholes: Wholes | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, at: Any) -> KeyRows:
        """Those of the rows named by positions, a mask or a slice."""
        wholes = None if self.wholes is None else self.wholes[at]
        return KeyRows(self.keys.take(at), self.values[at], self.deletes[at], wholes)


class KeyReader:
    """Of one table."""

    def __init__(self, rules: KeyRules, schema: Schema) -> None:
        self._rules, self._schema = rules, schema
        nulls = [PREFIX + name for name in rules.compared] if rules.compares_several else []
        named = [*rules.columns, *rules.compared, rules.delete_column, *nulls]
        self.columns: tuple[str, ...] = tuple(dict.fromkeys(c for c in named if c is not None))

    @property
    def width(self) -> int:
        """How many integers a row is compared by."""
        return WORDS if self.is_wide else max(1, len(self._rules.compared))

    @property
    def is_wide(self) -> bool:
        """Is the comparison column one of texts, decimals or bytes?"""
        name = self._rules.comparison
        return name is not None and is_wide(self._schema.by_name[name].stored_type)

    @property
    def is_real(self) -> bool:
        """Is the comparison column one of real numbers?"""
        name = self._rules.comparison
        return name is not None and self._schema.by_name[name].stored_type in ("FLOAT", "DOUBLE")

    def read(self, rows: pa.Table, count: int, masks: Mapping[str, Mask] | None = None) -> KeyRows:
        """``rows`` has ``columns`` in stored types; one that it lacks holds its default null value. ``masks``: which of
        its values are null, None: that is in ``rows``, too.
        """
        keys = hash_rows([self._column(rows, name, count) for name in self._rules.columns], count)
        delete = self._rules.delete_column
        deletes = _truths(self._column(rows, delete, count)) if delete else np.zeros(count, np.bool_)
        if self.is_wide:
            values, wholes = in_words(self.encoded(rows, count))
            return KeyRows(keys, values, deletes, wholes)
        return KeyRows(keys, self._numbers(rows, count, masks), deletes)

    def encoded(self, rows: pa.Table, count: int) -> list[bytes]:
        """The values of a wide comparison column as bytes that sort as they do."""
        name = self._rules.comparison or ""
        return encoded(_plain(self._column(rows, name, count)), self._schema.by_name[name].stored_type)

    def _numbers(self, rows: pa.Table, count: int, masks: Mapping[str, Mask] | None) -> NDArray[np.int64]:
        if self._rules.compares_several:
            return self._several(rows, count, masks)
        comparison = self._rules.comparison
        return sortable(self._column(rows, comparison, count)) if comparison else np.zeros(count, np.int64)

    def _several(self, rows: pa.Table, count: int, masks: Mapping[str, Mask] | None) -> NDArray[np.int64]:
        found = np.empty((count, self.width), np.int64)
        for at, name in enumerate(self._rules.compared):
            values = np.maximum(sortable(self._column(rows, name, count)), np.int64(NOTHING + 1))
            found[:, at] = np.where(_nulls(rows, name, count, masks), np.int64(NOTHING), values)
        return found

    def _column(self, rows: pa.Table, name: str, count: int) -> Any:
        spec = self._schema.by_name[name]
        return rows.column(name) if name in rows.column_names else default_values(spec, stored_type(spec), count)


def sortable(column: Any) -> NDArray[np.int64]:
    """Numbers as 64-bit integers in the same order."""
    values = _plain(column).to_numpy()
    if values.dtype.kind != "f":
        whole: NDArray[np.int64] = values.astype(np.int64, copy=False)
        return whole
    bits = np.ascontiguousarray(values.astype(np.float64, copy=False)).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def numbers_of(values: NDArray[np.int64], kind: np.dtype[Any]) -> NDArray[Any]:
    """What ``sortable`` made these of."""
    if kind.kind != "f":
        whole: NDArray[Any] = values.astype(kind)
        return whole
    bits = values ^ ((values >> 63) & np.int64(2**63 - 1))
    real: NDArray[Any] = bits.view(np.float64).astype(kind)
    return real


def first_of_each(rows: KeyRows) -> NDArray[np.int64]:
    """The positions of the first row of each key."""
    order = np.lexsort((rows.keys.low, rows.keys.high))
    keys = rows.keys.take(order)
    starts = np.ones(len(order), np.bool_)
    starts[1:] = ~_are_next_alike(keys)
    first: NDArray[np.int64] = order[starts]
    return first


def last_of_each(rows: KeyRows) -> NDArray[np.int64]:
    """The positions of the rows that count, one of each key: of those with the greatest value the last."""
    low = np.sort(rows.keys.low)
    if not (low[1:] == low[:-1]).any():
        return np.arange(len(rows))
    order = np.lexsort((*sort_keys(rows.values, rows.wholes), rows.keys.low, rows.keys.high))
    return order[ends_of_groups(rows.keys.take(order))]


def ends_of_groups(keys: Hashes) -> NDArray[np.bool_]:
    """Of sorted keys: is the row the last of its key?"""
    ends = np.ones(len(keys), np.bool_)
    ends[:-1] = ~_are_next_alike(keys)
    return ends


def _are_next_alike(keys: Hashes) -> NDArray[np.bool_]:
    alike: NDArray[np.bool_] = (keys.low[1:] == keys.low[:-1]) & (keys.high[1:] == keys.high[:-1])
    return alike


def _nulls(rows: pa.Table, name: str, count: int, masks: Mapping[str, Mask] | None) -> Mask:
    if name not in rows.column_names:
        return np.ones(count, np.bool_)
    if masks is not None:
        return masks.get(name, np.zeros(count, np.bool_))
    if PREFIX + name not in rows.column_names:
        return np.zeros(count, np.bool_)
    found: Mask = _plain(rows.column(PREFIX + name)).to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def _truths(column: Any) -> NDArray[np.bool_]:
    """As Pinot reads a flag of any type: a number that is not zero, ``true`` or ``1``."""
    plain = _plain(column)
    if pa.types.is_string(plain.type):
        words: Sequence[str] = ("true", "1")
        found: NDArray[np.bool_] = pc.is_in(pc.utf8_lower(plain), pa.array(words)).to_numpy(zero_copy_only=False)
        return found
    numbers: NDArray[np.bool_] = plain.to_numpy() != 0
    return numbers


def _plain(column: Any) -> Any:
    found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return found.cast(found.type.value_type) if pa.types.is_dictionary(found.type) else found
