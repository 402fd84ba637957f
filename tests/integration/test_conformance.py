"""The black-box suite of a Pinot-shaped control plane, against this run's installation. It is not part of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.integration.running import ROOT, Installation

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
SUITE = Path(os.environ.get("CONFORMANCE", ROOT.parent / "shared" / "conformance"))
FILES = ["test_lineage.py", "test_tables.py", "test_storage.py", "test_upload_delete.py", "test_retention.py"]


@pytest.mark.skipif(not SUITE.is_dir(), reason="the conformance suite is not here; name its folder with CONFORMANCE=DIR")
def test_the_conformance_suite_passes(installation: Installation) -> None:
    found = installation.endpoints
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "DJANGO"))},
        "PINOT_CONTROLLER": found["controller"], "PINOT_BROKER": found["broker"], "PINOT_ZK": found["zookeeper"],
        "PINOT_CLUSTER": found["cluster"], "PINOT_AUTH": found["authorization"], "PINOT_STRICT": "1",
        "PINOT_DEEP_STORE": urlsplit(found["deep_store"]).path,
    }  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:django",
        "-c",
        "/dev/null",
        "--rootdir",
        str(SUITE),
        *FILES,
    ]
    done = subprocess.run(
        command, cwd=SUITE, env={**environment, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, timeout=880
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
