"""The black-box suite of a Pinot-shaped control plane, against this run's installation. It is not part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance_run import run_suite
from tests.integration.running import ROOT, Installation

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
SUITE = Path(os.environ.get("CONFORMANCE", ROOT.parent / "shared" / "conformance"))
FILES = ["test_lineage.py", "test_tables.py", "test_storage.py", "test_upload_delete.py", "test_retention.py"]


@pytest.mark.skipif(not SUITE.is_dir(), reason="the conformance suite is not here; name its folder with CONFORMANCE=DIR")
def test_the_conformance_suite_passes(installation: Installation, tmp_path: Path) -> None:
    done = run_suite(SUITE.resolve(), installation.endpoints, tmp_path, ["-q", "-x", *FILES], capture=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
