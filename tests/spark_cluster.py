"""A standalone Spark cluster on loopback for tests: a master and two workers of one core each, from PySpark's jars."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from segments.processes.machine.java import find_java
from tests.real_parts import free_port
from tests.waiting import wait_until

_SPARK = Path(pyspark.__file__).parent
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass
class SparkCluster:
    """``master`` is what SPARK_MASTER is set to. Nothing of this repository is on the paths of its processes.
    ``environment``: of the executors, beside what they need to start; ``addresses``: of the workers.
    """

    folder: Path
    environment: Mapping[str, str]
    addresses: Sequence[str] = ("127.0.0.1", "127.0.0.1")
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Master and workers; ``wait`` says when they know one another."""
        (self.folder / "spark-defaults.conf").write_text("spark.master.rest.enabled false\n")
        self.start_master()
        for number, address in enumerate(self.addresses):
            place = ("--host", address, "--work-dir", str(self.folder / f"work{number}"))
            size = ("--cores", "1", "--memory", "1500M", "--webui-port", "0")
            self._start(f"worker{number}", "worker.Worker", *place, *size, self.master)

    def wait(self) -> None:
        """Until both workers are registered."""
        log = self.folder / "master.log"
        wait_until(lambda: log.read_text().count("Registering worker") >= 2, 240, "two workers", every_s=0.1)

    def start_master(self) -> None:
        """At the same port as before."""
        self._start("master", "master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")

    def kill_master(self) -> None:
        """kill -9; it keeps nothing, so the next one knows no application."""
        self.processes["master"].kill()
        self.processes["master"].wait(20)

    def executors(self) -> list[int]:
        """Process ids of those that run."""
        found = []
        for name, process in self.processes.items():
            if name != "master" and process.poll() is None:
                lists = Path(f"/proc/{process.pid}/task").glob("*/children")
                children = {int(pid) for one in lists for pid in one.read_text().split()}
                found += [pid for pid in children if b"CoarseGrainedExecutorBackend" in _command(pid)]
        return sorted(found)

    def stop(self) -> None:
        """All of it."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(60)

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        java = find_java(os.environ)
        environment = dict(self.environment) | {k: os.environ[k] for k in _ENVIRONMENT if k in os.environ} | {
            "JAVA_HOME": str(java.home), "SPARK_HOME": str(_SPARK), "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m", "SPARK_CONF_DIR": str(self.folder),
        }  # fmt: skip
        command = [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
        with (self.folder / f"{name}.log").open("ab") as out:
            self.processes[name] = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=out, stderr=out)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended meanwhile
        return b""


@contextmanager
def spark_cluster(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The master's address, when both workers are registered."""
    cluster = SparkCluster(folder, environment or {})
    try:
        cluster.start()
        cluster.wait()
        yield cluster.master
    finally:
        cluster.stop()
