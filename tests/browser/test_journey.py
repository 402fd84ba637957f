"""What an operator does, in a real browser: by mouse, by keyboard, on a phone."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from segments.models import LineageEntry, Push, Segment, Table
from tests.browser.conftest import NEW, OLD
from tests.services.world import World

pytestmark = pytest.mark.browser

TABLE_PAGE = "/console/tables/t_OFFLINE/"
PAGES = [
    "/",
    TABLE_PAGE,
    f"{TABLE_PAGE}segments/",
    f"{TABLE_PAGE}segments/{NEW[0]}/",
    f"{TABLE_PAGE}history/",
    f"{TABLE_PAGE}history/1/restore/",
    f"{TABLE_PAGE}diff/?from=1&to=2",
    f"{TABLE_PAGE}lineage/",
    f"{TABLE_PAGE}lineage/entry-1/rollback/",
    f"{TABLE_PAGE}lineage/entry-1/",
    f"{TABLE_PAGE}lineage/entry-1/pin/",
    f"{TABLE_PAGE}lineage/entry-1/rollback-to/",
    f"{TABLE_PAGE}pin/?e=entry-1",
    f"{TABLE_PAGE}diff/?from=entry-1:from&to=current",
    f"{TABLE_PAGE}delete/?s={NEW[0]}",
    f"{TABLE_PAGE}reload/?s={NEW[0]}",
    f"{TABLE_PAGE}deleted/",
    f"{TABLE_PAGE}checks/",
    f"{TABLE_PAGE}ingestion/",
    f"{TABLE_PAGE}ingestion/setup/",
    f"{TABLE_PAGE}ingestion/sessions/cp_1_0a0b0c0d/",
    f"{TABLE_PAGE}rebalance/",
    f"{TABLE_PAGE}rebalance/begin/",
    f"{TABLE_PAGE}config/",
    f"{TABLE_PAGE}config/edit/",
    f"{TABLE_PAGE}config/history/",
    f"{TABLE_PAGE}config/delete-table/",
    "/console/deleted-tables/",
    f"{TABLE_PAGE}passes/",
    f"{TABLE_PAGE}audit/",
    "/console/new-table/",
    "/console/new-table/stream/",
    "/console/pushes/",
    "/console/pushes/new/",
    "/console/query/",
    "/console/passes/",
    "/console/findings/",
    "/console/servers/",
    "/console/audit/",
    "/console/tokens/",
    "/console/settings/",
]


def _mirror(world: World) -> None:
    """What the mirror process would do after a rollback."""
    table = Table.objects.get(name="t_OFFLINE")
    LineageEntry.objects.filter(table=table).update(state=world.state("entry-1"))
    Segment.objects.filter(table=table).exclude(name__in=world.visible).update(is_visible=False)
    Table.objects.filter(pk=table.pk).update(rows_visible=10 * len(world.visible), updated_at=timezone.now())


def test_an_operator_rolls_back_and_sees_other_rows(page: Page, world: World) -> None:
    expect(page.get_by_role("row", name=re.compile("t_OFFLINE"))).to_contain_text("336,776")
    page.get_by_role("link", name="t_OFFLINE", exact=True).click()
    page.get_by_role("navigation", name="Table").get_by_role("link", name="Lineage").click()
    page.get_by_role("link", name="Roll back…").click()
    expect(page.get_by_role("region", name="What queries see before and after")).to_contain_text("Rows")
    page.get_by_label("Reason").fill("yesterday's file was incomplete")
    page.get_by_label("Type the table's name to confirm").fill("t")
    page.get_by_role("button", name="Roll back t_OFFLINE").click()
    expect(page.get_by_text("This is not the table's name")).to_be_visible()
    assert world.state("entry-1") == "COMPLETED"
    page.get_by_label("Type the table's name to confirm").fill("t_OFFLINE")
    page.get_by_role("button", name="Roll back t_OFFLINE").click()
    expect(page.get_by_text("Rolled back. Queries on t_OFFLINE")).to_be_visible()
    assert (world.state("entry-1"), world.visible) == ("REVERTED", list(OLD))
    page.get_by_role("link", name=re.compile("Audit record")).click()
    page.wait_for_url("**/console/audit/**")  # the reason also stands on the page that the click leaves
    expect(page.get_by_text("yesterday's file was incomplete")).to_be_visible()
    _mirror(world)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Tables").click()
    expect(page.get_by_role("row", name=re.compile("t_OFFLINE")).first).to_contain_text("20")


def test_the_keyboard_alone_reaches_and_confirms_a_rollback(page: Page, world: World) -> None:
    page.goto(f"{TABLE_PAGE}lineage/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.includes('Roll back')"):
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Rollback of one replacement").wait_for()
    page.get_by_label("Reason").focus()
    page.keyboard.type("bad data")
    page.keyboard.press("Tab")
    page.keyboard.type("t_OFFLINE")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Rolled back. Queries on t_OFFLINE")).to_be_visible()
    assert world.state("entry-1") == "REVERTED"


def test_focus_is_visible(page: Page) -> None:
    page.keyboard.press("Tab")
    width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert width == "3px"


def test_ctrl_enter_runs_the_query_and_remembers_it(page: Page) -> None:
    page.goto("/console/query/")
    page.get_by_role("button", name='SELECT COUNT(*) FROM "t"').click()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Result")).to_contain_text("AA")
    page.reload()
    expect(page.locator("#recent-queries")).to_contain_text('SELECT COUNT(*) FROM "t"')
    page.get_by_label("SQL").fill("select 2")
    page.keyboard.press("Control+Enter")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "result.csv"


def test_a_push_is_followed_until_it_is_over(page: Page) -> None:
    push = Push.objects.get()
    page.goto(f"/console/pushes/{push.pk}/")
    expect(page.get_by_text("Now building segments.", exact=True)).to_be_visible()
    Push.objects.update(stage="UPLOAD", segments_built=8)
    expect(page.get_by_text("Now registering segments.", exact=True)).to_be_visible()
    expect(page.locator("#announcer")).to_have_text("RUNNING Now registering segments.")
    push.segments.update(name=NEW[0])
    Push.objects.update(
        state="DONE", stage="END", plan={"replaces": True}, finished_at=timezone.now() + timedelta(seconds=1)
    )
    expect(page.get_by_text("Queries see the new snapshot.", exact=True)).to_be_visible()
    assert page.locator("[hx-trigger='every 1s']").count() == 0


def test_slash_goes_to_the_search_field(page: Page) -> None:
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_dark_mode_follows_the_system(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto("/")
    red, green, blue = (
        int(n) for n in re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60
    page.emulate_media(color_scheme="light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 246, 248)"


def test_pages_load_nothing_foreign_and_break_no_policy(page: Page, live_server: object) -> None:
    foreign: list[str] = []
    faults: list[str] = []
    base = str(live_server)
    page.on("request", lambda request: None if request.url.startswith((base, "data:")) else foreign.append(request.url))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    for address in PAGES:
        page.goto(address)
        page.locator(".health .badge").first.wait_for()
    assert (foreign, faults) == ([], [])
