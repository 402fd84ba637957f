"""Realtime ingestion in a real browser: pause with a reason, see it held after a server restart, change the topic,
resume, see rows arrive; the same from Django's admin.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.realtime_table import RedisFeed, Table, message
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.browser

REASON = "the producer sends rubbish"
_numbers = itertools.count(1)


@pytest.fixture
def stream(installation: Installation, client: Client) -> Iterator[Table]:
    """A realtime table with two partitions and two replicas, and 40 rows in it."""
    made = Table(client, RedisFeed(installation.endpoints["redis"]), f"live_{next(_numbers)}", 2).create(
        rows=100_000, replication=2
    )
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
    poll(
        lambda: page.goto(consumption) and page.get_by_role("link", name="Pause…").first.is_visible(),
        20,
        "the consumption page",
    )
    expect(page.get_by_text("consuming", exact=True).first).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="Pause…").first.click()
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("Paused by admin.")).to_be_visible()
    expect(page.get_by_text(REASON).first).to_be_visible()
    expect(page.get_by_text("Nothing is consuming; new rows wait in the stream.")).to_be_visible(timeout=20_000)
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


def test_a_paused_table_goes_over_to_another_topic_and_is_paused_and_resumed_in_the_admin(
    page: Page, client: Client, stream: Table
) -> None:
    typed = f"{stream.name}_REALTIME"
    consumption = f"/console/tables/{typed}/consumption/"
    poll(
        lambda: page.goto(consumption) and page.get_by_role("link", name="Pause…").first.is_visible(),
        20,
        "the consumption page",
    )
    confirm(page, "Pause…", "Pause", "another topic is to be read")
    expect(page.get_by_text("Nothing is consuming; new rows wait in the stream.")).to_be_visible(timeout=20_000)
    expect(page.locator("#table-tags")).to_contain_text("paused")
    read_another_topic(client, stream, 25)
    page.get_by_role("link", name="Resume…").first.click()
    expect(page.get_by_text("and reads another stream now: choose where to begin there.")).to_be_visible()
    shot(page, "resume-in-another-topic")
    page.get_by_label("at the oldest message").check()
    page.get_by_label("Reason").fill("the other topic is there")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("consumes again")).to_be_visible()
    expect(page.locator("#table-tags")).not_to_contain_text("paused")
    stream.wait_rows(40 + 25, 30)
    page.get_by_role("link", name="Overview").click()
    expect(page.locator("#facts")).to_contain_text("Rows visible65", timeout=20_000)
    shot(page, "rows-visible")

    page.goto("/admin/segments/table/?q=" + stream.name)
    for button, words in (("Pause", f"{typed} is paused"), ("Resume", f"{typed} consumes again.")):
        page.get_by_role("row").filter(has_text=typed).locator("[x-on\\:click]").last.click()
        confirm(page, f"{button}…", button, "a test of the admin")
        expect(page.get_by_text(words)).to_be_visible()
        shot(page, f"admin-{button.lower()}d")
        poll(lambda wanted=button: bool(stream.consuming()) is (wanted == "Resume"), 30, f"{button} is through")
    stream.feed.send(f"{stream.name}_b", 0, (message(0, n, 1_700_000_000_000) for n in range(500, 510)))
    stream.wait_rows(40 + 25 + 10, 30)


def confirm(page: Page, link: str, button: str, reason: str) -> None:
    """From a page's button through the page that asks for a reason."""
    page.get_by_role("link", name=link).first.click()
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name=button, exact=True).click()


def read_another_topic(client: Client, stream: Table, rows: int) -> None:
    """So many rows are in another topic, which the table's config names from now on."""
    other = f"{stream.name}_b"
    stream.feed.create(other, 2)
    stream.feed.send(other, 0, (message(0, n, 1_700_000_000_000) for n in range(100, 100 + rows)))
    body = client.call("GET", f"/tables/{stream.name}").json()["REALTIME"]
    maps = body["ingestionConfig"]["streamIngestionConfig"]["streamConfigMaps"]
    maps[0] = {**maps[0], **stream.feed.config(other)}
    client.call("PUT", f"/tables/{stream.name}", json=body)


def shot(page: Page, name: str) -> None:
    """A picture for a person, where one is requested."""
    if folder := os.environ.get("JOURNEY_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def restart_a_server(installation: Installation) -> None:
    """Stop and start the first server; returns when it is there again."""
    name = installation.endpoints["servers"][0]["instance"]
    for word in ("stop", "start"):
        done = installation.manage("server", word, name)
        assert done.returncode == 0, done.stderr
    installation.wait_healthy(60)
    poll(lambda: all(s["pid"] for s in installation.endpoints["servers"]), 60, "both servers again")
