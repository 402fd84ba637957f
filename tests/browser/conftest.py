"""A live server over a small cluster in memory whose mirror follows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from segments import wiring
from segments.domain.replacement.checks import CheckReport, Level, Outcome
from segments.domain.set_aside import Message, Report
from segments.domain.tables.schema import parse_schema
from segments.gateways.servers import Profile
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, LagSample, Push, Table
from segments.services.realtime import consumption
from segments.services.replacement import protocol as replacement
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.checks.check_settings import write_check_document
from segments.services.segments import deletion
from segments.services.set_aside import keeping
from segments.store import paths
from segments.store.records.data_loss import DataLoss, record_data_loss
from tests.browser import chromium
from tests.console.conftest import FakeBroker
from tests.factories import (
    CLUSTER,
    PASSWORD,
    make_entry,
    make_event,
    make_files,
    make_finding,
    make_push,
    make_push_segment,
    make_run,
    make_segments,
    make_session,
    make_snapshot,
    make_table,
    make_user,
)
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.embedded_engine import asking
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.realtime_world import RealtimeWorld
from tests.services.world import ANN, TABLE, World

NEW, OLD = ("sales_20_0", "sales_20_1"), ("sales_19_0", "sales_19_1")


@pytest.fixture
def world(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Table t: snapshot old was replaced by new; the mirror shows it; one push, finding, pass and audit record."""
    silent = SimpleNamespace(
        errors=lambda url, table: {}, profile=lambda url, table, segments: Profile((), tuple(segments))
    )
    monkeypatch.setattr(wiring, "servers", lambda: silent)
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
        make_files(make_session(table), "FAILED", "/data/in/bad.csv", error="'x' is not an INT.", line=7)
        make_push_segment(make_push(table_name=TABLE.raw))
        make_finding(table_name=TABLE.typed)
        make_run(table_name=TABLE.typed)
        make_snapshot(1, TABLE.typed, *OLD, rows=20)
        make_snapshot(2, TABLE.typed, *NEW, rows=20, kind="switch", entries=[entry], states={entry: "COMPLETED"})
        make_event(target=TABLE.typed, detail={"entry": entry})
        make_table(
            "empty_OFFLINE",
            segments_total=0,
            segments_visible=0,
            replicas_wanted=0,
            replicas_online=0,
            rows_visible=0,
            bytes_visible=0,
        )
        make_user("olga", "operate", "administer", is_staff=True)
        yield world


@pytest.fixture
def blocked(world: World) -> Push:
    """A push whose new side is hidden: one of the table's checks blocks it, another one warns. A segment waits for its
    deletion.
    """
    new = "sales_21_0"
    entry = replacement.start_replace(world.ctx, TABLE, list(NEW), [new], actor=ANN)
    world.upload(new)
    outcomes = (
        Outcome("rows", "rowCount", Level.BLOCK, False, "5 rows, 20 are replaced", "from 16 rows"),
        Outcome("no nulls", "nullShare", Level.WARN, False, "0.5 (5 of 10 rows)", "at most 0.05 of 'v'"),
        Outcome("keys", "uniqueKey", Level.BLOCK, True, "no key twice", "every (n) once"),
    )
    snapshot_checks._store(world.ctx, TABLE, CheckReport(TABLE.typed, entry, world.now, 3, 1, outcomes, actor="ann"))
    table = Table.objects.get(name=TABLE.typed)
    make_entry(table, entry, "IN_PROGRESS", segments_from=list(NEW), segments_to=[new])
    world.memory.create(paths.schema(TABLE.raw), parse_schema({"schemaName": TABLE.raw}).to_record())
    write_check_document(world.ctx, TABLE, {"checks": [{"kind": "rowCount", "minRatio": 0.8}]}, actor=ANN)
    world.upload("extra")
    deletion.delete_segments(world.ctx, TABLE, ["extra"], actor=ANN)
    push = Push.objects.get()
    push.state, push.stage, push.entry_id, push.plan = "BLOCKED", "END", entry, {"replaces": True}
    push.save()
    return push


def _consumers(segment: str, *, is_detailed: bool) -> list[dict[str, Any]]:
    """What a server answers of its one consuming segment."""
    if is_detailed:
        counts = {"rows": 40, "bytes": 4096, "messages": 42, "badMessages": 2}
        bad = [{"offset": "17", "reason": "The message is an array, not a JSON object."}]
        return [{"segmentName": segment, "partition": 0, **counts, "badSamples": bad}]
    info = {"recordsLag": {"0": "7"}, "currentOffsets": {"0": "42"}}
    states = {"consumerState": "CONSUMING", "lastConsumedTimestamp": 5}
    return [{"segmentName": segment, **states, "partitionOffsetInfo": info}]


@pytest.fixture
def realtime(world: World, tmp_path: Path) -> Iterator[RealtimeWorld]:
    """A realtime table with two partitions: one sets messages aside and has lost some, the other is paused."""
    realtime = RealtimeWorld(tmp_path)

    def say(url: str, method: str, path: str, *_: object) -> list[dict[str, Any]]:
        return _consumers(realtime.consuming[0], is_detailed=path.endswith("/consumers"))

    realtime.ctx = asking(replace(realtime.ctx, cluster=CLUSTER), say)
    record_data_loss(
        realtime.ctx.store, REALTIME.typed, [DataLoss(0, "100", "350", realtime.consuming[0], realtime.now)]
    )
    consumption.pause_partitions(realtime.ctx, REALTIME, [1], actor=ANN)
    ClusterFollower(realtime.memory, Cluster.objects.get(name=CLUSTER)).sync_all()
    table, now = Table.objects.get(name=REALTIME.typed), timezone.now()
    for minutes, behind in ((30, 0), (20, 900), (10, 30), (1, 7)):
        LagSample.objects.create(table=table, partition=0, at=now - timedelta(minutes=minutes), messages=behind)
    payloads = [b'{"id": "a", "password": "x", "ts": "noon"}', b"no json", b'{"id": "fits", "ts": 1700000000000}']
    told = [
        Message("a", n % 2, str(17 + n), "gone", realtime.now, 0, "", "It is not JSON.", len(p), p)
        for n, p in enumerate(payloads)
    ]
    keeping.keep_report(realtime.ctx, REALTIME, Report("1", "Server_1", told, [], 7))
    make_finding(
        table_name=REALTIME.typed,
        code="consumption-data-loss",
        subject="0:100:350",
        severity="error",
        message="Rows are lost.",
    )
    with wiring.use(realtime.ctx, FakeBroker()):
        yield realtime


@pytest.fixture
def prod(world: World, tmp_path: Path) -> Iterator[PinotCluster]:
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


@pytest.fixture
def context(browser: Browser, live_server: LiveServer, world: World) -> Iterator[BrowserContext]:
    """A fresh browser profile at the live server."""
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page that is logged in as an operator."""
    page = context.new_page()
    log_in(page)
    return page


def log_in(page: Page) -> None:
    """As the operator."""
    chromium.log_in(page, "olga", PASSWORD)
