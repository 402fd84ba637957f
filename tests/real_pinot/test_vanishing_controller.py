"""A real Pinot whose controller is killed in the middle of a replacement. Last of all: these take longest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import requests
from playwright.sync_api import Page

from tests.integration.running import Client
from tests.real_pinot.cluster import RealPinot
from tests.real_pinot.test_pinot_cluster import expect_on_page, new_table, shoot, state_of
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(600)]


@pytest.fixture
def _controller_comes_back(pinot: RealPinot) -> Iterator[None]:
    yield
    if "controller" not in pinot.processes:
        pinot.restart("controller")


@pytest.mark.usefixtures("_controller_comes_back")
def test_a_controller_killed_in_a_replacement_is_reported_and_nothing_is_half_done(
    real: Client, page: Page, pinot: RealPinot
) -> None:
    table = new_table(real)
    entry = real.start(table, ["a1", "a2"], ["b1", "b2"])
    real.upload(table, "b1", "b2", rows=7)
    real.online(table, "b1", "b2")  # or the servers could not load them, and say ERROR
    pinot.kill("controller")
    query = {"type": "OFFLINE", "segmentLineageEntryId": entry}
    down = real.call("POST", f"/segments/{table}/endReplaceSegments", 503, params=query, timeout=120)
    assert "does not answer" in down.json()["error"]
    assert real.counts(table) == {"a1": 10, "a2": 10}  # the broker answers on
    expect_on_page(page, "/console/c/real/", r"(?i)down since")
    shoot(page, "pinot-down")
    expect_on_page(page, f"/console/c/real/tables/{table}_OFFLINE/lineage/", "IN_PROGRESS|(?i:in progress)")
    pinot.restart("controller")
    poll(lambda: state_of(real, table, entry) == "IN_PROGRESS", 120, "the entry is read again, as it was")
    real.end(table, entry)
    assert real.counts(table) == {"b1": 7, "b2": 7}


@pytest.mark.usefixtures("_controller_comes_back")
@pytest.mark.parametrize("act", ["end", "revert"])
def test_a_controller_killed_while_it_switches_leaves_one_snapshot_and_a_record(
    real: Client, pinot: RealPinot, act: str
) -> None:
    """Whichever moment the kill met: queries see one whole side, the answer is not a success unless it is, and asking
    again finishes it.
    """
    table = new_table(real)
    entry = real.start(table, ["a1", "a2"], ["b1", "b2"])
    real.upload(table, "b1", "b2", rows=7)
    real.online(table, "b1", "b2")
    old, new = {"a1": 10, "a2": 10}, {"b1": 7, "b2": 7}
    if act == "revert":
        real.end(table, entry)
        old, new = new, old
    path, query = f"/segments/{table}/{act}ReplaceSegments", {"type": "OFFLINE", "segmentLineageEntryId": entry}
    answers: list[requests.Response] = []

    def ask() -> None:
        with suppress(requests.Timeout):
            answers.append(real.http.post(real.base + path, params=query, timeout=120))

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.03)  # somewhere in the middle of it, by chance
    pinot.kill("controller")
    asking.join(150)
    assert answers, "the call ended"
    said = answers[0]
    assert said.status_code == 200 or (said.status_code >= 400 and said.json()["error"]), said.text
    assert real.counts(table) in (old, new)
    pinot.restart("controller")
    wanted = "COMPLETED" if act == "end" else "REVERTED"
    poll(lambda: state_of(real, table, entry) in (wanted, "IN_PROGRESS", "COMPLETED"), 120, "the lineage is read again")
    # What is over is requested again, too: Pinot may have ended before it notified its brokers. A second revert is
    # refused, but notifies them.
    is_over = state_of(real, table, entry) == wanted
    real.call("POST", path, 409 if act == "revert" and is_over else 200, params=query, timeout=120)
    poll(lambda: real.counts(table) == new, 60, "every query sees the wanted side")
    events = real.call("GET", "/api/v1/audit").json()["events"]
    assert any(e["target"] == f"{table}_OFFLINE" and e["action"] == f"{act}ReplaceSegments" for e in events)
