"""axe finds nothing serious on any page that Django knows: all of the admin and of the console, light and dark; and
on the API's documents.
"""

from __future__ import annotations

from typing import Final

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, Page

from segments.models import (
    Push,
    Table,
)
from segments.store.records.instances import join
from tests.browser.accessibility.faults import faults_of, faults_shown, logged_in_as
from tests.browser.accessibility.registered import admin_actions, admin_addresses, console_routes, whole_pages
from tests.browser.accessibility.rows import client_of, values_of
from tests.browser.conftest import NEW
from tests.factories import make_entry, make_files, make_finding, make_session
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.realtime_world import RealtimeWorld
from tests.services.world import World

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


#: What is there only while something runs, was rolled back or was deleted: buttons, which have the page of all buttons,
#: files and parts of pages.
_OTHER_STATES: Final = (
    "/console/deleted-tables/<typed>/bring-back/",
    "/console/pushes/<push_id>/report.csv",
    "/console/pushes/<push_id>/report.json",
    "/console/tables/<typed>/diff/values/",
    "/console/tables/<typed>/lineage/<entry_id>/end/cancel/",
    "/console/tables/<typed>/lineage/<entry_id>/undo/",
    "/console/tables/<typed>/rollback/carry-on/",
    "/console/tables/<typed>/rollback/give-up/",
    "/login/sso/return/",
)


def test_no_page_of_the_admin_has_a_serious_fault(root: User, realtime: RealtimeWorld, context: BrowserContext) -> None:
    table = Table.objects.get(name=REALTIME.typed)
    make_files(make_session(table), "FAILED", "/data/in/bad.csv", error="'x' is not an INT.", line=7)
    make_entry(table)
    page = logged_in_as(context, "root")
    faults: dict[str, object] = {}
    for address in dict.fromkeys(admin_addresses(root)):
        page.goto(address)
        faults |= faults_shown(page, address)
    for address, action in admin_actions(root):
        page.goto(address)
        page.locator("input[name=_selected_action]").first.check()
        page.locator("select[name=action]").first.select_option(action)
        page.get_by_role("button", name="Run").first.click()
        page.wait_for_load_state()
        faults |= faults_shown(page, f"{address}: {action}")
    assert faults == {}


def test_the_documents_of_the_api_have_no_serious_fault(root: User, page: Page) -> None:
    page.goto("/api/docs/")
    for method in ("get", "post", "delete"):
        page.locator(f".opblock-{method} .opblock-summary-control").first.click()
        page.locator(f".opblock-{method} .responses-wrapper").first.wait_for()
    page.get_by_role("button", name="Try it out").first.click()
    assert faults_shown(page, "/api/docs/") == {}


def test_no_page_of_the_console_has_a_serious_fault(
    root: User, blocked: Push, prod: PinotCluster, world: World, context: BrowserContext
) -> None:
    join(world.memory, "Server_s_8098", "s", 8098, ["DefaultTenant_OFFLINE"], adminPort="8097")
    routes, client = [r for r in console_routes() if "/consumption/" not in r.path], client_of(root)
    values = values_of("t_OFFLINE", NEW[0]) | {"task_type": "none"}
    of_no_table = [r for r in routes if r.path.startswith("/console/findings/<")]
    stuck = make_finding(table_name="", code="worker-stuck")
    of_workers, _ = whole_pages(client, of_no_table, values | {"finding": stuck.pk}, "")
    assert len(of_workers) == len(of_no_table)
    routes = [r for r in routes if r not in of_no_table]
    pages, refused = whole_pages(client, routes, values, f"s={NEW[0]}&e=entry-1&from=1&to=2")
    tasks = [r for r in routes if "/passes/tasks/" in r.path]
    of_tasks = {"task_type": "MergeRollupTask", "name": next(iter(prod.rest.tasks.tasks["MergeRollupTask"]))}
    of_pinot, refused_there = whole_pages(client, tasks, of_tasks, "table=orders_OFFLINE", base="/console/c/prod/")
    assert refused_there == ["/console/passes/tasks/schedule/"]
    assert sorted({*refused} - {r.path for r in tasks}) == list(_OTHER_STATES)
    assert faults_of(logged_in_as(context, "root"), [*pages, *of_workers, *of_pinot]) == {}


def test_no_page_of_consumption_has_a_serious_fault(
    root: User, realtime: RealtimeWorld, context: BrowserContext
) -> None:
    routes, typed = [r for r in console_routes() if "/consumption/" in r.path], REALTIME.typed
    values = values_of(typed, realtime.consuming[0])
    pages, refused = whole_pages(client_of(root), routes, values, f"t={typed}&all=1")
    assert refused == []
    assert faults_of(logged_in_as(context, "root"), pages) == {}
