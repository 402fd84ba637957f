"""A file that the deep store has lost, in a real browser: found by the pass, shown with the steps that mend it, mended
for a reason, and closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.realtime_table import RedisFeed, Table
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.browser


@pytest.fixture
def table(installation: Installation, client: Client) -> Iterator[Table]:
    """Of one partition; its first segment has ended."""
    made = Table(client, RedisFeed(installation.endpoints["redis"]), "unfiled", 1).create(rows=100, replication=2)
    made.send(0, 150)
    made.wait_rows(150, 60)
    yield made
    made.drop()
    client.call("DELETE", f"/schemas/{made.name}")


def test_a_file_that_the_deep_store_lost_is_uploaded_again_by_fix_it(
    page: Page, installation: Installation, client: Client, table: Table
) -> None:
    typed = f"{table.name}_REALTIME"
    rows = client.call("GET", f"/tables/{table.name}/idealstate").json()["REALTIME"]
    [segment] = [name for name in rows if name.split("__")[2] == "0"]
    poll(lambda: table.status(segment) == "DONE" and table.online(segment), 30, "the commit")
    file = Path(installation.folder) / "deepstore" / table.name / segment
    file.unlink()
    asked = {"taskname": "SegmentStatusChecker", "tableName": table.name, "type": "REALTIME"}
    client.call("GET", "/periodictask/run", params=asked)

    def is_listed() -> bool:
        page.goto(f"/console/findings/?table={typed}")
        return page.get_by_role("link", name="Fix it…").count() == 1

    poll(is_listed, 30, "the finding")
    page.get_by_role("link", name="Fix it…").click()
    expect(page.get_by_text(f"The deep store has no file of segment {segment}")).to_be_visible()
    expect(page.get_by_text("to upload the segment.")).to_be_visible()
    assert not file.exists(), "a dry run writes nothing"
    page.get_by_label("Reason").fill("the bucket was cleaned up by mistake")
    page.get_by_role("button", name="Fix it", exact=True).click()
    expect(page.get_by_text(f"Segment {segment} is in the deep store now.")).to_be_visible()
    assert file.exists()
    poll(lambda: not is_listed(), 30, "the finding to close")
