"""A segment that is gone everywhere, in a real browser: seen as broken, read again from the console and from Django's
admin, its rows back once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bench.realtime_table import RedisFeed, Table
from tests.chaos.lost_segment import lose
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.browser
_numbers = itertools.count(1)
SQL = "select count(*), distinctcount(id) from {}"


@pytest.fixture
def stream(installation: Installation, client: Client) -> Iterator[Table]:
    """A table of one partition with three segments of 100 rows on two servers."""
    made = Table(client, RedisFeed(installation.endpoints["redis"]), f"lost_{next(_numbers)}", 1).create(
        rows=100, replication=2, peerSegmentDownloadScheme="http"
    )
    made.send(0, 250)
    made.wait_rows(250, 60)
    poll(lambda: all(made.status(s) == "DONE" for s in segments_of(made)[:2]), 30, "two commits")
    yield made
    made.drop()
    client.call("DELETE", f"/schemas/{made.name}")


def segments_of(table: Table) -> list[str]:
    """By sequence."""
    found = table.client.call("GET", f"/tables/{table.name}/idealstate").json()["REALTIME"]
    return sorted(found, key=lambda s: int(s.split("__")[2]))


def visible(table: Table) -> list[int]:
    """Rows, and different ids, as a query sees them; nothing while a segment cannot be read."""
    body = table.client.call("POST", "/query/sql", json={"sql": SQL.format(table.name)}).json()
    return [] if body["exceptions"] else [int(value) for value in body["resultTable"]["rows"][0]]


def shows_what_to_do(page: Page, stream: Table, segment: str) -> None:
    """The finding about the lost segment leads to a dry run of its reingestion."""
    typed = f"{stream.name}_REALTIME"
    asked = {"taskname": "SegmentStatusChecker", "tableName": stream.name, "type": "REALTIME"}
    stream.client.call("GET", "/periodictask/run", params=asked)

    def is_found() -> bool:
        page.goto(f"/console/findings/?table={typed}")
        return page.get_by_text(f"No server serves segment {segment}").count() > 0

    poll(is_found, 30, "the finding")
    page.get_by_role("link", name="Fix it…").first.click()
    expect(page.get_by_text("Has a live server read the rows")).to_be_visible()
    expect(page.get_by_text("segment.realtime.status DONE -> COMMITTING")).to_be_visible()


def test_a_segment_that_is_gone_everywhere_is_reingested_from_the_console_and_from_the_admin(
    page: Page, installation: Installation, stream: Table
) -> None:
    typed = f"{stream.name}_REALTIME"
    first, second = segments_of(stream)[:2]
    lose(installation, typed, first)
    answer = stream.client.call("POST", "/query/sql", json={"sql": SQL.format(stream.name)}).text
    assert first in answer, "a query says which segment it could not read"

    shows_what_to_do(page, stream, first)

    page.goto(f"/console/tables/{typed}/consumption/")
    broken = page.locator("#broken-segments")
    expect(broken.get_by_text(first)).to_be_visible(timeout=20_000)
    broken.get_by_role("link", name="Reingest…").click()
    expect(page.get_by_text("exactly these offsets")).to_be_visible()
    expect(page.get_by_role("cell", name="100", exact=True)).to_be_visible()
    page.get_by_label("Reason").fill("the disks are gone")
    page.get_by_role("button", name="Reingest", exact=True).click()
    expect(page.get_by_text("1 segment is being read from the stream again by")).to_be_visible()
    expect(broken.get_by_text("100 rows")).to_be_visible(timeout=20_000)
    poll(lambda: visible(stream) == [250, 250], 20, "the rows, once")
    expect(broken.get_by_text("on its servers, or being loaded")).to_be_visible(timeout=20_000)

    lose(installation, typed, second)
    assert visible(stream) == []

    def is_listed() -> bool:
        page.goto("/admin/segments/segment/?broken=yes")
        return page.get_by_role("row").filter(has_text=second).count() == 1

    poll(is_listed, 30, "the mirror to show it")
    row = page.get_by_role("row").filter(has_text=second)
    row.locator("[x-on\\:click]").last.click()
    page.get_by_role("link", name="Reingest…").click()
    expect(page.get_by_role("cell", name="100", exact=True)).to_be_visible()
    page.get_by_label("Reason").fill("again")
    page.get_by_role("button", name="Reingest", exact=True).click()
    expect(page.get_by_text("1 segment is being read from the stream again by")).to_be_visible()
    poll(lambda: visible(stream) == [250, 250], 20, "the rows, once")
