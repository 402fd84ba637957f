"""What the keyboard does: a list of keys, pages by two letters, rows of a list; columns and saved views, too."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Page, expect

from tests.services.world import World

pytestmark = pytest.mark.browser


def shot(page: Page, name: str) -> None:
    """Pictures for a person, where they are requested."""
    if folder := os.environ.get("SHOTS"):
        for width in (1360, 390):
            for scheme in ("light", "dark"):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme="light")


def test_keys_are_listed_and_lead_to_pages_and_rows(page: Page, world: World) -> None:
    page.goto("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    shot(page, "keys")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="t_OFFLINE", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="t_OFFLINE")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Audit", exact=True)).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.keyboard.press("/")
    page.keyboard.type("g?a")  # what is typed into a field leads nowhere
    expect(page.locator("input[type=search]").first).to_have_value("g?a")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()


def test_the_link_of_any_page_is_copied_by_a_key_and_by_a_button(page: Page, world: World) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for address in ("/console/tables/t_OFFLINE/segments/", "/console/servers/"):
        page.goto(address)
        page.keyboard.press("c")
        expect(page.get_by_role("status").filter(has_text="Link copied")).to_be_in_viewport()
        assert page.evaluate("navigator.clipboard.readText()").endswith(address)
    page.goto("/console/passes/")
    page.get_by_role("button", name="Copy link").last.click()
    expect(page.get_by_role("status").filter(has_text="Link copied")).to_be_in_viewport()
    assert page.evaluate("navigator.clipboard.readText()").endswith("/console/passes/")


def test_columns_and_views_are_chosen_by_keyboard(page: Page, world: World) -> None:
    page.goto("/?q=t")
    page.get_by_text("View", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Replicas")).to_be_visible()
    shot(page, "view-menu")
    page.get_by_label("Replicas").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Show these columns").press("Enter")
    expect(page.get_by_role("columnheader", name="Replicas")).to_be_hidden()
    expect(page.get_by_role("columnheader", name="Size")).to_be_visible()
    page.get_by_text("View", exact=True).click()
    page.get_by_label("Keep these filters as a view").fill("with t")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="with t")).to_be_visible()
    shot(page, "saved-view")
    page.goto("/console/settings/")
    shot(page, "own-settings")
    page.get_by_role("button", name="Delete the view with t").click()
    expect(page.get_by_text("None yet.")).to_be_visible()
