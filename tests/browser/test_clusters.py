"""Several clusters in a browser: the switcher leads to another one and back, a cluster that goes down says so without a
reload.
"""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from segments.models import Cluster
from tests.browser.accessibility.faults import faults_of
from tests.pinot_cluster.fake_pinot import PinotCluster

pytestmark = pytest.mark.browser

PROD = "/console/c/prod/"


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
    assert faults_of(page, pages) == {}
    page.goto(PROD)
    page.locator(".switcher summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
