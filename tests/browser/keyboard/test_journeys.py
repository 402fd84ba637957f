"""Journeys without a mouse: every key that is pressed here is one of the keyboard, from the start page to the end."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.keyboard.pressing import FOCUSED, open_page, tab_to
from tests.browser.test_history import three_pushes as three_pushes
from tests.services.realtime_world import RealtimeWorld
from tests.services.world import World

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("three_pushes")
def test_three_steps_back_and_undone(page: Page, world: World) -> None:
    page.keyboard.press("j")
    while not page.evaluate(FOCUSED).startswith("t_OFFLINE"):
        page.keyboard.press("j")
    open_page(page, "t_OFFLINE")
    tab_to(page, "History")
    open_page(page, "Snapshot 5")
    tab_to(page, "Go back to this", within="#snapshot-2")
    open_page(page, "Go back to snapshot 2")
    tab_to(page, "Reason")
    page.keyboard.type("three bad files")
    tab_to(page, "Restore snapshot 2")
    page.keyboard.press("Enter")
    expect(page.get_by_text("see snapshot 2 again")).to_be_visible()
    page.wait_for_load_state("load")
    assert world.visible == ["sales_20_0", "sales_20_1"]
    tab_to(page, "Undo")
    open_page(page, "Go back to snapshot 5")
    tab_to(page, "Reason")
    page.keyboard.type("they were right")
    page.keyboard.press("Enter")
    expect(page.get_by_text("see snapshot 5 again")).to_be_visible()
    assert world.visible == ["sales_23_0", "sales_23_1", "sales_23_2"]


def test_a_stream_is_paused_with_a_reason_and_resumed(page: Page, realtime: RealtimeWorld) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("pause t_REALTIME")
    expect(page.get_by_role("option").first).to_contain_text("t_REALTIME")
    open_page(page, "Pause t_REALTIME")
    tab_to(page, "Reason")
    page.keyboard.type("the topic moves")
    tab_to(page, "Pause")
    page.keyboard.press("Enter")
    page.wait_for_url("**/consumption/")
    page.wait_for_load_state("load")
    assert realtime.pause.paused
    page.keyboard.press("Control+k")
    page.keyboard.type("resume t_REALTIME")
    expect(page.get_by_role("option").first).to_contain_text("t_REALTIME")
    open_page(page, "Resume t_REALTIME")
    tab_to(page, "Reason")
    page.keyboard.type("it has moved")
    tab_to(page, "Resume")
    page.keyboard.press("Enter")
    page.wait_for_url("**/consumption/")
    assert not realtime.pause.paused
