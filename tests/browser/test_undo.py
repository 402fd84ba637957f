"""A rollback is undone with the button on the page that follows it, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from segments.clusters.embedded.replacement import switch_back
from tests.browser.conftest import NEW, OLD
from tests.services.world import World

pytestmark = pytest.mark.browser

ROLLBACK = "/console/tables/t_OFFLINE/lineage/entry-1/rollback/"


@pytest.fixture(autouse=True)
def served(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers load what comes back before it is waited for."""
    wait = switch_back.wait_until_online
    monkeypatch.setattr(switch_back, "wait_until_online", lambda *a, **more: (world.serve(), wait(*a, **more)))


def test_who_rolled_back_undoes_it_on_the_page_that_follows(page: Page, world: World) -> None:
    page.goto(ROLLBACK)
    expect(page.get_by_text("until then this can be undone")).to_be_visible()
    page.get_by_label("Reason").fill("looked wrong")
    page.get_by_label("Type the table").fill("t_OFFLINE")
    page.get_by_role("button", name="Roll back t_OFFLINE").click()
    expect(page.get_by_role("heading", name="Rolled back")).to_be_visible()
    assert world.visible == sorted(OLD)
    page.get_by_role("link", name="Undo the rollback…").click()
    expect(page.get_by_text("back, hidden until all servers")).to_be_visible()
    page.get_by_label("Reason").fill("it was right")
    page.get_by_role("button", name="Undo the rollback").click()
    expect(page.get_by_text("The rollback is undone.")).to_be_visible()
    expect(page.get_by_role("link", name="Roll it back again")).to_be_visible()
    assert world.visible == sorted(NEW)
