"""The admin's buttons in a real browser: a paused table is resumed from its row, a chosen action has a button that
runs it, and a schedule is run from its list.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from segments.services.realtime import consumption
from segments.services.upkeep.periodic_passes import DECLARED
from segments.services.upkeep.schedules import ensure_schedules
from tests.browser.accessibility.faults import faults_shown, serious
from tests.factories import PASSWORD, make_user
from tests.services.realtime_world import ANN, RealtimeWorld
from tests.services.realtime_world import TABLE as REALTIME

pytestmark = pytest.mark.browser


@pytest.fixture
def root(realtime: RealtimeWorld, context: BrowserContext) -> Page:
    """The admin, as a superuser."""
    make_user("root", is_staff=True, is_superuser=True)
    page = context.new_page()
    page.goto("/login/")
    page.get_by_label("User name").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")
    return page


def shot(page: Page, name: str) -> None:
    """A picture for a person, where one is requested."""
    if folder := os.environ.get("ADMIN_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.mark.parametrize("model", ["table", "push", "finding"])
def test_the_menu_of_a_row_is_opened_with_the_keyboard_and_has_no_serious_fault(root: Page, model: str) -> None:
    root.goto(f"/admin/segments/{model}/")
    assert serious(root, {"runOnly": ["target-size"]}) == [], "while no menu covers what is below it"
    opener = root.get_by_role("button", name="More actions").first
    opener.focus()
    root.keyboard.press("Enter")
    menu = root.get_by_role("group", name="More actions").filter(visible=True)
    expect(menu.get_by_role("link").first).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(menu).to_have_css("opacity", "1")
    shot(root, f"menu-{model}")
    assert faults_shown(root, model) == {}
    cut = menu.locator(".truncate").evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length")
    assert cut == 0, "words of the menu are cut off"
    root.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(opener).to_be_focused()


def test_a_table_is_resumed_from_its_row_and_schedules_are_run_from_their_list(
    root: Page, realtime: RealtimeWorld
) -> None:
    consumption.pause_table(realtime.ctx, REALTIME, actor=ANN)
    realtime.commit()
    root.goto("/admin/segments/table/")
    row = root.get_by_role("row").filter(has_text=REALTIME.typed)
    row.get_by_role("button", name="More actions").click()
    expect(root.get_by_role("link", name="Resume…")).to_be_visible()
    shot(root, "tables")
    root.get_by_role("link", name="Resume…").click()
    shot(root, "resume")
    root.get_by_label("where it stopped").check()
    root.get_by_label("Reason").fill("repaired")
    root.get_by_role("button", name="Resume", exact=True).click()
    expect(root.get_by_text(f"{REALTIME.typed} consumes again.")).to_be_visible()
    assert not realtime.pause.paused

    row.get_by_role("checkbox").check()
    root.locator("select[name=action]").select_option(label="Pause selected tables…")
    root.get_by_role("button", name="Run").click()
    root.get_by_label("Reason").fill("a test")
    shot(root, "pause")
    root.get_by_role("button", name="Pause", exact=True).click()
    expect(root.get_by_text(f"{REALTIME.typed} is paused")).to_be_visible()

    ensure_schedules(DECLARED)
    root.goto("/admin/django_celery_beat/periodictask/")
    shot(root, "schedules")
    row = root.get_by_role("row").filter(has_text="Housekeeping")
    expect(row.get_by_text("every hour")).to_be_visible()
    row.locator("[x-on\\:click]").last.click()
    root.get_by_role("link", name="Run now…").click()
    expect(root.get_by_role("heading", name="Run Housekeeping now")).to_be_visible()
    expect(root.get_by_label("Reason")).to_be_visible()
