"""The buffer of a consuming segment: snapshots that never change, few pieces, little memory, and the
file it becomes.
"""

from __future__ import annotations

import itertools
import json
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from segments.dataplane.query import SegmentRows, execute_partial, merge, plan_query
from segments.dataplane.realtime.decode import Decoded
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.dataplane.server.consuming.view import View
from segments.dataplane.server.held.column_cache import ColumnCache
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.segmentfile import SegmentReader, build_segment, compute_crc, verify
from tests.realtime.test_decode import NOW, decoder, schema_of

SCHEMA = schema_of(n="LONG", s="STRING", m="INT[]")
NAME = "t__0__0__20231114T2213Z"


def config_of(**body: Any) -> TableConfig:
    return parse_table_config(
        {"tableName": "t", "tableType": "REALTIME", "segmentsConfig": {"timeColumnName": "ts"}, **body}
    )


def messages(first: int, last: int) -> list[bytes]:
    rows = (
        {"n": n, "s": f"text-{n % 50}", **({"m": [n, 1]} if n % 3 else {}), "ts": NOW + n} for n in range(first, last)
    )
    return [json.dumps(r).encode() for r in rows]


@cache
def all_rows() -> Decoded:
    return decoder(SCHEMA).decode(messages(0, 120_000), now_ms=NOW)


def append(segment: MutableSegment, first: int, last: int) -> None:
    """Rows as one fetch brings them."""
    found = all_rows()
    table = pa.Table.from_batches(
        found.table.slice(first, last - first).combine_chunks().to_batches(), found.table.schema
    )
    segment.append(table, {name: mask[first:last] for name, mask in found.masks.items()})


@pytest.mark.parametrize("step", [1, 7, 300])
def test_many_small_appends_make_few_pieces_and_lose_no_order(step: int) -> None:
    segment = MutableSegment(NAME, SCHEMA, config_of())
    total, most = 3_000 * min(step, 4), 0
    for first in range(0, total, step):
        append(segment, first, min(first + step, total))
        most = max(most, len(segment.snapshot().pieces))
    assert segment.rows == total
    assert segment.snapshot().column("n").to_pylist() == list(range(total))
    assert most <= 50
    assert (segment.min_time_ms, segment.max_time_ms) == (NOW, NOW + total - 1)


def test_batches_of_changing_size_make_few_pieces_too() -> None:
    segment, first = MutableSegment(NAME, SCHEMA, config_of()), 0
    sizes = [1, 70, 5, 600, 2, 90, 1, 1, 520] * 90
    for size in sizes:
        append(segment, first, first + size)
        first += size
    assert len(segment.snapshot().pieces) <= 50 + first // 4_096
    assert segment.snapshot().column("n").to_pylist() == list(range(first))


def test_a_snapshot_stays_what_it_was_while_rows_come_in() -> None:
    segment = MutableSegment(NAME, SCHEMA, config_of())
    faults: list[object] = []
    done = threading.Event()

    def look() -> None:
        seen = 0
        while not done.is_set():
            snapshot = segment.snapshot()
            table = snapshot.table_of(["n", "s", "ts"])
            numbers = table.column("n").to_numpy()
            if (
                snapshot.num_docs < seen
                or table.num_rows != snapshot.num_docs
                or not np.array_equal(numbers, np.arange(snapshot.num_docs))
            ):
                faults.append((seen, snapshot.num_docs, table.num_rows))
            seen = snapshot.num_docs

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for first in range(0, 2_000, 4):
        append(segment, first, first + 4)
    done.set()
    for reader in readers:
        reader.join()
    assert faults == []
    assert segment.rows == 2_000


def test_memory_stays_below_twice_the_size_of_the_rows() -> None:
    before = pa.total_allocated_bytes()
    segment, reading, first = MutableSegment(NAME, SCHEMA, config_of()), decoder(SCHEMA), 0
    for size in [1, 10, 100, 1_000, 10_000] * 4:
        found = reading.decode(messages(first, first + size), now_ms=NOW)
        segment.append(found.table, found.masks)
        first += size
    del found
    assert segment.bytes > 1_000_000
    assert pa.total_allocated_bytes() - before <= 2 * segment.bytes


def test_columns_and_nulls_are_given_as_a_held_segment_gives_them() -> None:
    config = config_of(tableIndexConfig={"nullHandlingEnabled": True})
    segment = MutableSegment(NAME, SCHEMA, config)
    assert segment.snapshot().table_of(["n", "m"]).num_rows == 0
    append(segment, 0, 3)
    append(segment, 3, 5)
    table = segment.snapshot().table_of(["m", "n", "nothing", "$isNull.m"])
    assert table.to_pydict() == {
        "m": [[-(2**31)], [1, 1], [2, 1], [-(2**31)], [4, 1]],
        "n": [0, 1, 2, 3, 4],
        "$isNull.m": [True, False, False, True, False],
    }
    assert MutableSegment(NAME, SCHEMA, config_of()).snapshot().table_of(["$isNull.m"]).column_names == []


def test_is_null_answers_alike_while_a_segment_is_consumed_and_once_it_is_built(tmp_path: Path) -> None:
    config = config_of(tableIndexConfig={"nullHandlingEnabled": True})
    segment = MutableSegment(NAME, SCHEMA, config)
    append(segment, 0, 5)
    segment.build(tmp_path, start_offset="0", end_offset="5", creation_time_ms=NOW)
    held = HeldSegment(NAME, tmp_path / NAME, 0, ColumnCache(1 << 20))
    for where, wanted in (("m is null", [0, 3]), ("m is not null", [1, 2, 4]), ("n is null", [])):
        plan = plan_query(f"select n from {SCHEMA.name} where {where}", SCHEMA)
        for rows in (View(NAME, segment.snapshot()).table_of(plan.columns), held.table_of(plan.columns)):
            part = execute_partial(plan, [SegmentRows(NAME, "", rows)])
            assert [n for (n,) in merge(plan, [part]).rows] == wanted


@pytest.mark.parametrize("steps", [(0, 1_000), (0, 3, 4, 300, 999, 1_000)])
def test_the_file_is_the_same_however_the_rows_arrived(tmp_path: Path, steps: tuple[int, ...]) -> None:
    config = config_of(tableIndexConfig={"nullHandlingEnabled": True})
    segment = MutableSegment(NAME, SCHEMA, config)
    for first, last in itertools.pairwise(steps):
        append(segment, first, last)
    info = segment.build(tmp_path / "mutable", start_offset="5", end_offset="1005", creation_time_ms=NOW)
    rows = pa.Table.from_pylist([{"m": None, **json.loads(m)} for m in messages(0, 1_000)])
    build_segment(rows, SCHEMA, config, NAME, tmp_path / "whole", creation_time_ms=NOW, realtime_offsets=("5", "1005"))
    assert compute_crc(tmp_path / "mutable" / NAME) == compute_crc(tmp_path / "whole" / NAME)
    assert info.total_docs == 1_000
    assert verify(tmp_path / "mutable" / NAME) == []
    reader = SegmentReader(tmp_path / "mutable" / NAME)
    assert reader.column("n").to_pylist() == list(range(1_000))
    assert (
        "segment.realtime.endOffset = 1005"
        in next((tmp_path / "mutable" / NAME).rglob("metadata.properties")).read_text()
    )


def test_a_segment_without_rows_and_one_with_an_impossible_time_are_built(tmp_path: Path) -> None:
    empty = MutableSegment(NAME, SCHEMA, config_of())
    assert empty.build(tmp_path / "a", start_offset="5", end_offset="5", creation_time_ms=NOW).total_docs == 0
    odd = MutableSegment(NAME, SCHEMA, config_of())
    found = decoder(SCHEMA).decode([b'{"n":1,"ts":99999999999999999}'], now_ms=NOW)
    odd.append(found.table, found.masks)
    assert odd.build(tmp_path / "b", start_offset="0", end_offset="1", creation_time_ms=NOW).total_docs == 1
