"""A standalone Spark cluster on loopback for tests: a master and two workers of one core each, from PySpark's jars."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from segments.processes.machine.java import find_java
from tests.real_parts import free_port
from tests.waiting import wait_until

_SPARK = Path(pyspark.__file__).parent
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR")


@contextmanager
def spark_cluster(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The master's address, when both workers are registered. Nothing of this repository is on their paths.
    ``environment``: of the executors, beside what they need to start.
    """
    given = dict(environment or {})
    port, log = free_port(), folder / "master.log"
    (folder / "spark-defaults.conf").write_text("spark.master.rest.enabled false\n")
    processes = [
        _start(folder, log, given, "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    ]
    master = f"spark://127.0.0.1:{port}"
    try:
        for number in range(2):
            processes.append(
                _start(
                    folder,
                    folder / f"worker{number}.log",
                    given,
                    "worker.Worker",
                    "--host",
                    "127.0.0.1",
                    "--cores",
                    "1",
                    "--memory",
                    "1500M",
                    "--webui-port",
                    "0",
                    "--work-dir",
                    str(folder / f"work{number}"),
                    master,
                )
            )
        wait_until(lambda: log.read_text().count("Registering worker") == 2, 240, "two workers", every_s=0.1)
        yield master
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)


def _start(folder: Path, log: Path, given: Mapping[str, str], kind: str, *arguments: str) -> subprocess.Popen[bytes]:
    java = find_java(os.environ)
    environment = dict(given) | {k: os.environ[k] for k in _ENVIRONMENT if k in os.environ} | {
        "JAVA_HOME": str(java.home), "SPARK_HOME": str(_SPARK), "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m", "SPARK_CONF_DIR": str(folder),
    }  # fmt: skip
    command = [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    with log.open("wb") as out:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)
