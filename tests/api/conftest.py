"""Fixtures of the API tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.cluster import ApiCluster, served


@pytest.fixture
def cluster(tmp_path: Path, db: None, settings: Any) -> Iterator[ApiCluster]:
    """A fresh cluster in memory, reached over the API's addresses."""
    settings.ROOT_URLCONF = "segments.api.urls"
    with served(tmp_path) as made:
        yield made
