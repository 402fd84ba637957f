"""Sums under a mask that are kept by blocks are those of a copy of the rows, and only what changed is summed again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.dataplane.query import RowMask, SegmentRows, execute_partial, merge, plan_query
from segments.dataplane.query.arrow import block_sums
from segments.dataplane.query.arrow.block_sums import BlockSums
from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.dataplane.server.consuming.view import View
from segments.domain.tables.table_config import parse_table_config
from tests.query.samples import SCHEMA

_ODD = [1.0, float("inf"), float("-inf"), float("nan"), 1e308]


def _chunks(values: np.ndarray[Any, Any], random: np.random.Generator) -> Any:
    cuts = np.sort(random.integers(0, len(values) + 1, random.integers(0, 4)))
    return pa.chunked_array([pa.array(part) for part in np.split(values, cuts)])


@given(
    sizes=st.lists(st.integers(0, 1500), min_size=1, max_size=5),
    changes=st.lists(st.integers(0, 400), min_size=5, max_size=5),
    kind=st.sampled_from([np.int32, np.int64, np.float32, np.float64]),
    odd=st.sampled_from(_ODD),
    seed=st.integers(0, 1000),
)
def test_sums_by_blocks_are_those_of_a_copy_of_the_rows_that_count(
    sizes: list[int], changes: list[int], kind: Any, odd: float, seed: int
) -> None:
    """Rows come, some are hidden and some shown again, between two queries; chunks end where they like; what is not
    finite counts only where it is not hidden.
    """
    random, kept = np.random.default_rng(seed), BlockSums()
    values = random.integers(-9, 9, max(sizes)).astype(kind)
    if values.dtype.kind == "f" and len(values):
        with np.errstate(over="ignore"):
            values[random.integers(0, len(values), 3)] = odd
    flags = random.random(len(values)) < 0.9
    for size, change in zip(sizes, changes, strict=False):
        flags = flags.copy()
        flags[random.integers(0, max(len(flags), 1), change if len(flags) else 0)] ^= True
        counting = flags[:size]
        for _ in range(2):
            with np.errstate(invalid="ignore", over="ignore"):
                wanted = values[:size][counting].sum(dtype=np.float64)
                found = kept.total("x", _chunks(values[:size], random), counting)
            assert found == wanted or (np.isnan(found) and np.isnan(wanted))


def test_only_blocks_whose_rows_changed_or_came_since_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    summed, weigh = list[int](), block_sums._weigh

    def counting(values: Any, marks: Any, out: Any) -> None:
        summed.append(len(out))
        weigh(values, marks, out)

    monkeypatch.setattr(block_sums, "_weigh", counting)
    kept, values, flags = BlockSums(), np.arange(12_900.0), np.arange(12_900) % 10 != 0
    now, column = flags[:12_800], pa.chunked_array([pa.array(values[:12_800])])
    for changed in ([], [], [5, 6], [7, 9_000]):
        now = now.copy()
        now[np.array(changed, np.int64)] ^= True
        assert kept.total("x", column, now) == values[:12_800][now].sum()
    flags[:12_800] = now
    assert kept.total("x", pa.chunked_array([pa.array(values)]), flags) == values[flags].sum()
    assert [blocks for blocks in summed if blocks] == [100, 1, 2]


def test_columns_that_are_no_plain_numbers_are_left_to_arrow() -> None:
    flags = np.array([True, False])
    for column in (pa.array([1.0, None]), pa.array(["1", "2"]), pa.array([1, 2]).dictionary_encode()):
        assert BlockSums().total("x", pa.chunked_array([column]), flags) is None


def test_few_columns_are_kept() -> None:
    kept, column, flags = BlockSums(), pa.chunked_array([pa.array([1, 2])]), np.array([True, False])
    for name in range(100):
        assert kept.total(str(name), column, flags) == 1
    assert len(kept._known) <= 8


def test_a_consuming_segment_is_summed_as_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no row is hidden any more, or none yet: then nothing is kept, since rows come under the same mask."""
    config = parse_table_config({"tableName": "t", "tableType": "REALTIME", "segmentsConfig": {}})
    segment, seen = MutableSegment("t__0__0__20260801T1000Z", SCHEMA, config), list[float]()
    plan = plan_query("select sum(d), count(*) from t", SCHEMA)
    read, total = list[int](), BlockSums.total

    def reading(self: BlockSums, name: str, column: Any, flags: Any) -> float | None:
        read.append(len(flags))
        return total(self, name, column, flags)

    monkeypatch.setattr(BlockSums, "total", reading)
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
