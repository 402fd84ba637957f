"""The history in a browser: three steps back and forward again, two clicks and a reason each way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from segments.clusters.embedded.replacement import switch_back
from segments.console import operation
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster
from segments.services.replacement.protocol import end_replace, start_replace
from tests.browser.conftest import NEW
from tests.factories import CLUSTER
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.browser

HISTORY = f"/console/tables/{TABLE.typed}/history/"


@pytest.fixture
def three_pushes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshot 5 is the third push since snapshot 2; servers load at once, and the mirror has seen each."""
    follower = ClusterFollower(world.memory, Cluster.objects.get(name=CLUSTER))
    wait = switch_back.wait_until_online
    monkeypatch.setattr(switch_back, "wait_until_online", lambda *a, **more: (world.serve(), wait(*a, **more)))
    monkeypatch.setattr(operation, "wait_for_mirror", lambda *_: follower.sync_all())
    before = list(NEW)
    for day in (21, 22, 23):
        world.now += 3_600_000
        after = [f"sales_{day}_{part}" for part in range(day - 20)]
        entry = start_replace(world.ctx, TABLE, before, after, actor=ANN)
        world.upload(*after)
        end_replace(world.ctx, TABLE, entry, actor=ANN)
        follower.sync_all()
        before = after


@pytest.mark.usefixtures("three_pushes")
def test_three_steps_back_and_forward_again_are_two_clicks_and_a_reason_each(page: Page, world: World) -> None:
    page.goto(HISTORY)
    _picture(page, "history")
    page.locator("#snapshot-2").get_by_role("link", name="Go back to this…").click()
    _picture(page, "restore")
    page.get_by_label("Reason").fill("three bad files")
    page.get_by_role("button", name="Restore snapshot 2").click()
    expect(page.get_by_text("see snapshot 2 again")).to_be_visible()
    expect(page.locator("#snapshot-6")).to_contain_text("three bad files")
    assert world.visible == list(NEW)
    _picture(page, "gone-back")
    page.get_by_role("link", name="Undo", exact=True).click()
    page.get_by_label("Reason").fill("they were right")
    page.get_by_role("button", name="Restore snapshot 5").click()
    expect(page.get_by_text("see snapshot 5 again")).to_be_visible()
    assert world.visible == ["sales_23_0", "sales_23_1", "sales_23_2"]


def _picture(page: Page, name: str) -> None:
    """For whoever wants to see it: ``SCREENSHOTS=folder``; wide and narrow, light and dark."""
    folder = os.environ.get("SCREENSHOTS")
    if not folder:
        return
    for width in (1360, 390):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.screenshot(path=str(Path(folder) / f"{name}-{width}-{scheme}.png"), full_page=True)
