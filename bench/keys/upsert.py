"""Upsert: rows per second into one partition, memory of its keys, and what the mask costs queries.

Run from the project's root: ``python -m bench.keys.upsert [--keys 1000000]``. Messages are JSON of 10 columns, decoded,
appended and taken into the keys as a server does it, each key twice; then queries over these rows without a mask
(``skipUpsert``) and with one that hides a tenth of them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from bench.realtime_ingest import CONFIG, SCHEMA, message
from segments.dataplane.primary_keys.keyed_rows import KeyedRows
from segments.dataplane.primary_keys.table_keys import TableKeys
from segments.dataplane.query import SegmentRows, execute_partial, plan_query
from segments.dataplane.realtime.decode import open_decoder
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.domain.tables.keyed_tables import KeyRules

BATCH = 10_000
GOAL_ROWS, GOAL_BYTES, GOAL_RATIO = 80_000, 150, 1.3
QUERIES = (
    "select count(*) from b",
    "select sum(amount), max(count) from b",
    "select city, count(*), sum(amount) from b group by city order by city limit 1000",
    "select count(*), sum(amount) from b where device = 'mobile' and count > 30",
    "select distinctcount(user) from b",
)
_STREAM = {"streamType": "memory", "stream.memory.topic.name": "t"}


def ingest(keys: int) -> tuple[float, float, MutableSegment]:
    """(rows per second, bytes per key, the rows): every key comes twice."""
    table = TableKeys(KeyRules("FULL", ("id",), "ts"), SCHEMA)
    decoder = open_decoder(parse_stream_config(_STREAM), SCHEMA, CONFIG)
    segment = MutableSegment("b__0__0__20260801T1000Z", SCHEMA, CONFIG)
    into, took = KeyedRows(table, segment.name, segment), 0.0
    for start in range(0, 2 * keys, BATCH):
        batch = [message(n % keys, n) for n in range(start, start + BATCH)]
        began = time.perf_counter()
        decoded = decoder.decode(batch, now_ms=0)
        into.append(decoded.table, decoded.masks)
        took += time.perf_counter() - began
    assert table.keys == keys
    return 2 * keys / took, table.nbytes / keys, segment


def seconds(run: Callable[[], object], times: int = 9) -> float:
    """Median."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def overhead(sql: str, segment: MutableSegment, valid: np.ndarray) -> tuple[float, float]:
    """Milliseconds over all rows (``skipUpsert``), and over all rows with the mask."""
    plan = plan_query(sql, SCHEMA)
    rows = segment.snapshot().table_of(plan.columns)
    every = [SegmentRows("s", "h", rows, len(valid))]
    masked = [SegmentRows("s", "h", rows, len(valid), valid=valid)]
    return (
        1000 * seconds(lambda: execute_partial(plan, every)),
        1000 * seconds(lambda: execute_partial(plan, masked)),
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    keys = parser.parse_args().keys
    rate, size, segment = ingest(keys)
    print(f"{'rows/s into one partition':<60}{rate:>12,.0f}   at least {GOAL_ROWS:,}")
    print(f"{'bytes per key, masks of its rows included':<60}{size:>12.0f}   at most {GOAL_BYTES}")
    valid = np.arange(segment.rows) % 10 != 0
    for sql in QUERIES:
        every, masked = overhead(sql, segment, valid)
        print(f"{sql[:58]:<60}{every:>8.1f} ms{masked:>8.1f} ms{masked / every:>7.2f} x   at most {GOAL_RATIO}")


if __name__ == "__main__":
    main()
