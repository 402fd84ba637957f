"""Upsert and dedup: rows per second into one partition, memory of its keys, and what the mask costs queries.

Run from the project's root: ``python -m bench.keys.upsert [--keys 1000000]``. Messages are JSON of 10 columns, decoded,
appended and taken into the keys as a server does it, each key twice, for one table of every kind; then queries over the
rows of an upsert table without a mask (``skipUpsert``) and with one that hides a tenth of them. Lone aggregations are
asked of a segment file, whose rows never change: for the first time, after as many of its rows as ``CHANGED`` were
hidden since the last query, and again. Times are processor
time of all threads, so that other work on the machine does not count. ``--queries`` leaves ingestion into the other
tables out. ``--http`` measures neither, but what whoever asks an installation waits (``over_http``).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from bench.keys import over_http
from bench.realtime_ingest import CONFIG, SCHEMA, message
from segments.dataplane.primary_keys.consuming_rows import KeyedRows
from segments.dataplane.primary_keys.holder import Holder
from segments.dataplane.primary_keys.table_keys import TableKeys
from segments.dataplane.query import RowMask, SegmentRows, execute_partial, plan_query
from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.realtime.decode import open_decoder
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.domain.realtime.streams.stream_config import parse_stream_config
from segments.domain.tables.keyed_tables import KeyRules
from segments.domain.tables.schema import Schema, parse_schema

BATCH = 10_000
GOAL_ROWS, GOAL_BYTES, GOAL_RATIO = 80_000, 150, 1.3
#: Queries of each kind.
TIMES: Final = 15
#: Rows of two million that are hidden between two queries.
CHANGED: Final = 1_000
_HOUR_US: Final = 3_600_000_000
_FLAGS = [{"name": name, "dataType": "BOOLEAN"} for name in ("gone", "late")]
FLAGS = parse_schema({**SCHEMA.body, "dimensionFieldSpecs": [*SCHEMA.body["dimensionFieldSpecs"], *_FLAGS]})
KINDS: Final[dict[str, tuple[KeyRules, Schema]]] = {
    "upsert": (KeyRules("FULL", ("id",), "ts"), SCHEMA),
    "upsert, compared by a text": (KeyRules("FULL", ("id",), "user"), SCHEMA),
    "upsert with TTL": (KeyRules("FULL", ("id",), "ts", ttl=_HOUR_US), SCHEMA),
    "upsert, deletions and late rows marked": (
        KeyRules("FULL", ("id",), "ts", delete_column="gone", out_of_order_column="late"), FLAGS,
    ),
    "upsert, late rows dropped": (KeyRules("FULL", ("id",), "ts", drops_out_of_order=True), SCHEMA),
    "partial upsert": (
        KeyRules("PARTIAL", ("id",), "ts", strategies={"amount": "INCREMENT", "count": "MAX", "city": "IGNORE"}),
        SCHEMA,
    ),
    "dedup": (KeyRules("DEDUP", ("id",), None), SCHEMA),
    "dedup with TTL": (KeyRules("DEDUP", ("id",), "ts", ttl=_HOUR_US), SCHEMA),
}  # fmt: skip
QUERIES = (
    "select count(*) from b",
    "select sum(amount), max(count) from b",
    "select city, count(*), sum(amount) from b group by city order by city limit 1000",
    "select count(*), sum(amount) from b where device = 'mobile' and count > 30",
    "select distinctcount(user) from b",
    "select id, amount from b order by ts desc limit 10",
    "select id, amount from b where city = 'city-7' limit 100",
)
LONE = (
    "select sum(amount) from b",
    "select avg(amount) from b",
    "select min(amount) from b",
    "select max(amount) from b",
    "select sum(count) from b",
    "select max(ts) from b",
)
_STREAM = {"streamType": "memory", "stream.memory.topic.name": "t"}


def ingest(rules: KeyRules, schema: Schema, keys: int) -> tuple[float, float, MutableSegment]:
    """(rows per second, bytes per key, the rows): every key comes twice."""
    table = TableKeys(rules, schema)
    decoder = open_decoder(parse_stream_config(_STREAM), schema, CONFIG)
    segment = MutableSegment("b__0__0__20260801T1000Z", schema, CONFIG)
    into, took = KeyedRows(table, segment.name, segment), 0.0
    for start in range(0, 2 * keys, BATCH):
        batch = [message(n % keys, n) for n in range(start, start + BATCH)]
        began = time.process_time()
        decoded = decoder.decode(batch, now_ms=0)
        into.append(decoded.table, decoded.masks)
        took += time.process_time() - began
    assert table.keys == keys
    return 2 * keys / took, table.nbytes / keys, segment


def seconds(runs: Iterable[Callable[[], object]], times: int = TIMES) -> list[float]:
    """Median of each; they take turns."""
    ways = list(runs)
    found: list[list[float]] = [[] for _ in ways]
    for _ in range(times):
        for own, run in zip(found, ways, strict=True):
            began = time.process_time()
            run()
            own.append(time.process_time() - began)
    return [statistics.median(own) for own in found]


def overhead(sql: str, segment: MutableSegment, valid: RowMask) -> list[float]:
    """Milliseconds over all rows (``skipUpsert``), and over all rows with the mask."""
    plan = plan_query(sql, SCHEMA)
    rows = segment.snapshot().table_of(plan.columns)
    every = [SegmentRows("s", "h", rows, len(valid))]
    masked = [SegmentRows("s", "h", rows, len(valid), valid=valid)]
    return [1000 * s for s in seconds([lambda: execute_partial(plan, every), lambda: execute_partial(plan, masked)])]


def lone_overhead(sql: str, segment: MutableSegment, valid: RowMask) -> list[list[float]]:
    """Milliseconds of a segment file over all rows and with the mask: asked for the first time; after some rows were
    hidden (over all rows nothing is kept then, either); again.
    """
    plan = plan_query(sql, SCHEMA)
    rows, random = segment.snapshot().table_of(plan.columns).combine_chunks(), np.random.default_rng(0)

    def ask(mask: RowMask | None, totals: Totals) -> object:
        return execute_partial(plan, [SegmentRows("s", "h", rows, len(valid), valid=mask, totals=totals)])

    known, masked = Totals(), Totals()
    holder, changed = Holder(0, "s", 0, lambda _: rows), list[RowMask]()
    holder.grow(len(valid))
    holder.show(np.arange(len(valid)), valid.flags)
    ask(None, known)
    ask(holder.mask(), masked)
    for _ in range(TIMES):
        holder.hide(random.integers(0, len(valid), CHANGED, np.int32))
        changed.append(holder.mask())
    masks = iter(changed)
    ways = [
        [lambda: ask(None, Totals()), lambda: ask(RowMask(valid.flags), Totals())],
        [lambda: ask(None, Totals()), lambda: ask(next(masks), masked)],
        [lambda: ask(None, known), lambda: ask(changed[-1], masked)],
    ]
    return [[1000 * s for s in seconds(way, TIMES)] for way in ways]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--queries", action="store_true")
    parser.add_argument("--http", action="store_true")
    given = parser.parse_args()
    if given.http:
        over_http.run(given.keys)
        return
    keys = given.keys
    print(f"rows per second (at least {GOAL_ROWS:,}) and bytes per key, masks included (at most {GOAL_BYTES})")
    found = {}
    for kind, (rules, schema) in list(KINDS.items())[: 1 if given.queries else None]:
        rate, size, found[kind] = ingest(rules, schema, keys)
        print(f"{kind:<60}{rate:>12,.0f}{size:>8.0f}", flush=True)
    segment = found["upsert"]
    for sql in QUERIES:
        every, masked = overhead(sql, segment, RowMask(np.arange(segment.rows) % 10 != 0))
        print(f"{sql[:58]:<60}{every:>8.1f} ms{masked:>8.1f} ms{masked / every:>7.2f} x   at most {GOAL_RATIO}")
    print(f"lone aggregations of a segment file: for the first time, after {CHANGED:,} rows were hidden, and again")
    for sql in LONE:
        ways = lone_overhead(sql, segment, RowMask(np.arange(segment.rows) % 10 != 0))
        for way, (every, masked) in zip(("first", "after changes", "again"), ways, strict=True):
            ratio = f"{masked / every:>7.2f} x   at most {GOAL_RATIO}"
            print(f"{sql + ', ' + way:<60}{every:>8.2f} ms{masked:>8.2f} ms{ratio}")


if __name__ == "__main__":
    main()
