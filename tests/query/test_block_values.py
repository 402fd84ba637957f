"""Sums and extremes that are kept by blocks are those of a copy of the rows; only what changed is computed again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.dataplane.primary_keys.holder import Holder
from segments.dataplane.query import RowMask, SegmentRows, execute_partial, merge, plan_query
from segments.dataplane.query.arrow import block_values
from segments.dataplane.query.arrow.block_values import BlockValues
from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.dataplane.server.consuming.view import View
from segments.domain.tables.table_config import parse_table_config
from tests.query.samples import SCHEMA

_ODD = [1.0, float("inf"), float("-inf"), float("nan"), 1e308]


def _chunks(values: np.ndarray[Any, Any], random: np.random.Generator) -> Any:
    cuts = np.sort(random.integers(0, len(values) + 1, random.integers(0, 4)))
    return pa.chunked_array([pa.array(part) for part in np.split(values, cuts)])


_WANTED: dict[str, Any] = {"sum": np.sum, "min": np.fmin.reduce, "max": np.fmax.reduce}


def _holder() -> Holder:
    return Holder(0, "t__0__0__20260801T1000Z", 0, lambda _: pa.table({}))


def _wanted(function: str, values: np.ndarray[Any, Any]) -> float | None:
    """None: left to Arrow."""
    if function == "sum":
        return float(values.sum(dtype=np.float64))
    found = float(_WANTED[function](values.astype(np.float64))) if len(values) else float("nan")
    return found if np.isfinite(found) else None


@given(
    sizes=st.lists(st.integers(1, 1500), min_size=1, max_size=5),
    changes=st.lists(st.integers(0, 400), min_size=5, max_size=5),
    kind=st.sampled_from([np.int32, np.int64, np.float32, np.float64]),
    odd=st.sampled_from(_ODD),
    seed=st.integers(0, 1000),
)
def test_values_by_blocks_are_those_of_a_copy_of_the_rows_that_count(
    sizes: list[int], changes: list[int], kind: Any, odd: float, seed: int
) -> None:
    """Rows come and go, some are hidden and some shown again, between two queries; chunks end where they like; what is
    not finite counts only where it is not hidden.
    """
    random, kept, holder = np.random.default_rng(seed), BlockValues(), _holder()
    values = random.integers(-9, 9, max(sizes)).astype(kind)
    if values.dtype.kind == "f" and len(values):
        with np.errstate(over="ignore"):
            values[random.integers(0, len(values), 3)] = odd
    for size, change in zip(sizes, changes, strict=False):
        _resize(holder, size, random)
        docs = np.unique(random.integers(0, size, change))
        holder.hide(docs[::2].astype(np.int32))
        holder.show(docs[1::2], np.ones(len(docs[1::2]), np.bool_))
        for mask in (holder.mask(), holder.mask().first(size // 2), holder.mask()):
            counting = values[: len(mask)][mask.flags]
            for function in _WANTED:
                with np.errstate(invalid="ignore", over="ignore"):
                    wanted = _wanted(function, counting)
                    found = kept.whole(function, "x", _chunks(values[: len(mask)], random), mask)
                assert found == wanted or (wanted is not None and found is not None and np.isnan([wanted, found]).all())


def _resize(holder: Holder, size: int, random: np.random.Generator) -> None:
    if size < holder.rows:
        holder.cut(size)
    come = np.arange(holder.rows, size)
    holder.grow(size)
    holder.show(come, random.random(len(come)) < 0.9)


@pytest.mark.parametrize("function", ["sum", "min", "max"])
def test_only_blocks_whose_rows_changed_or_came_since_are_read(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    read, compute = list[int](), block_values._COMPUTE[function]

    def counting(values: Any, marks: Any, out: Any) -> None:
        read.append(len(out))
        compute(values, marks, out)

    monkeypatch.setitem(block_values._COMPUTE, function, counting)
    kept, values, holder = BlockValues(), np.arange(12_900.0), _holder()
    holder.grow(12_800)
    holder.show(np.arange(12_800), np.arange(12_800) % 10 != 0)
    for changed in ([], [], [5, 6], [7, 9_000]):
        holder.hide(np.array(changed, np.int32))
        _check(kept, function, values, holder)
    holder.grow(12_900)
    holder.show(np.arange(12_800, 12_900), np.ones(100, np.bool_))
    _check(kept, function, values, holder)
    holder.grow(12_950)
    holder.show(np.arange(12_900, 12_950), np.ones(50, np.bool_))
    _check(kept, function, np.arange(12_950.0), holder)
    assert [blocks for blocks in read if blocks] == [100, 1, 2, 1]


def _check(kept: BlockValues, function: str, values: np.ndarray[Any, Any], holder: Holder) -> None:
    mask = holder.mask()
    column = pa.chunked_array([pa.array(values[: len(mask)])])
    assert kept.whole(function, "x", column, mask) == _WANTED[function](values[: len(mask)][mask.flags])


def test_rows_of_a_segment_that_was_loaded_again_are_read_again() -> None:
    """Its holder counts changes from zero again, so equal numbers say nothing."""
    kept, values = BlockValues(), np.arange(256.0)
    for hidden in (255, 0):
        holder = _holder()
        holder.grow(256)
        holder.show(np.arange(256), np.arange(256) != hidden)
        _check(kept, "max", values, holder)


def test_a_mask_of_which_nobody_counts_changes_is_read_whole_and_not_kept() -> None:
    kept, column = BlockValues(), pa.chunked_array([pa.array(np.arange(256.0))])
    for hidden in (255, 0):
        flags = np.arange(256) != hidden
        assert kept.whole("sum", "x", column, RowMask(flags)) == np.arange(256)[flags].sum()
    assert not kept._known


def test_columns_that_are_no_plain_numbers_are_left_to_arrow() -> None:
    flags = np.array([True, False])
    for column in (pa.array([1.0, None]), pa.array(["1", "2"]), pa.array([1, 2]).dictionary_encode()):
        assert BlockValues().whole("sum", "x", pa.chunked_array([column]), RowMask(flags)) is None


def test_few_columns_are_kept() -> None:
    kept, column, holder = BlockValues(), pa.chunked_array([pa.array([1, 2])]), _holder()
    holder.grow(2)
    holder.show(np.arange(2), np.array([True, False]))
    for name in range(100):
        assert kept.whole("sum", str(name), column, holder.mask()) == 1
    assert len(kept._known) <= 16


def test_a_consuming_segment_is_summed_as_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no row is hidden any more, or none yet: then nothing is kept, since rows come under the same mask."""
    config = parse_table_config({"tableName": "t", "tableType": "REALTIME", "segmentsConfig": {}})
    segment, seen = MutableSegment("t__0__0__20260801T1000Z", SCHEMA, config), list[float]()
    plan = plan_query("select sum(d), count(*) from t", SCHEMA)
    read, whole = list[int](), BlockValues.whole

    def reading(self: BlockValues, function: str, name: str, column: Any, mask: RowMask) -> float | None:
        read.append(len(mask))
        return whole(self, function, name, column, mask)

    monkeypatch.setattr(BlockValues, "whole", reading)
    for turn in range(4):
        segment.append(_rows(segment, 300))
        view = View(segment.name, segment.snapshot(), None, segment.totals)
        mask = None if turn == 0 else RowMask(np.arange(view.num_docs) % 3 != 0)
        rows = SegmentRows("t", "h", view.table_of(plan.columns), valid=mask, is_growing=True, totals=view.totals)
        values = rows.rows.column("d").to_numpy()
        wanted = values if mask is None else values[mask.flags]
        assert list(merge(plan, [execute_partial(plan, [rows])]).rows) == [[wanted.sum(), len(wanted)]]
        seen.append(float(wanted.sum()))
    assert len(set(seen)) == 4
    assert read == [600, 900, 1200]


def _rows(segment: MutableSegment, count: int) -> pa.Table:
    columns = {f.name: None for f in SCHEMA.fields}
    kinds = {name: segment.snapshot().column(name).type for name in columns}
    made: dict[str, Any] = {
        name: pa.array(np.arange(segment.rows, segment.rows + count, dtype=np.float64))
        if name == "d"
        else pa.array([kind.value_type and None] * count, kind)
        if pa.types.is_list(kind)
        else pa.nulls(count, kind)
        for name, kind in kinds.items()
    }
    return pa.table(made)


def test_what_is_kept_is_kept_of_the_masked_rows_only() -> None:
    kept = Totals(grows=True)
    kept.put({("sum", "d"): 1.0}, None)
    assert kept.get([("sum", "d")], None) == {}
    assert not kept.are_kept(None)
