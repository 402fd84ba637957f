"""Rollbacks that are undone in a real browser: push, roll back, undo, roll back two steps, undo; the first query is
right each time.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.integration.running import Client
from tests.waiting import poll

pytestmark = pytest.mark.browser


def push(client: Client, table: str, old: str, new: str) -> str:
    entry = client.start(table, [old], [new])
    client.upload(table, new)
    client.online(table, new)
    client.end(table, entry)
    return str(entry)


def press(page: Page, button: str, reason: str, **typed: str) -> None:
    page.get_by_label("Reason").fill(reason)
    for label, text in typed.items():
        page.get_by_label(label.replace("_", " ")).fill(text)
    page.get_by_role("button", name=button).click()


def test_rollbacks_are_undone_with_the_buttons_that_the_pages_offer(page: Page, client: Client, table: str) -> None:
    typed = f"{table}_OFFLINE"
    lineage = f"/console/tables/{typed}/lineage/"
    client.upload(table, "a")
    client.online(table, "a")
    push(client, table, "a", "b")
    second = push(client, table, "b", "c")
    assert client.counts(table) == {"c": 10}

    page.goto(f"{lineage}{second}/rollback/")
    expect(page.get_by_text("until then this can be undone")).to_be_visible()
    press(page, f"Roll back {typed}", "looked wrong", Type_the_table=typed)
    expect(page.get_by_role("heading", name="Rolled back")).to_be_visible()
    assert client.counts(table) == {"b": 10}
    page.get_by_role("link", name="Undo the rollback…").click()
    expect(page.get_by_text("back, hidden until all servers")).to_be_visible()
    press(page, "Undo the rollback", "it was right")
    expect(page.get_by_text("The rollback is undone.")).to_be_visible()
    assert client.counts(table) == {"c": 10}

    poll(
        lambda: page.goto(lineage) and page.get_by_text("Roll back several steps…").first.is_visible(),
        20,
        "the lineage",
    )
    page.get_by_role("link", name="Roll back several steps…").first.click()
    expect(page.get_by_text("2 replacements are taken back")).to_be_visible()
    press(page, f"Roll back {typed}", "both were wrong", Type_to_confirm=typed)
    expect(page.get_by_text("Rolled back 2 replacements")).to_be_visible()
    assert client.counts(table) == {"a": 10}
    page.get_by_role("link", name="Undo", exact=True).click()
    press(page, "Undo the rollback", "both were right")
    expect(page.get_by_text("The rollback is undone.")).to_be_visible()
    assert client.counts(table) == {"c": 10}
