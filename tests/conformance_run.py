"""Runs a black-box conformance suite against a fresh cluster: ``python -m tests.conformance_run FOLDER [pytest options]``.

The suite lives outside of this repository; it finds the cluster through PINOT_* variables. The cluster's data is kept when it fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
#: Seconds until the fresh cluster must be healthy.
START_LIMIT_S = 180.0


def suite_environment(endpoints: dict[str, Any]) -> dict[str, str]:
    """What the suite reads, from the cluster's endpoints.json."""
    return {
        "PINOT_CONTROLLER": endpoints["controller"],
        "PINOT_BROKER": endpoints["broker"],
        "PINOT_ZK": endpoints["zookeeper"],
        "PINOT_CLUSTER": endpoints["cluster"],
        "PINOT_AUTH": endpoints["authorization"],
        "PINOT_DEEP_STORE": endpoints["deep_store"].removeprefix("file://"),
        "PINOT_STRICT": "1",
        "STREAM": os.environ.get("STREAM", "redis"),
        "REDIS_URL": endpoints["redis"],
    }


def wait_for_endpoints(path: Path, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Poll for endpoints.json; exits with a message when ``up`` ended or needs too long."""
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"'up' ended with status {process.returncode}; its output is {path.parent / 'up.log'}")
        if path.exists():
            return dict(json.loads(path.read_text()))
        time.sleep(0.1)
    sys.exit(f"The cluster was not healthy within {START_LIMIT_S:.0f} s; look at {path.parent / 'up.log'}")


def main(arguments: list[str]) -> int:
    """Start a cluster, run the suite, stop the cluster; pytest's exit status."""
    suite = Path(arguments[0]).resolve() if arguments else Path("conformance")
    if not suite.is_dir():
        sys.exit(f"There is no conformance suite in {suite}. Name its folder: make conformance CONFORMANCE=DIR")
    folder = Path(tempfile.mkdtemp(prefix="pinotadmin-conformance-"))
    with (folder / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--data-dir", str(folder), "--port", "0"], cwd=PROJECT, stdout=log, stderr=log
        )
    try:
        environment = {**os.environ, **suite_environment(wait_for_endpoints(folder / "endpoints.json", up))}
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        # An empty configuration: this project's own settings for pytest are not the suite's. The suite's folder may be read-only.
        (folder / "pytest.ini").write_text("[pytest]\n")
        options = ["-c", str(folder / "pytest.ini"), "--rootdir", str(suite), "-p", "no:cacheprovider", "-p", "no:django"]
        command = [sys.executable, "-B", "-m", "pytest", *options, *(arguments[1:] or [str(suite)])]
        status = subprocess.run(command, cwd=suite, env=environment, check=False).returncode
    finally:
        up.terminate()
        up.wait()
    if status == 0:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"The cluster's data and logs are kept in {folder}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
