"""A live server over a small cluster in memory whose mirror follows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from segments import wiring
from segments.services import replacement
from tests.console.conftest import FakeBroker
from tests.factories import (
    CLUSTER,
    PASSWORD,
    make_entry,
    make_event,
    make_finding,
    make_push,
    make_push_segment,
    make_run,
    make_segments,
    make_table,
    make_user,
)
from tests.services.world import ANN, TABLE, World

NEW, OLD = ("sales_20_0", "sales_20_1"), ("sales_19_0", "sales_19_1")


@pytest.fixture
def world(transactional_db: None, tmp_path: Path) -> Iterator[World]:
    """Table t: snapshot old was replaced by new; the mirror shows it; one push, finding, pass and audit record."""
    world = World(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    with wiring.use(world.ctx, FakeBroker()):
        world.upload(*OLD)
        entry = replacement.start_replace(world.ctx, TABLE, OLD, NEW, actor=ANN)
        world.upload(*NEW)
        replacement.end_replace(world.ctx, TABLE, entry, actor=ANN)
        table = make_table(TABLE.typed)
        make_segments(table, *OLD, is_visible=False)
        make_segments(table, *NEW)
        make_entry(table, entry, segments_from=list(OLD), segments_to=list(NEW))
        make_push_segment(make_push(table_name=TABLE.raw))
        make_finding(table_name=TABLE.typed)
        make_run(table_name=TABLE.typed)
        make_event(target=TABLE.typed, detail={"entry": entry})
        make_table(
            "empty_OFFLINE", segments_total=0, segments_visible=0, replicas_wanted=0, replicas_online=0, rows_visible=0, bytes_visible=0
        )
        make_user("olga", "operate", is_staff=True)
        yield world


@pytest.fixture
def context(browser: Browser, live_server: LiveServer, world: World) -> Iterator[BrowserContext]:
    """A fresh browser profile that reaches only the live server."""
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    context.route("**/*", lambda route: route.continue_() if route.request.url.startswith(live_server.url) else route.abort())
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page that is logged in as an operator."""
    page = context.new_page()
    log_in(page)
    return page


def log_in(page: Page) -> None:
    """Through the form, as a person does."""
    page.goto("/")
    page.get_by_label("User name").fill("olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Tables").wait_for()
    #: The heading is there before style and scripts are; keys and colours need those.
    page.wait_for_load_state("load")
