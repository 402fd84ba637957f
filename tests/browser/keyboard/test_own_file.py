"""From a file of one's own to the first query without a mouse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from segments.models import Push
from segments.services.tables.schemas import read_schema
from tests.browser.keyboard.pressing import open_page, tab_to
from tests.browser.test_new_table import CSV
from tests.browser.test_new_table import world as world
from tests.services.world import World

pytestmark = pytest.mark.browser


def test_a_file_of_ones_own_becomes_a_table_and_is_queried(page: Page, world: World, tmp_path: Path) -> None:
    file = tmp_path / "March flights.csv"
    file.write_text(CSV)
    tab_to(page, "New table")
    open_page(page, "New table")
    tab_to(page, "A file of yours")
    with page.expect_file_chooser() as chooser:  # the dialog is the system's, with keys of its own
        page.keyboard.press("Space")
    chooser.value.set_files(file)
    expect(page.get_by_label("Name of the table")).to_have_value("march_flights")
    tab_to(page, "Continue")
    open_page(page, "Columns and settings")
    tab_to(page, "Type of delay")
    page.keyboard.type("LON")
    page.keyboard.press("Tab")
    expect(page.locator("#id_schema")).to_have_value(re.compile('"delay",\\s*"dataType": "LONG"'))
    tab_to(page, "Create and push")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Table march_flights is created")).to_be_visible()
    assert read_schema(world.ctx, "march_flights").by_name["delay"].data_type == "LONG"
    Push.objects.update(state="DONE")  # a worker's part
    page.reload()
    tab_to(page, "Query it")
    open_page(page, "Query")
    tab_to(page, "SQL")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#result table").first).to_be_visible()
