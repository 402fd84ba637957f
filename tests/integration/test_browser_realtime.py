"""Realtime ingestion in a real browser: pause with a reason, see it held after a server restart, resume, see rows arrive."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bench.realtime_table import RedisFeed, Table
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.browser

REASON = "the producer sends rubbish"
_numbers = itertools.count(1)


@pytest.fixture
def stream(installation: Installation, client: Client) -> Iterator[Table]:
    """A realtime table with two partitions and two replicas, and 40 rows in it."""
    made = Table(client, RedisFeed(installation.endpoints["redis"]), f"live_{next(_numbers)}", 2).create(rows=100_000, replication=2)
    made.send(0, 20)
    made.send(1, 20)
    made.wait_rows(40, 60)
    yield made
    made.drop()
    client.call("DELETE", f"/schemas/{made.name}")


def test_a_pause_with_a_reason_holds_over_a_server_restart_until_somebody_resumes(
    page: Page, installation: Installation, client: Client, stream: Table
) -> None:
    consumption = f"/console/tables/{stream.name}_REALTIME/consumption/"
    poll(lambda: page.goto(consumption) and page.get_by_role("link", name="Pause…").first.is_visible(), 20, "the consumption page")
    expect(page.get_by_text("consuming", exact=True).first).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="Pause…").first.click()
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("Paused by admin.")).to_be_visible()
    expect(page.get_by_text(REASON).first).to_be_visible()
    expect(page.get_by_text("Nothing consumes; new rows wait in the stream.")).to_be_visible(timeout=20_000)
    stream.send(0, 30)
    restart_a_server(installation)
    page.goto(consumption)
    expect(page.get_by_text("Paused by admin.")).to_be_visible()
    assert stream.consuming() == []
    poll(lambda: stream.rows() == 40, 20, "only the rows from before the pause")
    page.get_by_role("link", name="Resume…").first.click()
    expect(page.get_by_role("columnheader", name="Stopped at")).to_be_visible()
    page.get_by_label("Reason").fill("mended")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("consumes again")).to_be_visible()
    stream.wait_rows(70, 30)
    assert poll(stream.whole, 20, "every row once")
    page.get_by_role("link", name="Audit", exact=True).first.click()
    expect(page.get_by_text(REASON).first).to_be_visible()
    page.goto("/console/query/")
    page.get_by_label("SQL").fill(f"select count(*) from {stream.name}")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_contain_text("70")


def restart_a_server(installation: Installation) -> None:
    """Stop and start the first server; returns when it is there again."""
    name = installation.endpoints["servers"][0]["instance"]
    for word in ("stop", "start"):
        done = installation.manage("server", word, name)
        assert done.returncode == 0, done.stderr
    installation.wait_healthy(60)
    poll(lambda: all(s["pid"] for s in installation.endpoints["servers"]), 60, "both servers again")
