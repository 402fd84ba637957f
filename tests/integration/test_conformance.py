"""The black-box suite of a Pinot-shaped control plane, against this run's installation. It is not part of this
repository.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance_run import SUITE, needs_suite, run_suite
from tests.integration.running import Installation

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]
FILES = ["test_lineage.py", "test_tables.py", "test_storage.py", "test_upload_delete.py", "test_retention.py"]


@needs_suite
def test_the_conformance_suite_passes(installation: Installation, tmp_path: Path) -> None:
    done = run_suite(SUITE.resolve(), installation.endpoints, tmp_path, ["-q", "-x", *FILES], capture=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@needs_suite
def test_the_conformance_suite_of_realtime_tables_passes(installation: Installation, tmp_path: Path) -> None:
    """Pauseless commits and reingestion included; on the installation's Redis unless STREAM says otherwise."""
    done = run_suite(SUITE.resolve(), installation.endpoints, tmp_path, ["-q", "-x", "realtime"], capture=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
