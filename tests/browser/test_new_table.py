"""A newcomer drops a CSV of their own, changes a column and creates the table, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from segments import wiring
from segments.gateways.input_files.rules import InputRules
from segments.gateways.streams.memory import MemoryBroker
from segments.models import Push
from segments.services.jobs import queue
from segments.services.tables.schemas import read_schema
from segments.services.tables.tables import list_tables
from segments.store.records.instances import join
from tests.console.conftest import FakeBroker
from tests.factories import CLUSTER, make_user
from tests.services.world import World

pytestmark = pytest.mark.browser
LINES = ["Flight Id,carrier,delay,day,tags"]
LINES += [
    f"{1000 + i},{('AA', 'UA', 'DL')[i % 3]},{'NA' if i % 9 == 0 else i},2024-03-{i % 28 + 1:02d},a;b"
    for i in range(90)
]
CSV = "\n".join(LINES)
#: Puts a file onto the form as if it had been dropped there.
DROP = """([zone, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], "March flights.csv", {type: "text/csv"}));
  zone.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
}"""


@pytest.fixture
def world(transactional_db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """No table but t; an input root; a queue that takes everything."""
    monkeypatch.setattr(wiring, "servers", lambda: SimpleNamespace(errors=lambda url, table: {}))
    monkeypatch.setattr(queue, "enqueue_push", lambda *_: True)
    (tmp_path / "input").mkdir()
    settings.INPUT_ROOTS = [str(tmp_path / "input")]
    world = World(tmp_path)
    clicks = MemoryBroker()
    clicks.create("web-clicks", 2)
    rows = ({"user": f"u{i % 9}", "page": f"/p/{i % 4}", "ms": i, "at": 1_700_000_000_000 + i} for i in range(80))
    clicks.send("web-clicks", 0, [json.dumps(row).encode() for row in rows])
    join(world.memory, "Server_s_1", "s", 1, ["DefaultTenant_OFFLINE", "DefaultTenant_REALTIME"])
    world.ctx = replace(
        world.ctx, cluster=CLUSTER, inputs=InputRules((str(tmp_path / "input"),)), streams=clicks.open,
        check_stream=lambda _: None,
    )  # fmt: skip
    make_user("olga", "operate", "administer")
    with wiring.use(world.ctx, FakeBroker()):
        yield world


def shot(page: Page, name: str) -> None:
    import os

    if os.environ.get("SHOTS"):
        for width in (1360, 390):
            for scheme in ("light", "dark"):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=f"{os.environ['SHOTS']}/{name}-{width}-{scheme}.png", full_page=True)
        page.set_viewport_size({"width": 1280, "height": 900})


def drop(page: Page, text: str) -> None:
    """Once the page invites to it: its scripts are there."""
    expect(page.get_by_text("Drop it here, or choose it.")).to_be_visible()
    page.locator("[data-drop]").evaluate(f"(zone, text) => ({DROP})([zone, text])", text)


def test_a_dropped_file_becomes_a_table(page: Page, world: World) -> None:
    page.get_by_role("link", name="New table").first.click()
    drop(page, CSV)
    expect(page.get_by_label("Name of the table")).to_have_value("march_flights")
    shot(page, "choose")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Columns and settings")).to_be_visible()
    expect(page.get_by_label("Name of column Flight_Id")).to_be_visible()
    shot(page, "design")
    page.get_by_label("Type of delay").select_option("LONG")
    expect(page.locator("#id_schema")).to_have_value(re.compile('"delay",\\s*"dataType": "LONG"'))
    page.get_by_label("Type of carrier").select_option("INT")
    expect(page.get_by_text("90 values do not fit: AA, UA, DL")).to_be_visible()
    shot(page, "misfits")
    page.get_by_label("Type of carrier").select_option("STRING")
    expect(page.get_by_text("do not fit")).to_have_count(0)
    page.get_by_text("The same as JSON").click()
    schema = json.loads(page.locator("#id_schema").input_value())
    schema["primaryKeyColumns"] = ["Flight_Id"]
    page.locator("#id_schema").fill(json.dumps(schema))
    page.locator("#id_schema").blur()
    expect(page.locator("#c0_key")).to_be_checked()
    shot(page, "json")
    page.get_by_role("button", name="Create and push").click()
    expect(page.get_by_text("Table march_flights is created")).to_be_visible()
    assert page.url.endswith(f"/console/pushes/{Push.objects.get().pk}/")
    assert read_schema(world.ctx, "march_flights").primary_keys == ("Flight_Id",)


def test_what_is_typed_while_the_page_answers_an_earlier_change_is_kept(page: Page, world: World) -> None:
    page.get_by_role("link", name="New table").first.click()
    drop(page, CSV)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Columns and settings")).to_be_visible()
    page.wait_for_load_state("load")
    typed = page.get_by_label("Name of column Flight_Id").evaluate(
        """(field) => new Promise((done) => {
          document.addEventListener("htmx:afterRequest", () => setTimeout(() => done(document.getElementById(field.id).value), 100), {once: true});
          const type = document.querySelector("[aria-label='Type of delay']");
          type.value = "LONG";
          type.dispatchEvent(new Event("change", {bubbles: true}));
          field.value = "FlightNumber";
        })"""  # noqa: E501
    )
    assert typed == "FlightNumber"
    page.get_by_label("Name of column Flight_Id").dispatch_event("change")
    expect(page.locator("#id_schema")).to_have_value(re.compile('"FlightNumber"(?s:.*)"delay",\\s*"dataType": "LONG"'))


def test_what_is_chosen_before_the_scripts_came_is_answered_once_they_are_there(page: Page, world: World) -> None:
    page.goto("/console/new-table/stream/")
    page.get_by_label("Topic").fill("web-clicks")
    held: list[Route] = []
    page.route("**/*.js", lambda route: held.append(route))
    page.get_by_role("button", name="Read the first messages").click()
    page.get_by_label("Rows with the same key").select_option("newest")
    for route in held:
        route.continue_()
    page.unroute("**/*.js")
    expect(page.get_by_text("Mark the columns of the primary key first.")).to_be_visible()


def test_first_messages_of_a_stream_become_a_table(page: Page, world: World) -> None:
    page.get_by_role("link", name="New table").first.click()
    page.get_by_role("link", name="From a stream…").click()
    page.get_by_label("Topic").fill("web-clicks")
    shot(page, "stream-choose")
    page.get_by_role("button", name="Read the first messages").click()
    expect(page.get_by_role("heading", name="Columns and settings")).to_be_visible()
    shot(page, "stream-design")
    page.get_by_label("Rows with the same key").select_option("newest")
    expect(page.get_by_text("Mark the columns of the primary key first.")).to_be_visible()
    shot(page, "stream-key")
    page.locator("#c0_key").check()
    expect(page.locator("#id_config")).to_have_value(re.compile("upsertConfig"))
    expect(page.get_by_text("Mark the columns of the primary key first.")).to_have_count(0)
    page.get_by_role("button", name="Create and consume").click()
    expect(page.get_by_text("Table web_clicks is created")).to_be_visible()
    assert "web_clicks" in list_tables(world.ctx)
