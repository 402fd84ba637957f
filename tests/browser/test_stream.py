"""An operator pauses a table, sees what waits grow and when it expires, and reads in the preview of the resume what it
will do.
"""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from segments.domain.realtime.streams.retention import Retention
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster
from segments.services.realtime.monitor import sampling
from tests.factories import CLUSTER
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.realtime_world import RealtimeWorld

pytestmark = pytest.mark.browser
TICKS = "Chart.getChart(document.querySelector('figure[data-drawn] canvas')).scales.y.ticks.map(t => t.value)"
PAGE = f"/console/tables/{REALTIME.typed}/consumption/stream/"


def test_pausing_seeing_the_backlog_grow_and_previewing_the_resume(page: Page, realtime: RealtimeWorld) -> None:
    world = realtime
    world.now = int(timezone.now().timestamp() * 1000)
    page.goto(PAGE)
    expect(page.locator("figure[data-drawn]").first).to_be_visible()
    assert all(at == int(at) for at in page.evaluate(TICKS)), "there is no half message"
    page.get_by_role("link", name="Consumption").first.click()
    page.locator("#pause").click()
    page.get_by_label("Reason").fill("the schema changes")
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("is paused; what was consumed").wait_for()
    world.commit("10")
    ClusterFollower(world.memory, Cluster.objects.get(name=CLUSTER)).sync_all()
    world.streams.keeps, world.streams.stored_ms = Retention("time", 4 * 3_600_000), world.now - 3_600_000
    world.now -= 60_000
    for end in (1_010, 13_010):
        world.streams.topics["a"] = {0: [0, end], 1: [0, 10]}
        world.now += 30_000
        sampling.run(world.ctx, REALTIME)
    page.get_by_role("link", name="Stream", exact=True).click()
    expect(page.locator("#waiting")).to_contain_text(re.compile(r"13,000\s*messages, \+[\d,]+ per minute"))
    expect(page.locator("#expires")).to_contain_text("in ")
    page.get_by_text("The same as a table").click()
    expect(page.locator("#stream-values")).to_contain_text("13,000")
    expect(page.locator("#stream-values")).to_contain_text("paused")
    page.locator("#stream-resume").click()
    expect(page.get_by_role("region", name="Where each partition resumes")).to_contain_text("13,000 messages")
