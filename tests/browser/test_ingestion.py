"""A newcomer keeps a table in step with a folder of CSV, in a real browser: one file is bad and corrected, rows appear
all at once, and the session is undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from segments import wiring
from segments.mirror.cluster_follower import ClusterFollower
from segments.mirror.ingestion.record_source import RecordSource
from segments.mirror.ingestion.session_follower import SessionFollower
from segments.models import Cluster
from segments.services.ingestion import task_settings
from tests.console.conftest import FakeBroker
from tests.factories import CLUSTER, make_user
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.browser
TABLE_PAGE = "/console/tables/t_OFFLINE/"


@pytest.fixture
def world(transactional_db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Table t, whose file ingestion is off; two files, of which one has a row that cannot be read."""
    silent = SimpleNamespace(errors=lambda url, table: {}, profile=lambda *_: None)
    monkeypatch.setattr(wiring, "servers", lambda: silent)
    settings.INPUT_ROOTS = [str(tmp_path)]
    world = IngestionWorld(tmp_path, APPEND)
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    task_settings.switch_off(world.ctx, TABLE, actor=ANN)
    world.put("day=1.csv", 3)
    world.put("day=2.csv", 1, bad=True)
    Cluster.objects.get_or_create(name=CLUSTER)
    make_user("olga", "operate", "administer")
    with wiring.use(world.ctx, FakeBroker()):
        follow(world)
        yield world


def follow(world: IngestionWorld) -> None:
    """What the mirror process does."""
    cluster = Cluster.objects.get(name=CLUSTER)
    ClusterFollower(world.memory, cluster).sync_all()
    SessionFollower(RecordSource(world.ctx), cluster).sync_all()


def press(page: Page, button: str, **confirm: str) -> None:
    """Give a reason and do it."""
    page.get_by_label("Reason").fill("because")
    for text in confirm.values():
        page.get_by_label("Type the table").fill(text)
    page.get_by_role("button", name=button, exact=True).click()


def switch_on(page: Page, world: IngestionWorld) -> None:
    """Every hour, after a preview."""
    page.goto(TABLE_PAGE)
    page.get_by_role("navigation", name="Table").get_by_role("link", name="File ingestion").click()
    page.get_by_role("link", name="Switch it on…").click()
    page.get_by_label("Folder").fill(str(world.folder))
    page.get_by_label("When").select_option("Every hour")
    page.get_by_role("button", name="Preview…").click()
    expect(page.get_by_text("The first session reads 2 files")).to_be_visible()
    press(page, "Save")
    expect(page.get_by_text("File ingestion is on.")).to_be_visible()
    follow(world)
    page.reload()
    expect(page.get_by_text("Every hour")).to_be_visible()


def fail_once(page: Page, world: IngestionWorld) -> None:
    """The first run: one file is built, the other one fails, and queries see nothing of either."""
    page.get_by_role("link", name="Trigger now…").click()
    press(page, "Trigger now")
    expect(page.get_by_text("The files are being read now.")).to_be_visible()
    follow(world)
    page.get_by_role("link", name="Watch the session").click()
    expect(page.get_by_text("The folder was listed; no file is read yet.").first).to_be_visible()
    world.work()
    follow(world)
    expect(page.get_by_text("1 file of 2 failed.").first).to_be_visible()  # without a click
    bad = page.get_by_role("row", name=re.compile("day=2.csv"))
    expect(bad).to_contain_text("failed")
    expect(bad).to_contain_text("line 2")
    assert world.vis == 0


def test_a_folder_with_one_bad_file_is_read_corrected_retried_and_undone(page: Page, world: IngestionWorld) -> None:
    switch_on(page, world)
    fail_once(page, world)
    world.put("day=2.csv", 4)
    page.get_by_role("link", name="Retry failed now…").click()
    expect(page.get_by_text("1 file is read, 1 file is ready from an earlier run and kept")).to_be_visible()
    press(page, "Retry now")
    expect(page.get_by_text("The files are being read now.")).to_be_visible()
    world.work()
    follow(world)
    expect(page.get_by_text("Done: queries see the rows of 2 files.").first).to_be_visible(timeout=10_000)
    assert world.vis == 7
    page.get_by_role("link", name="Undo…").click()
    press(page, "Undo the session", confirm="t_OFFLINE")
    expect(page.get_by_text("The session is undone:")).to_be_visible()
    follow(world)
    page.reload()
    expect(page.get_by_text("Undone: its rows are not visible any more.").first).to_be_visible()
    assert world.vis == 0
