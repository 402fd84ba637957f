"""The journey on the fake Pinot: what a person does in the console reaches a cluster that is not ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from segments import wiring
from segments.clusters.pinot import calls
from segments.clusters.pinot import push as pinot_push
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, Push
from segments.services.core.context import Context
from segments.services.jobs import queue
from segments.services.push.push_run import run_push
from tests.browser import pinot_journey as journey
from tests.browser.pinot_journey import Names
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.push.pushing import LocalBuilder, PushWorld
from tests.services.realtime.kinds import realtime_pinot
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.segments.kinds import keep_copies
from tests.services.world import TABLE

pytestmark = pytest.mark.browser


class FakePlace:
    """Two tables of two fake Pinots, whose simulated insides have one table each: ``prod`` and ``stream``."""

    def __init__(self, offline: PinotCluster, inside: PushWorld, realtime: PinotCluster) -> None:
        self._offline, self._inside, self._realtime = offline, inside, realtime
        self.names = Names("/console/c/prod/", TABLE.typed, REALTIME.typed, inside.folder)

    def work(self) -> None:
        """Run pushes that wait, commit what was paused, mirror."""
        self._inside.now += 1000
        for push in Push.objects.filter(state=Push.State.QUEUED):
            run_push(self._offline.ctx, str(push.pk), "worker", builder=LocalBuilder())
        self._inside.serve()
        world: Any = self._realtime.inside
        if world.pause.paused:
            world.commit()
        for ctx in (self._offline.ctx, self._realtime.ctx):
            mirror(ctx)

    def visible(self) -> list[str]:
        """By the lineage inside."""
        return self._offline.visible


class StreamPlace(FakePlace):
    """The same seen from the cluster of the realtime table."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.names = replace(self.names, cluster="/console/c/stream/")


def mirror(ctx: Context) -> None:
    """What the mirror process would do."""
    ClusterFollower(ctx.store, Cluster.objects.get(name=ctx.cluster)).sync_all()


@pytest.fixture
def parts(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[list[Any]]:
    """A Pinot 1.5.1 whose table t shows segment old, and one whose table t_REALTIME consumes."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    monkeypatch.setattr(pinot_push, "_TOGETHER", 1)
    monkeypatch.setattr(queue, "enqueue_push", lambda *_: True)
    inside = PushWorld(tmp_path / "pushes")
    settings.INPUT_ROOTS = [str(inside.folder)]
    inside.file("monday.csv", "Rom,1,17000", "Bern,2,17001")
    keep_copies(inside)
    inside.upload("old")
    offline = PinotCluster(tmp_path / "prod", inside=inside)
    realtime = realtime_pinot(tmp_path / "stream", "1.5.1", partitions=2)
    realtime.ctx = replace(realtime.ctx, cluster="stream")
    for ctx in (offline.ctx, realtime.ctx):
        now = timezone.now()
        Cluster.objects.create(
            name=ctx.cluster, kind="pinot", state="up", version="1.5.1", state_since=now, checked_at=now,
            mirrored_at=now, controller_urls=["https://pinot-controller.example:9000"],
        )  # fmt: skip
        mirror(ctx)
    with wiring.use_cluster(offline.ctx), wiring.use_cluster(realtime.ctx):
        yield [offline, inside, realtime]


def test_a_push_is_rolled_back_and_the_rollback_undone(page: Page, parts: list[Any]) -> None:
    place = FakePlace(*parts)
    pushed = journey.push(page, place)
    journey.roll_back(page, place)
    assert place.visible() == ["old"]
    journey.undo(page, place)
    assert [s.partition("_undo")[0] for s in place.visible()] == pushed
    page.goto(f"{place.names.cluster}tables/{place.names.offline}/audit/")
    for reason in ("the files of Monday", "Monday was incomplete", "Monday was right"):
        expect(page.get_by_text(re.compile(reason)).first).to_be_visible()


def test_consumption_is_paused_and_goes_on(page: Page, parts: list[Any]) -> None:
    place, world = StreamPlace(*parts), parts[2].inside
    journey.pause(page, place)
    assert (world.pause.paused, world.consuming) == (True, [])
    journey.resume(page, place)
    assert (world.pause.paused, len(world.consuming)) == (False, 2)
    ours = AuditEvent.objects.filter(cluster="stream", actor="olga").order_by("pk")
    assert [(e.action, e.outcome) for e in ours] == [("pauseConsumption", "done"), ("resumeConsumption", "done")]
