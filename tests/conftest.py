"""What every test has: attempts to sign in that are counted for it alone; and the browser, shared by all tests of a
file that drive it. What makes a run quick is in ``speed.py``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from playwright.sync_api import Browser

from segments.errors import Unavailable
from segments.gateways.attempt_counters import AttemptCounters
from segments.services.access import refusals
from tests import speed, strict_database
from tests.browser import chromium

strict_database.install()

#: How long one example takes is the machine's: what is too slow has a test of its own, which measures it.
hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files begin first."""
    items.sort(key=speed.place)


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the garbage collector need not walk through it again and
    again.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """What stays is taken down at the very end: DuckDB would list what of it is left."""
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def _quickly() -> Iterator[None]:
    with speed.cheap_passwords(), speed.static_files_listed_once():
        yield


@pytest.fixture(autouse=True)
def attempts(monkeypatch: pytest.MonkeyPatch) -> AttemptCounters:
    """Counters in memory, empty at first: tests neither share them nor need Redis. Refusals are counted from nothing,
    too, and people that a test makes are not put on record.
    """
    counters = AttemptCounters("")
    monkeypatch.setattr("segments.gateways.attempt_counters.shared", lambda url: counters)
    monkeypatch.setattr("segments.services.access.refusals._window", refusals.Window())
    monkeypatch.setattr("segments.services.access.people_audit.outside", lambda: None)
    return counters


@pytest.fixture(autouse=True)
def _no_wait_for_a_mirror_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segments.console.mirror_wait.LONGEST_S", 0.0)


@pytest.fixture(autouse=True)
def _no_wait_for_a_zookeeper_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test gives no cluster to a page, the store of the settings is unavailable at once."""

    def refuse(hosts: str, *_: Any) -> None:
        raise Unavailable(f"ZooKeeper at {hosts} does not run in tests.", remedy="Give the test a cluster.")

    monkeypatch.setattr("segments.wiring.ensure_chroot", refuse)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any]]]:
    """Tasks that were handed to the workers: (name, arguments)."""
    sent: list[tuple[str, list[Any]]] = []
    monkeypatch.setattr(
        "segments.gateways.celery_queue.current_app.send_task", lambda name, args, **_: sent.append((name, args))
    )
    return sent


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's own Chromium, started for each file: as long as it is there, an event loop runs in this thread."""
    if not chromium.installed():
        pytest.skip(f"no Chromium is installed: looked for {', '.join(chromium.NAMES)}")
    with chromium.running() as started:
        yield started
