"""axe finds nothing serious on pages in states of their own, light or dark, and none is wider than a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page

from segments.models import Push
from tests.browser.accessibility.faults import faults_of, serious
from tests.browser.test_journey import PAGES, TABLE_PAGE
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.realtime_world import RealtimeWorld

pytestmark = pytest.mark.browser


def test_no_page_has_a_serious_fault(page: Page) -> None:
    assert faults_of(page, [*PAGES, f"/console/pushes/{Push.objects.get().pk}/", "/console/nothing/"]) == {}


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
    pages += [f"{TABLE_PAGE}lineage/", f"{TABLE_PAGE}deleted/", f"{TABLE_PAGE}deleted/extra/cancel/"]
    assert faults_of(page, pages) == {}
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
    assert faults_of(page, [base, *pages]) == {}
    page.goto(home)
    page.get_by_text("The message is an array, not a JSON object.").wait_for()


def test_the_log_in_page_has_no_serious_fault(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/login/")
    assert serious(page) == []
