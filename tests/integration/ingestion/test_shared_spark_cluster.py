"""Two workers on one Spark cluster: each has its share of the cores, and both go on after its master was lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from tests.integration.running import ROOT
from tests.spark_cluster import SparkCluster
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

#: Builds whenever it is told to, as a worker that is told to again while Spark is away.
_WORKER = """
import os, sys
from segments.spark.build_segments import SparkBuilder
from segments.spark.executors import SparkUnavailable

builder = SparkBuilder(os.environ["SPARK_MASTER"])
for _ in sys.stdin:
    while True:
        answers = []
        try:
            builder._run([1, 2, 3, 4], lambda item: {"item": item}, answers.extend)
        except SparkUnavailable as error:
            print("away:", error, flush=True)
        else:
            print("built", sorted({one["item"] for one in answers}), flush=True)
            break
"""


class Worker:
    """A process with a Spark context of its own."""

    def __init__(self, folder: Path, name: str, master: str) -> None:
        self.log = folder / f"{name}.log"
        settings = {
            "SPARK_MASTER": master, "SPARK_CONF_DIR": str(folder / "conf"), "SPARK_LOCAL_IP": "127.0.0.1",
            "PINOTADMIN_SPARK_DRIVER_HOST": "127.0.0.1", "PINOTADMIN_SPARK_DRIVER_BIND_ADDRESS": "127.0.0.1",
        }  # fmt: skip
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _WORKER], cwd=ROOT, env={**os.environ, **settings}, stdin=subprocess.PIPE,
                stdout=out, stderr=out,
            )  # fmt: skip

    def begin(self) -> None:
        pipe: IO[bytes] | None = self.process.stdin
        assert pipe is not None
        pipe.write(b"\n")
        pipe.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()

    def has_built(self, times: int) -> bool:
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        return self.log.read_text().count("built [1, 2, 3, 4]") == times


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    (tmp_path / "spark").mkdir()
    made = SparkCluster(tmp_path / "spark", {})
    try:
        made.start()
        made.wait()
        yield made
    finally:
        made.stop()


def test_two_workers_share_a_cluster_and_go_on_after_its_master_was_lost(tmp_path: Path, cluster: SparkCluster) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.cores.max 1\n")
    workers = [Worker(tmp_path, name, cluster.master) for name in ("a", "b")]
    try:
        _build(workers, 1)
        before = set(cluster.executors())
        assert len(before) == 2, "each worker keeps one"
        cluster.kill_master()
        cluster.start_master()
        # The new master knows no application, and has the workers of Spark end what they run.
        wait_until(lambda: not before & set(cluster.executors()), 120, "the executors of before are gone")
        _build(workers, 2)
    finally:
        for worker in workers:
            worker.end()


def _build(workers: list[Worker], times: int) -> None:
    for worker in workers:
        worker.begin()
    for worker in workers:
        wait_until(partial(worker.has_built, times), 240, f"built, see {worker.log}", every_s=0.1)
