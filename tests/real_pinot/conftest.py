"""Skips these tests with the reason unless they are asked for: they start four JVMs and need Pinot's jars."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.real_pinot.cluster import RealPinot, jar_folder, running


@pytest.fixture(scope="session")
def pinot() -> Iterator[RealPinot]:
    """One real Pinot for all tests of this folder."""
    if os.environ.get("REAL_PINOT") != "1":
        pytest.skip("starts a real Apache Pinot: run `make test-real`, or set REAL_PINOT=1")
    assert list(jar_folder().glob("pinot-tools-*.jar")), f"Pinot's jars are not in {jar_folder()}; `make test-real` fetches them"
    with running() as cluster:
        yield cluster
