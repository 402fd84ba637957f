"""axe finds nothing serious on any page, light or dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from segments.models import Push
from tests.browser.test_journey import PAGES

pytestmark = pytest.mark.browser


def _serious(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_fault(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
    faults = {}
    for address in [*PAGES, f"/console/pushes/{Push.objects.get().pk}/", "/console/nothing/"]:
        page.goto(address)
        page.locator(".health .badge").first.wait_for()
        if found := _serious(page):
            faults[address] = found
    assert faults == {}


def test_the_log_in_page_has_no_serious_fault(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/login/")
    assert _serious(page) == []
