"""Snapshots in a real browser: several steps back at once, segments deleted and restored, a pinned entry, a switch in
the background.
"""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import Page, expect

from tests.integration.running import Client
from tests.waiting import poll

pytestmark = pytest.mark.browser


def snapshots(client: Client, table: str, *names: str) -> list[str]:
    """Each replaced by the next and pinned, so that all of them stay; the entries, oldest first."""
    client.upload(table, names[0])
    client.online(table, names[0])
    entries = []
    for old, new in itertools.pairwise(names):
        entry = client.start(table, [old], [new])
        client.call(
            "POST",
            f"/api/v1/lineage/{table}/{entry}/pin",
            params={"type": "OFFLINE"},
            json={"reason": "all of them stay"},
        )
        client.upload(table, new)
        client.online(table, new)
        client.end(table, entry)
        entries.append(entry)
    return entries


def test_several_steps_back_and_a_deletion_that_is_undone(page: Page, client: Client, table: str) -> None:
    entries = snapshots(client, table, "a", "b", "c")
    assert client.counts(table) == {"c": 10}
    lineage = f"/console/tables/{table}_OFFLINE/lineage/"
    poll(lambda: page.goto(lineage) and page.get_by_text(entries[1]).first.is_visible(), 20, "the lineage")
    page.get_by_role("link", name="Roll back several steps…").click()
    expect(page.get_by_text("2 replacements are taken back")).to_be_visible()
    page.get_by_label("Reason").fill("both were wrong")
    page.get_by_label("Type to confirm").fill(f"{table}_OFFLINE")
    page.get_by_role("button", name=f"Roll back {table}_OFFLINE").click()
    expect(page.get_by_text("Rolled back 2 replacements")).to_be_visible()
    assert client.counts(table) == {"a": 10}
    client.upload(table, "extra")
    client.online(table, "extra")
    delete_and_restore(page, client, table, "extra")


def delete_and_restore(page: Page, client: Client, table: str, segment: str) -> None:
    """Tick it, delete it after typing the number, take it back from the message."""
    poll(
        lambda: (
            page.goto(f"/console/tables/{table}_OFFLINE/segments/")
            and page.get_by_label(f"Choose {segment}").is_visible()
        ),
        20,
        segment,
    )
    page.get_by_label(f"Choose {segment}").check()
    page.get_by_role("button", name="Delete selected…").click()
    page.get_by_label("Reason").fill("not needed")
    page.get_by_label("Type to confirm").fill("delete 1")
    page.get_by_role("button", name="Delete 1 segment").click()
    expect(page.get_by_text("Deleted 1 segment.")).to_be_visible()
    poll(lambda: segment not in client.counts(table), 10, "the rows are gone")
    poll(
        lambda: f'"{segment}"' in client.call("GET", f"/api/v1/segments/{table}/deleted").text, 30, "its file put away"
    )
    page.get_by_role("link", name="Restore them").click()
    page.get_by_label("Reason").fill("needed after all")
    page.get_by_label("Type to confirm").fill("restore 1")
    page.get_by_role("button", name="Restore 1 segment").click()
    expect(page.get_by_text("Restored 1 segment.")).to_be_visible()
    poll(lambda: client.counts(table).get(segment) == 10, 20, "the rows are back")


def test_a_switch_in_the_background_is_followed_on_the_page(page: Page, client: Client, table: str) -> None:
    client.upload(table, "old")
    client.online(table, "old")
    entry = client.start(table, ["old"], ["new"])
    poll(
        lambda: (
            page.goto(f"/console/tables/{table}_OFFLINE/lineage/{entry}/")
            and page.get_by_text("is under way").is_visible()
        ),
        20,
        "entry",
    )
    client.upload(table, "new")
    page.get_by_role("link", name="End it…").click()
    page.get_by_label("Reason").fill("ready")
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_text("The switch is on its way")).to_be_visible()
    expect(page.get_by_text(re.compile("Queries see the new segments"))).to_be_visible(timeout=30_000)
    assert client.counts(table) == {"new": 10}
    page.get_by_role("link", name="Compare its sides").click()
    expect(page.get_by_role("region", name="Columns of both snapshots")).to_contain_text("old")
