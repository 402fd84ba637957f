"""axe finds nothing serious on any page, light or dark, and no page is wider than a phone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django_celery_beat.models import PeriodicTask
from playwright.sync_api import BrowserContext, Page

from segments.models import Push, Table
from segments.services.upkeep.periodic_passes import DECLARED
from segments.services.upkeep.schedules import ensure_schedules
from tests.browser.test_journey import PAGES, TABLE_PAGE
from tests.factories import PASSWORD, make_user
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.realtime_world import RealtimeWorld

pytestmark = pytest.mark.browser


#: Of axe's rules only those on colours depend on the scheme.
_COLOURS = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}


def _serious(page: Page, **options: Any) -> list[str]:
    found = Axe().run(page, **options).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in ("serious", "critical")]


def _faults(page: Page, addresses: list[str]) -> dict[str, object]:
    """Faults of pages in light and in dark colours; on a phone none of them is wider than the screen."""
    faults: dict[str, object] = {}
    for address in addresses:
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(address)
        page.locator(".health .badge").first.wait_for()
        if found := _serious(page):
            faults[address] = found
        page.emulate_media(color_scheme="dark")
        if found := _serious(page, options=_COLOURS):
            faults[f"{address} in dark colours"] = found
        page.set_viewport_size({"width": 390, "height": 844})
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            faults[f"{address} on a phone"] = width
    return faults


def test_no_page_has_a_serious_fault(page: Page) -> None:
    assert _faults(page, [*PAGES, f"/console/pushes/{Push.objects.get().pk}/", "/console/nothing/"]) == {}


def test_no_page_around_failed_checks_has_a_serious_fault(page: Page, blocked: Push) -> None:
    push, entry = f"/console/pushes/{blocked.pk}/", f"{TABLE_PAGE}lineage/{blocked.entry_id}/"
    pages = [
        push,
        f"{push}finish/",
        f"{push}override/",
        entry,
        f"{entry}end/",
        f"{entry}check/",
        f"{TABLE_PAGE}checks/",
    ]
    assert (
        _faults(page, [*pages, f"{TABLE_PAGE}lineage/", f"{TABLE_PAGE}deleted/", f"{TABLE_PAGE}deleted/extra/cancel/"])
        == {}
    )
    page.goto(push)
    page.get_by_text("5 rows, 20 are replaced").wait_for()


def test_no_page_of_a_realtime_table_has_a_serious_fault(page: Page, realtime: RealtimeWorld) -> None:
    base = f"/console/tables/{REALTIME.typed}/"
    home, segment = f"{base}consumption/", f"{base}segments/{realtime.consuming[0]}/"
    pages = [
        home,
        f"{home}partitions/0/",
        f"{home}stream/",
        f"{home}stream/messages/",
        f"{home}pause/",
        f"{home}pause/?p=0",
        f"{home}resume/",
        f"{home}commit/",
        f"{home}set-aside/",
        f"{home}set-aside/replay/?all=1",
        f"{home}set-aside/delete/?all=1",
        segment,
        f"{segment}reset/",
        "/console/findings/",
    ]
    assert _faults(page, [base, *pages]) == {}
    page.goto(home)
    page.get_by_text("The message is an array, not a JSON object.").wait_for()


def test_no_page_of_the_admin_or_of_the_api_has_a_serious_fault(
    realtime: RealtimeWorld, context: BrowserContext
) -> None:
    page = context.new_page()
    make_user("boss", is_staff=True, is_superuser=True)
    ensure_schedules(DECLARED)
    page.goto("/login/")
    page.get_by_label("User name").fill("boss")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")
    schedules, rows = "/admin/django_celery_beat/periodictask/", "/admin/segments/"
    addresses = [
        "/admin/",
        f"{rows}table/",
        f"{rows}table/{Table.objects.all()[0].pk}/change/",
        f"{rows}auditevent/",
        f"{rows}grant/add/",
        schedules,
        f"{schedules}{PeriodicTask.objects.all()[0].pk}/change/",
        "/admin/auth/user/",
        "/api/docs/",
    ]
    faults: dict[str, list[str]] = {}
    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        if found := _serious(page):
            faults[address] = found
    assert faults == {}


def test_the_log_in_page_has_no_serious_fault(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/login/")
    assert _serious(page) == []
