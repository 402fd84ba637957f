"""Builds segments of 5 million rows in 30 CSV files with Spark inside of the worker (``local[2]``) and on a standalone
cluster of two workers with one core each on the same machine: what the cluster costs more.

``python -m bench.scale.spark_cluster [--rows 5000000] [--files 30] [--rounds 3]``. Both build by turns, each with a
context that is warm, as a worker keeps it; what start and warming take is printed, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.ingestion.reading import _job, _write
from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.spark import session
from segments.spark.build_part import Built, Failed
from segments.spark.build_segments import SparkBuilder
from tests.spark_cluster import spark_cluster

LOCAL, AIM = "local[2]", 1.25


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    os.environ |= {"PINOTADMIN_SPARK_DRIVER_HOST": "127.0.0.1", "PINOTADMIN_SPARK_DRIVER_BIND_ADDRESS": "127.0.0.1"}
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        files = _write(folder / "input", given.rows, given.files)
        print(f"{given.rows:,} rows, {given.files} CSV files, {sum(f.size for f in files):,} bytes", flush=True)
        local = _measure(LOCAL, folder, files, given.rounds)
        (folder / "spark").mkdir()
        with spark_cluster(folder / "spark") as master:
            cluster = _measure(master, folder, files, given.rounds)
            session.forget()
    print(f"cluster against {LOCAL}: {cluster / local:.2f} x the time   aim {AIM} x")


def _measure(master: str, folder: Path, files: Sequence[InputFile], rounds: int) -> float:
    """The median of the rounds, seconds."""
    began = time.perf_counter()
    session.warm(master)
    print(f"{master.partition(':')[0]}: started and warm after {time.perf_counter() - began:.1f} s", flush=True)
    took = [_build(master, folder, files) for _ in range(rounds)]
    print("  " + ", ".join(f"{s:.1f} s" for s in took), flush=True)
    return statistics.median(took)


def _build(master: str, folder: Path, files: Sequence[InputFile]) -> float:
    built, failed = list[Built](), list[Failed]()
    parts = [Part(number, number, (Piece(file),)) for number, file in enumerate(files)]
    began = time.perf_counter()
    SparkBuilder(master).build(_job(folder), parts, built.extend, failed.extend)
    seconds = time.perf_counter() - began
    assert not failed, failed[0]
    rows = sum(part.rows for part in built)
    print(f"  {rows:,} rows in {seconds:.1f} s = {rows / seconds:,.0f} rows/s", flush=True)
    return seconds


if __name__ == "__main__":
    main()
