"""What reading input files costs: CSV files to built segments, one large file against many, memory of a worker.

Usage: ``python -m bench.ingestion.reading [--rows 1000000] [--files 30] [--mb 128] [--workers 2]``; the full size is
``--rows 10000000 --mb 2048``. Parts are built by processes as Spark's executors build them; seconds of the processor
and the largest resident size of a part's process are printed with the time that passed.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from pyspark import cloudpickle

from segments.domain.push.parts_by_size import MOST_FILES_OF_PART, USUAL_BYTES, files_to_cut, parts_by_size
from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.domain.push.reader_spec import ReaderSpec, from_json
from segments.domain.segments.segment_names import make_rule
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.build_part import BuildJob, try_build_part
from segments.spark.reading.cuts import Answer, Item, find_cuts

_READER = ReaderSpec("csv").to_json()
_SCHEMA = {
    "schemaName": "bench",
    "dimensionFieldSpecs": [
        {"name": "city", "dataType": "STRING"},
        {"name": "carrier", "dataType": "STRING"},
        {"name": "delay", "dataType": "INT"},
    ],
    "metricFieldSpecs": [{"name": "distance", "dataType": "DOUBLE"}, {"name": "id", "dataType": "LONG"}],
}


@dataclass(frozen=True)
class Cost:
    """``seconds`` that passed, ``cpu`` seconds, ``rows``, ``parts``, and the largest resident size of a part in MB."""

    seconds: float
    cpu: float
    rows: int
    parts: int
    peak_mb: int

    def __str__(self) -> str:
        rate, per_million = self.rows / self.seconds, self.cpu / self.rows * 1e6
        return (
            f"{self.rows:,} rows, {self.parts} parts: {self.seconds:.1f} s = {rate:,.0f} rows/s; {self.cpu:.1f} CPU-s"
            f" ({per_million:.2f} a million rows); a worker at most {self.peak_mb} MB"
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--mb", type=int, default=128)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        files = _write(folder / "many", given.rows, given.files)
        print(f"{given.files} CSV files: {_build(folder, files, given.workers)}")
        rows = int(given.mb * (1 << 20) / (sum(f.size for f in files) / given.rows))
        target = max(min(USUAL_BYTES, (given.mb << 20) // 16), 1 << 20)
        one = _build(folder, _write(folder / "one", rows, 1), given.workers, target)
        print(f"one CSV file of {given.mb} MB: {one}")
        several = _write(folder / "several", rows, 32)
        for what, most_files in (("each a segment, as in a session", 1), ("sharing segments", MOST_FILES_OF_PART)):
            many = _build(folder, several, given.workers, target, most_files)
            print(f"32 CSV files of {given.mb / 32:.0f} MB, {what}: {many}")
            print(f"one against 32: {one.seconds / many.seconds:.2f} x the time, {one.cpu / many.cpu:.2f} x the CPU")


def _write(folder: Path, rows: int, files: int) -> list[InputFile]:
    folder.mkdir()
    rng = np.random.default_rng(1)
    cities = np.array([f"city {i}" for i in range(5000)])
    step = 500_000
    for number in range(files):
        count = rows * (number + 1) // files - rows * number // files
        with pacsv.CSVWriter(str(folder / f"{number:03d}.csv"), _table(rng, cities, 0).schema) as out:
            for at in range(0, count, step):
                out.write_table(_table(rng, cities, min(step, count - at)))
    return [ANYWHERE.stat(str(p)) for p in sorted(folder.iterdir())]


def _table(rng: Any, cities: Any, rows: int) -> pa.Table:
    return pa.table(
        {
            "city": cities[rng.integers(0, len(cities), rows)],
            "carrier": np.array(["AA", "UA", "DL", "WN"])[rng.integers(0, 4, rows)],
            "delay": rng.integers(-60, 600, rows, np.int32),
            "distance": np.round(rng.random(rows) * 3000, 1),
            "id": rng.integers(0, 1 << 40, rows),
        }
    )


def _build(
    folder: Path,
    files: Sequence[InputFile],
    workers: int,
    target: int = USUAL_BYTES,
    most_files: int = MOST_FILES_OF_PART,
) -> Cost:
    job = _job(folder)
    with _processes(workers) as pool:
        began = time.monotonic()
        large = files_to_cut(files, "csv", target)
        cuts, examined = _cuts(pool, large, target)
        parts = parts_by_size(files, "csv", target, cuts=cuts, most_files=most_files)
        if len(parts) < 2 * workers:
            parts = parts_by_size(files, "csv", sum(f.size for f in files) // (2 * workers), cuts=cuts)
        found = list(pool.map(_one, [(job, part) for part in parts]))
        seconds = time.monotonic() - began
    assert all("failed" not in answer for answer, _, _ in found), found[0]
    cpu = examined + sum(spent for _, spent, _ in found)
    return Cost(seconds, cpu, sum(a["rows"] for a, _, _ in found), len(parts), max(peak for _, _, peak in found))


def _cuts(pool: ProcessPoolExecutor, files: Sequence[InputFile], target: int) -> tuple[dict[str, list[Piece]], float]:
    """Where these files may be cut, and seconds of the processor: windows are examined next to one another, as Spark's
    tasks do.
    """
    spent = list[float]()

    def run(items: Sequence[Item], work: Callable[[Item], Answer]) -> list[Answer]:
        task = cloudpickle.dumps(work)
        found = list(pool.map(_examined, [(task, item) for item in items]))
        spent.extend(seconds for _, seconds in found)
        return [answer for answer, _ in found]

    return find_cuts(files, from_json(_READER), target, {}, run), sum(spent)


def _examined(given: tuple[bytes, Item]) -> tuple[Answer, float]:
    """The answer of a task that travelled, and seconds of the processor."""
    before = time.process_time()
    answer: Answer = cloudpickle.loads(given[0])(given[1])
    return answer, time.process_time() - before


def _one(item: tuple[BuildJob, Part]) -> tuple[dict[str, Any], float, int]:
    """(the answer, seconds of the processor, the process's largest resident size so far in MB)."""
    before = time.process_time()
    answer = try_build_part(item[0], item[1].to_json())
    return answer, time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        list(pool.map(abs, range(workers)))
        yield pool


def _job(folder: Path) -> BuildJob:
    rule = make_rule(None, "bench_OFFLINE", {}, start_ms=None, is_append=True, frequency=None, has_time=False)
    return BuildJob(
        push_id="bench",
        deep_store_url=f"file://{folder}/store",
        schema=_SCHEMA,
        config={"tableName": "bench", "tableType": "OFFLINE", "segmentsConfig": {}},
        reader=_READER,
        names=rule.to_json(),
        creation_ms=1_700_000_000_000,
        file_error_rate=0.0,
    )


if __name__ == "__main__":
    main()
