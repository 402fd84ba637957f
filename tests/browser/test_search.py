"""The palette in a real browser, by keyboard alone: to a page, to an action; and the bell to the inbox."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.factories import make_finding
from tests.services.world import TABLE, World

pytestmark = pytest.mark.browser


def test_ctrl_k_leads_to_a_page_by_keyboard_and_the_bell_to_what_waits(page: Page, world: World) -> None:
    make_finding(table_name=TABLE.typed, message="A replica is missing.")
    page.goto("/console/servers/")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type(TABLE.typed[:5].lower())
    expect(palette.get_by_role("option", name=TABLE.typed).first).to_be_visible()
    palette.get_by_role("combobox").fill("aud")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("Audit")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Audit")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.get_by_role("link", name="Inbox: 2 waiting").click()
    expect(page.get_by_text("A replica is missing.")).to_be_visible()
