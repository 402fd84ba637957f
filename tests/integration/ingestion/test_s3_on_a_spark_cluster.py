"""An installation that builds on a standalone Spark cluster, with input, staging and deep store in S3: all scenes, and
an executor is killed while the retry reads.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.ingestion.test_killed_processes import Scenes
from tests.integration.ingestion.test_sessions import csv
from tests.integration.running import Client, Installation
from tests.integration.test_push import children
from tests.s3_server import S3Server, start_s3
from tests.spark_cluster import spark_cluster
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
def s3() -> Iterator[S3Server]:
    server = start_s3()
    for bucket in ("deep-store", "lake"):
        server.make_bucket(bucket)
    yield server
    server.stop()


class S3Scenes(Scenes):
    """Its folder is in a bucket."""

    def __init__(self, s3: S3Server, installation: Installation, client: Client, table: str) -> None:
        self.s3, self.root = s3, f"lake/in/{table}"
        fs = {"input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS"}
        super().__init__(installation, client, table, inputDirURI=f"s3://{self.root}", **fs)

    def put(self, name: str, rows: int, *, label: str = "", bad: bool = False) -> None:
        self.s3.put(f"{self.root}/{name}", csv(label or name, rows, bad=bad).encode())

    def delete(self, name: str) -> None:
        self.s3.files().delete_file(f"{self.root}/{name}")


def executors() -> list[int]:
    """Of the cluster that this process started."""
    found = {pid: (Path("/proc") / str(pid) / "cmdline").read_bytes() for pid in children(os.getpid())}
    return [pid for pid, command in found.items() if b"CoarseGrainedExecutorBackend" in command]


def test_all_scenes_on_a_cluster_and_s3_survive_a_killed_executor(tmp_path: Path, s3: S3Server) -> None:
    (tmp_path / "spark").mkdir()
    with spark_cluster(tmp_path / "spark", s3.settings) as master:
        settings = {
            **s3.settings,
            "DEEP_STORE_URL": "s3://deep-store/segments",
            "SPARK_MASTER": master,
            "PINOTADMIN_SPARK_DRIVER_HOST": "127.0.0.1",
            "PINOTADMIN_SPARK_DRIVER_BIND_ADDRESS": "127.0.0.1",
            "PINOTADMIN_SPARK_UI": "true",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        installation = Installation(tmp_path / "data", "--input-root", "s3://lake/in", settings=settings).start(240)
        try:
            client = Client(installation.endpoints)
            client.create("watched")
            folder = S3Scenes(s3, installation, client, "watched")
            session = folder.fail_and_change()
            assert folder.trigger()["sessionId"] == session
            address = f"{folder.address}/{session}"
            ui = poll(lambda: client.call("GET", address).json()["sparkUi"], 60, "Spark's own page is on record")
            assert str(ui).startswith("http://")
            os.kill(executors()[0], signal.SIGKILL)
            assert len(folder.staged(session)) < len(folder.new), "it was killed while files were read"
            folder.ends_whole(session)
            poll(lambda: not s3.files_below("deep-store/segments/Staging"), 20, "nothing stays staged")
            assert not any((installation.folder / "deepstore").rglob("*")), "nothing passes this machine's disk"
        finally:
            assert installation.stop() == 0
