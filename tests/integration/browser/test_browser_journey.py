"""The main job in a real browser against a real installation: see a push, roll it back, see other rows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.integration.browser.pushing import push
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.browser

REASON = "the second file was cut off"
OLD, NEW = 30, 70


def test_a_pushed_snapshot_is_seen_rolled_back_and_gone(
    page: Page, installation: Installation, client: Client, table: str
) -> None:
    push(installation, client, table, "old", OLD)
    follow_to_its_end(page, push(installation, client, table, "new", NEW, wait=False))
    page.get_by_role("link", name="Tables", exact=True).click()
    expect_rows(page, table, NEW)
    page.get_by_role("link", name="Lineage", exact=True).first.click()
    expect(page.get_by_text("what queries see")).to_be_visible()
    page.get_by_role("link", name="Roll back…").first.click()
    preview = page.get_by_role("region", name="What queries see before and after")
    expect(preview).to_contain_text(str(NEW))
    expect(preview).to_contain_text(str(OLD))
    page.get_by_label("Reason").fill(REASON)
    page.get_by_label("Type the table's name to confirm").fill(f"{table}_OFFLINE")
    page.get_by_role("button", name=f"Roll back {table}_OFFLINE").click()
    expect(page.get_by_text("Rolled back. Queries on")).to_be_visible()
    assert client.sql(f"select count(*) from {table}") == [[OLD]]
    page.get_by_role("link", name=re.compile("Audit record")).click()
    expect(page.get_by_text(REASON)).to_be_visible()
    expect_rows(page, table, OLD)
    page.get_by_role("link", name="Query", exact=True).last.click()
    page.get_by_label("SQL").fill(f"select count(*) from {table}")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_contain_text(str(OLD))


def follow_to_its_end(page: Page, push_id: str) -> None:
    """On the list, then on its own page until it is over."""
    page.get_by_role("link", name="Pushes", exact=True).click()
    page.locator(f"a[href*='{push_id}']").first.click()
    expect(page.get_by_role("progressbar", name="Progress")).to_be_visible()
    expect(page.get_by_text("Queries see the new snapshot.", exact=True)).to_be_visible(timeout=60_000)
    expect(page.locator("dl.facts")).to_contain_text(str(NEW))


def expect_rows(page: Page, table: str, rows: int) -> None:
    """On the table's page, as soon as the mirror has seen it."""

    def look() -> bool:
        page.goto(f"/console/tables/{table}_OFFLINE/")
        return re.search(rf"Rows visible\s*{rows}\b", page.locator("dl.facts").first.inner_text()) is not None

    poll(look, 15, f"{rows} rows on the page of {table}")
