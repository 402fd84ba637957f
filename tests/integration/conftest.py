"""One installation for all integration tests of a run; tests that break it start their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import chromium
from tests.integration.running import Client, Installation, administrator

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A healthy ``up`` with two servers; a client that sends heartbeats may be silent for two seconds."""
    folder: Path = tmp_path_factory.mktemp("installation") / "data"
    started = Installation(folder, settings={"PINOTADMIN_ENTRY_LEASE_S": "4"}).start()
    yield started
    assert started.stop() == 0, started.log.read_text()[-4000:]


#: The first test that found the shared installation not healthy; those after it need not wait a minute and a half each
#: for the same.
_unhealthy_before: list[str] = []


@pytest.fixture
def client(installation: Installation, request: pytest.FixtureRequest) -> Client:
    """The administrator's client."""
    assert not _unhealthy_before, f"The installation is not healthy since the test before {_unhealthy_before[0]}"
    try:
        installation.wait_healthy()
    except AssertionError:
        _unhealthy_before.append(request.node.nodeid)
        raise
    return Client(installation.endpoints)


@pytest.fixture
def table(client: Client) -> Iterator[str]:
    """An empty REFRESH table with two replicas; dropped afterwards."""
    name = f"it_{next(_numbers)}"
    client.create(name)
    yield name
    client.call("DELETE", f"/tables/{name}")
    client.call("DELETE", f"/schemas/{name}")


@pytest.fixture
def page(browser: Browser, installation: Installation) -> Iterator[Page]:
    """Logged in through the form as the administrator."""
    context = browser.new_context(
        base_url=installation.endpoints["controller"], viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(15_000)
    page = context.new_page()
    chromium.log_in(page, *administrator(installation.endpoints))
    yield page
    context.close()
