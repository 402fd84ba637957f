"""Visits pages with axe: in light and in dark colours, and on a phone's width."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from tests.factories import PASSWORD

#: Of axe's rules only those on colours depend on the scheme.
_COLOURS: Final = {"runOnly": ["color-contrast", "link-in-text-block"]}
#: What is told of each finding: the whole answer takes longer to leave the browser than to compute.
_RUN: Final = """options => axe.run({resultTypes: ["violations"], selectors: false, ...options})
  .then(answer => answer.violations)
  .then(all => all.filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => `${found.id}, ${found.nodes.length} times: ${found.nodes[0].html.slice(0, 300)}`)
  )"""

#: Rows are cards on a phone, whose words wrap.
_CUT_CELLS: Final = """() => [...document.querySelectorAll("table.cards th, table.cards td")].filter(cell => {
  const edge = cell.getBoundingClientRect().right + 1;
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.data.trim() || text.parentElement.closest(".hidden-text, thead, details:not([open])")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    if (range.getBoundingClientRect().right > edge) return true;
  }
  return false;
}).map(cell => cell.innerText.slice(0, 60)).slice(0, 5)"""


def serious(page: Page, options: dict[str, Any] | None = None) -> list[str]:
    """Each serious finding of the page that is shown, with the first element that it is about."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    found: list[str] = page.evaluate(_RUN, options or {})
    return found


def faults_of(page: Page, addresses: Iterable[str], *, ready: str = ".health .badge") -> dict[str, object]:
    """Faults of pages of the console in light and in dark colours; on a phone none of them is wider than the screen.
    ``ready``: what a page shows when it is whole.
    """
    faults: dict[str, object] = {}
    for address in addresses:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(address)
        if ready:
            page.locator(ready).first.wait_for()
        faults |= faults_shown(page, address)
        page.set_viewport_size({"width": 390, "height": 844})
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            faults[f"{address} on a phone"] = width
        if cut := page.evaluate(_CUT_CELLS):
            faults[f"{address} on a phone, cut off"] = cut
    return faults


def faults_shown(page: Page, name: str) -> dict[str, object]:
    """Faults of the page that is shown, in light and in dark colours."""
    faults: dict[str, object] = {}
    _paint(page, "light")
    if found := serious(page):
        faults[name] = found
    _paint(page, "dark")
    if found := serious(page, _COLOURS):
        faults[f"{name} in dark colours"] = found
    return faults


def _paint(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    #: The admin asks for the scheme only when it is loaded.
    page.evaluate("scheme => document.documentElement.classList.toggle('dark', scheme === 'dark')", scheme)


def logged_in_as(context: BrowserContext, name: str) -> Page:
    """A page of somebody who is there already."""
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto("/login/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")
    return page
