"""The query page in a real browser."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from segments import wiring
from segments.dataplane import stopping
from segments.models import AuditEvent
from segments.services.queries.running import running_queries
from tests.console.conftest import FakeBroker
from tests.factories import CLUSTER
from tests.services.world import World
from tests.waiting import wait_until

pytestmark = pytest.mark.browser
#: What differs from white in the middle of a canvas: something was drawn.
_INK = """(canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let ink = 0;
  for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ink += 1;
  return ink;
}"""


def test_an_answer_over_time_is_drawn_and_drawn_again_as_chosen(page: Page, world: World) -> None:
    broker = wiring.broker()
    assert isinstance(broker, FakeBroker)
    days = [f"2013-01-{day:02d}" for day in range(1, 29)]
    schema = {"columnNames": ["day", "carrier", "n"], "columnDataTypes": ["STRING", "STRING", "LONG"]}
    rows = [[day, carrier, 100 + 7 * at] for at, day in enumerate(days) for carrier in ("AA", "UA")]
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": rows}, "exceptions": []}
    page.goto("/console/query/")
    page.get_by_label("SQL").fill("select day, carrier, count(*) n from t group by day, carrier limit 1000")
    page.keyboard.press("Control+Enter")
    canvas = page.get_by_role("img", name="Line chart of AA, UA; 28 places")
    expect(canvas).to_be_visible()
    line = page.wait_for_function(_INK, arg=canvas.element_handle()).json_value()
    page.get_by_label("Kind").select_option("Bar")
    bars = page.get_by_role("img", name="Bar chart of AA, UA; 28 places")
    expect(bars).to_be_visible()
    page.wait_for_function(
        f"(canvas) => {{ const ink = ({_INK})(canvas); return ink > 0 && ink !== {line}; }}", arg=bars.element_handle()
    )
    expect(page.get_by_role("region", name="Result")).to_contain_text("2013-01-28")


def test_columns_and_tables_are_completed_by_keyboard_and_inserted_by_click(page: Page, world: World) -> None:
    page.goto("/console/query/")
    editor = page.get_by_label("SQL", exact=True)
    editor.press_sequentially("select coun")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(editor).to_have_value("select count(")
    editor.press_sequentially("*) from emp")
    expect(page.get_by_role("option", name="empty")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Tab")
    expect(editor).to_have_value("select count(*) from empty")
    page.get_by_role("button", name="Format").click()
    expect(editor).to_have_value("SELECT\n  count(*)\nFROM empty")
    page.get_by_placeholder("Search tables").fill("emp")
    side = page.get_by_role("complementary", name="Tables and columns")
    expect(side.get_by_text("t", exact=True)).to_have_count(0)
    side.get_by_text("empty", exact=True).click()
    side.get_by_role("button", name="insert the table's name").click()
    expect(editor).to_have_value("SELECT\n  count(*)\nFROM emptyempty")


def test_a_query_that_the_server_does_not_answer_is_not_shown_with_the_last_result(page: Page, world: World) -> None:
    page.goto("/console/query/")
    editor = page.get_by_label("SQL", exact=True)
    editor.fill("select 1 from t")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_contain_text("AA")
    page.route("**/console/query/", lambda route: route.fulfill(status=500, body="no"))
    editor.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="error (500)")).to_be_visible()
    expect(page.get_by_role("region", name="Result")).to_have_count(0)
    page.unroute("**/console/query/")
    editor.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_contain_text("AA")
    expect(page.locator("#query-problem")).to_be_hidden()


def test_a_query_is_saved_by_keyboard_and_opened_by_its_link(page: Page, world: World) -> None:
    page.goto("/console/query/")
    page.get_by_label("SQL", exact=True).fill("select 1 from t")
    page.get_by_label("Name", exact=True).fill("ones")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="ones", exact=True).click()
    page.wait_for_url("**/console/query/?saved=*")
    expect(page.get_by_label("SQL", exact=True)).to_have_value("select 1 from t")
    page.get_by_label("SQL", exact=True).focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#recent-queries")).to_contain_text("select 1 from t")
    page.get_by_role("button", name="Delete ones").click()
    expect(page.get_by_role("link", name="ones", exact=True)).to_have_count(0)


def test_two_snapshots_are_asked_side_by_side(page: Page, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(rows: list[list[object]]) -> dict[str, object]:
        schema = {"columnNames": ["carrier", "n"], "columnDataTypes": ["STRING", "LONG"]}
        return {"resultTable": {"dataSchema": schema, "rows": rows}, "exceptions": [], "timeUsedMs": 3}

    monkeypatch.setattr(
        "segments.console.views.queries.page.query_as_of",
        lambda ctx, sql, options, name: answer([["AA", 3 if name == "2" else 2], ["UA", 7]]),
    )
    page.goto("/console/query/")
    page.locator("#id_sql").fill("select carrier, count(*) as n from t group by carrier")
    page.get_by_text("Read a snapshot, or two side by side").click()
    expect(page.locator("#query-against option")).not_to_have_count(1)
    page.locator("#query-snapshot").select_option("2")
    page.locator("#query-against").select_option("1")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("1 row is not the same")).to_be_visible()
    expect(page.get_by_role("region", name="Result: Snapshot 1")).to_contain_text("2")
    if folder := os.environ.get("SHOTS"):
        for width in (1360, 390):
            for scheme in ("light", "dark"):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=f"{folder}/side-by-side-{width}-{scheme}.png", full_page=True)


def _until_stopped(sql: str) -> dict[str, object]:
    """What a broker does that waits for its servers."""
    stopped = threading.Event()
    with stopping.current().calling(stopped.set):
        stopped.wait(30)
    stopping.current().check()
    return {"exceptions": []}


@pytest.mark.parametrize(
    "leave",
    [lambda page: page.goto("/console/tables/"), lambda page: page.reload(), lambda page: page.close()],
    ids=["another page", "the same page again", "closed"],
)
def test_leaving_the_page_cancels_the_query_that_it_runs(
    page: Page, world: World, monkeypatch: pytest.MonkeyPatch, leave: Callable[[Page], object]
) -> None:
    monkeypatch.setattr(wiring.broker(), "query", _until_stopped)
    page.goto("/console/query/")
    page.get_by_label("SQL", exact=True).fill("select 1 from t")
    page.keyboard.press("Control+Enter")
    wait_until(lambda: running_queries().all_of(CLUSTER), 10, "the query runs")
    leave(page)
    wait_until(lambda: not running_queries().all_of(CLUSTER), 10, "the query is cancelled")
    assert AuditEvent.objects.get(action="cancelQuery").actor == "olga"


def test_leaving_the_page_after_the_answer_cancels_nothing(page: Page, world: World) -> None:
    sent: list[str] = []
    page.context.on("request", lambda request: sent.append(request.url))
    page.goto("/console/query/")
    page.get_by_label("SQL", exact=True).fill("select 1 from t")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_contain_text("AA")
    page.goto("/console/findings/")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    assert not [url for url in sent if url.endswith("/cancel/")]
