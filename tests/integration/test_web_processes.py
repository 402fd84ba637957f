"""Several web processes behind one port: one that is killed or frozen costs no query but those it was answering."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@contextmanager
def asked(installation: Installation) -> Iterator[tuple[list[float], list[str]]]:
    """Seconds of queries that were answered right, and what was wrong with others: one after the other, each on a
    connection of its own, while the block runs.
    """
    took: list[float] = []
    wrong: list[str] = []
    is_over = threading.Event()
    found = installation.endpoints

    def ask() -> None:
        while not is_over.is_set():
            began = time.monotonic()
            try:
                answer = requests.post(
                    f"{found['broker']}/query/sql", json={"sql": "select count(*) from kept"}, timeout=20,
                    headers={"Authorization": found["authorization"], "Connection": "close"},
                ).json()  # fmt: skip
                rows = answer["resultTable"]["rows"] if not answer["exceptions"] else answer["exceptions"]
                wrong.extend([] if rows == [[10]] else [str(answer)[:500]])
            except (requests.RequestException, ValueError) as error:
                wrong.append(repr(error))
            took.append(time.monotonic() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took, wrong
    finally:
        is_over.set()
        thread.join()


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """With two web processes; ended whatever becomes of the test."""
    made = Installation(tmp_path / "data", "--web-processes", "2", settings={"PINOTADMIN_SILENCE_S": "8"})
    try:
        yield made.start()
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()


def test_a_web_process_that_is_killed_or_frozen_is_not_missed(installation: Installation) -> None:
    client = Client(installation.endpoints)
    client.create("kept")
    client.upload("kept", "a")
    client.online("kept", "a")
    tenants = client.call("GET", "/brokers/tables/kept?state=ONLINE").json()
    assert len(tenants) == 2
    poll(lambda: client.counts("kept") == {"a": 10}, 30, "queries answer")
    pids = installation.endpoints["pids"]

    def is_replaced(name: str) -> bool:
        if not (installation.folder / "endpoints.json").exists():
            return False
        return bool(installation.endpoints["pids"].get(name, pids[name]) != pids[name])

    with asked(installation) as (took, wrong):
        poll(lambda: len(took) >= 20, 30, "the first queries")
        os.kill(pids["web-2"], signal.SIGKILL)
        poll(lambda: is_replaced("web-2"), 60, "another process in its place")
        assert len(wrong) <= 1, wrong  # at most the one that it was answering
        os.kill(pids["web"], signal.SIGSTOP)
        poll(lambda: is_replaced("web"), 60, "another process in the place of the frozen one")
        count = len(took)
        poll(lambda: len(took) >= count + 20, 30, "queries afterwards")
    assert len(wrong) <= 2, wrong
    # But for what the two were answering: one that waited for the frozen process would have waited for its end.
    assert sorted(took)[-3] < 4.0
    assert installation.stop() == 0
