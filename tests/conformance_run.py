"""Runs a black-box conformance suite against a cluster: ``python -m tests.conformance_run FOLDER [pytest options]``
starts a fresh one.

The suite lives outside of this repository; it finds the cluster through PINOT_* variables. STREAM=kafka starts a real
Kafka as well, unless KAFKA_BOOTSTRAP names one. The cluster's data is kept when it fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import ROOT, Installation
from tests.streams import kafka_broker

#: Where the suite is expected, beside this repository unless CONFORMANCE says otherwise.
SUITE = Path(os.environ.get("CONFORMANCE", ROOT.parent / "shared" / "conformance"))
#: For tests that run a part of it.
needs_suite = pytest.mark.skipif(
    not SUITE.is_dir(), reason=f"the conformance suite is not in {SUITE}; name its folder with CONFORMANCE=DIR"
)
#: What Pinot 0.11.0 does not have is left out: the states of a pauseless commit, and reingestion. For pytest's ``-k``.
WITHOUT_PAUSELESS = "not pauseless and not reingest"


def suite_environment(endpoints: dict[str, Any], *, is_strict: bool = True) -> dict[str, str]:
    """What the suite reads, from the cluster's endpoints.json; this run's own pytest and Django variables stay out.

    A strict target is this project: refusals are 4xx with a reason, by the newest rules.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DJANGO_"))}
    return {
        **inherited,
        "PINOT_CONTROLLER": endpoints["controller"],
        "PINOT_BROKER": endpoints["broker"],
        "PINOT_ZK": endpoints["zookeeper"],
        "PINOT_ZK_AUTH": endpoints.get("zookeeper_auth", ""),
        "PINOT_CLUSTER": endpoints["cluster"],
        "PINOT_AUTH": endpoints["authorization"],
        "PINOT_DEEP_STORE": endpoints["deep_store"].removeprefix("file://"),
        "PINOT_STRICT": "1" if is_strict else "0",
        "STREAM": os.environ.get("STREAM", "redis"),
        "REDIS_URL": endpoints["redis"],
    }


def run_suite(
    suite: Path,
    endpoints: dict[str, Any],
    folder: Path,
    arguments: Sequence[str],
    *,
    is_strict: bool = True,
    capture: bool = False,
    more: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the suite in its own folder, which may be read-only; ``folder`` takes an empty configuration, so that ours
    does not count.

    ``more`` is put into its environment.
    """
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = ["-c", str(folder / "pytest.ini"), "--rootdir", str(suite), "-p", "no:cacheprovider", "-p", "no:django"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *(arguments or [str(suite)])]
    environment = {**suite_environment(endpoints, is_strict=is_strict), **(more or {})}
    return subprocess.run(command, cwd=suite, env=environment, check=False, capture_output=capture, text=True)


@contextmanager
def stream_beside() -> Iterator[None]:
    """A Kafka for the suite when STREAM=kafka and there is none yet; its address is put into the environment."""
    if os.environ.get("STREAM") != "kafka" or os.environ.get("KAFKA_BOOTSTRAP"):
        yield
        return
    with kafka_broker.running() as broker:
        os.environ["KAFKA_BOOTSTRAP"] = broker.bootstrap
        try:
            yield
        finally:
            del os.environ["KAFKA_BOOTSTRAP"]


def main(arguments: list[str]) -> int:
    """Start a cluster, run the suite, stop the cluster; pytest's exit status."""
    suite = Path(arguments[0]).resolve() if arguments else Path("conformance")
    if not suite.is_dir():
        sys.exit(f"There is no conformance suite in {suite}. Name its folder: make conformance CONFORMANCE=DIR")
    folder = Path(tempfile.mkdtemp(prefix="pinotadmin-conformance-"))
    with stream_beside():
        installation = Installation(folder / "data").start(180)
        try:
            status = run_suite(suite, installation.endpoints, folder, arguments[1:]).returncode
        finally:
            installation.stop()
    if status == 0:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"The cluster's data and logs are kept in {folder}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
