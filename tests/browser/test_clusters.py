"""Several clusters in a browser: the switcher leads to another one and back, a cluster that goes down says so without a
reload.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from segments import wiring
from segments.models import Cluster
from tests.browser.test_accessibility import _faults
from tests.factories import make_entry, make_segments, make_table
from tests.pinot_cluster.fake_pinot import PinotCluster

pytestmark = pytest.mark.browser

PROD = "/console/c/prod/"


@pytest.fixture
def prod(page: Page, tmp_path: Path) -> Iterator[PinotCluster]:
    """A Pinot that is up, and a table of it."""
    pinot = PinotCluster(tmp_path / "prod")
    row = Cluster.objects.create(
        name="prod",
        kind="pinot",
        controller_urls=["https://pinot-controller.example:9000"],
        state="up",
        version="0.11.0",
        state_since=timezone.now() - timedelta(days=3),
        checked_at=timezone.now(),
        mirrored_at=timezone.now(),
        calls_per_minute=38,
        zookeeper="zk1:2181,zk2:2181",
        zookeeper_cluster="PinotCluster",
        auth="basic",
        auth_user="robot",
        auth_source="stored",
    )
    table = make_table("orders_OFFLINE", cluster=row)
    failed = {"taskId": "x_0", "state": "TASK_ERROR", "info": "no space left on device"}
    pinot.rest.tasks.add(
        "MergeRollupTask", 1, subtaskCount={"total": 2, "completed": 1, "error": 1}, subtaskInfos=[failed]
    )
    make_segments(table, "orders_0", "orders_1")
    make_entry(table, segments_from=["orders_a"], segments_to=["orders_0", "orders_1"])
    with wiring.use_cluster(pinot.ctx):
        yield pinot


def go_down() -> None:
    since = timezone.now() - timedelta(minutes=6)
    why = "https://pinot-controller.example:9000 does not answer: [Errno 111] Connection refused. Check that it runs."
    Cluster.objects.filter(name="prod").update(state="down", state_since=since, mirrored_at=since, last_error=why)


def test_the_switcher_leads_to_another_cluster_and_back(page: Page, prod: PinotCluster) -> None:
    page.goto("/console/findings/")
    page.locator(".switcher summary").click()
    page.keyboard.press("Escape")
    expect(page.locator(".switcher .menu")).to_be_hidden()
    page.locator(".switcher summary").click()
    page.locator(".switcher").get_by_role("link", name="prod").click()
    expect(page).to_have_url(re.compile(re.escape(PROD) + "$"))
    expect(page.locator(".switcher summary")).to_contain_text("prod")
    page.get_by_role("link", name="orders_OFFLINE").click()
    page.get_by_role("link", name="Lineage").first.click()
    expect(page).to_have_url(re.compile(re.escape(f"{PROD}tables/orders_OFFLINE/lineage/") + "$"))
    page.locator(".switcher summary").click()
    page.locator(".switcher").get_by_role("link", name="pinotadmin").click()
    expect(page.get_by_role("link", name="empty_OFFLINE")).to_be_visible()
    expect(page.get_by_role("link", name="orders_OFFLINE")).to_have_count(0)


def test_a_cluster_that_goes_down_says_so_without_a_reload_and_says_when_it_is_back(
    page: Page, prod: PinotCluster
) -> None:
    page.goto(f"{PROD}tables/orders_OFFLINE/")
    expect(page.get_by_role("alert")).to_have_count(0)
    go_down()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Cluster prod is down since", timeout=30_000)
    expect(alert).to_contain_text("Connection refused")
    expect(alert).to_contain_text("6 min ago")
    Cluster.objects.filter(name="prod").update(state="up", last_error="")
    expect(page.get_by_role("alert")).to_have_count(0, timeout=30_000)


def test_no_page_of_a_cluster_has_a_serious_fault(page: Page, prod: PinotCluster) -> None:
    go_down()
    pages = [
        "/console/clusters/",
        "/console/clusters/new/",
        f"{PROD}cluster/",
        PROD,
        f"{PROD}tables/orders_OFFLINE/",
        f"{PROD}passes/tasks/",
        f"{PROD}passes/tasks/MergeRollupTask/",
        "/console/c/nothing/",
    ]
    assert _faults(page, pages) == {}
    page.goto(PROD)
    page.locator(".switcher summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
