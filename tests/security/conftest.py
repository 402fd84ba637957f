"""The installation as an attacker meets it: all addresses, in memory, with a cluster of one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.cluster import ApiCluster, served


@pytest.fixture
def cluster(tmp_path: Path, db: None) -> Iterator[ApiCluster]:
    """A fresh cluster in memory behind all addresses of the installation."""
    with served(tmp_path) as made:
        yield made
