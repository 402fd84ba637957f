"""Keys that lead to what a page shows, and what has the focus."""

from __future__ import annotations

from playwright.sync_api import Page

#: What a screen reader would say of the focused element: its label, or its text.
FOCUSED = """() => {
  const it = document.activeElement;
  const text = it.labels?.[0]?.textContent || it.getAttribute("aria-label") || it.textContent || "";
  return text.replace(/\\s+/g, " ").trim();
}"""
_MOST_TABS = 120


def tab_to(page: Page, text: str, *, within: str = "") -> None:
    """Tab until the element of this text (in the element of this selector) has the focus."""
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        is_there = not within or page.evaluate("(s) => !!document.activeElement.closest(s)", within)
        if is_there and page.evaluate(FOCUSED).startswith(text):
            return
    raise AssertionError(f"'{text}' is not reached by {_MOST_TABS} tabs")


def open_page(page: Page, heading: str) -> None:
    """Enter on what has the focus; returns when the page with this heading has its scripts."""
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=heading, exact=True).first.wait_for()
    page.wait_for_load_state("load")
