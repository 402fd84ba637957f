"""One installation for all integration tests of a run; tests that break it start their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.running import Client, Installation

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A healthy ``up`` with two servers."""
    folder: Path = tmp_path_factory.mktemp("installation") / "data"
    started = Installation(folder).start()
    yield started
    assert started.stop() == 0, started.log.read_text()[-4000:]


@pytest.fixture
def client(installation: Installation) -> Client:
    """The administrator's client."""
    installation.wait_healthy()
    return Client(installation.endpoints)


@pytest.fixture
def table(client: Client) -> Iterator[str]:
    """An empty REFRESH table with two replicas; dropped afterwards."""
    name = f"it_{next(_numbers)}"
    client.create(name)
    yield name
    client.call("DELETE", f"/tables/{name}")
    client.call("DELETE", f"/schemas/{name}")
