"""Scheduled tasks over several clusters: what Pinot does itself is left to it, and one cluster's trouble
stays its own.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from segments import tasks, wiring
from segments.clusters.pinot import passes as pinot_passes
from segments.clusters.pinot.engine import pinot_engine
from segments.gateways.celery_queue import CeleryQueue
from segments.models import AuditEvent, Cluster, LineageEntry, PassRun, Table
from segments.names import TableName
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.jobs import queue
from segments.services.upkeep import passes
from segments.services.upkeep.periodic_passes import DECLARED
from segments.store.memory import MemoryStore
from segments.store.on_pinot.overlay import OverlayStore
from tests.pinot_cluster.fake_rest import FakePinot, controller
from tests.services.embedded_engine import EMBEDDED

pytestmark = pytest.mark.django_db

ANN = Actor("ann", "a test")
TABLE = TableName("flights", "OFFLINE")


@pytest.fixture
def pinot() -> FakePinot:
    return FakePinot()


@pytest.fixture
def ctx(pinot: FakePinot) -> Iterator[Context]:
    own = MemoryStore()
    made = Context(
        "prod",
        OverlayStore(lambda: own, "prod", pinot.store),
        deep_store=None,
        clock=lambda: 0,
        new_id=lambda: "id",  # type: ignore[arg-type]
        controller_url="http://controller:9000",
        engine=pinot_engine(controller(pinot)),
        queue=CeleryQueue("prod"),
    )
    home = replace(
        made, cluster="own", store=own, engine=EMBEDDED, queue=CeleryQueue(), new_id=lambda: str(uuid.uuid4())
    )
    with wiring.use(home), wiring.use_cluster(made):
        yield made


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """What was handed to the workers."""
    found: list[tuple[str, list[Any], dict[str, Any]]] = []

    def send(name: str, args: list[Any], **more: Any) -> None:
        found.append((name, args, more))

    monkeypatch.setattr("segments.gateways.celery_queue.current_app.send_task", send)
    return found


def test_only_clusters_that_are_up_are_worked_on(sent: list[tuple[str, list[Any], dict[str, Any]]]) -> None:
    for name, state in (("a", "up"), ("b", "down"), ("c", "unknown"), ("d", "wrong-cluster")):
        Cluster.objects.create(name=name, kind="pinot", state=state)
    Cluster.objects.create(name="own")
    tasks._elsewhere("reap_entries")
    assert [(name, args) for name, args, _ in sent] == [
        ("segments.tasks.on_cluster", ["a", "reap_entries"]), ("segments.tasks.on_cluster", ["c", "reap_entries"]),
    ]  # fmt: skip
    assert all(more["expires"] for _, _, more in sent)


def test_a_slow_cluster_keeps_no_second_slot_for_the_same_and_never_all(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(ctx: Context) -> list[str]:
        entered.set()
        assert leave.wait(60)
        return ["done"]

    monkeypatch.setitem(tasks._WORK, "advance_ends", slow)
    monkeypatch.setitem(tasks._WORK, "reap_entries", lambda ctx: ["reaped"])
    monkeypatch.setattr(tasks, "PINOT_SLOTS", 1)
    said: list[list[str]] = []
    thread = threading.Thread(target=lambda: said.append(tasks.on_cluster("prod", "advance_ends")))
    thread.start()
    assert entered.wait(60)
    assert tasks.on_cluster("prod", "advance_ends") == []
    assert tasks.on_cluster("prod", "reap_entries") == []
    leave.set()
    thread.join(60)
    assert said == [["done"]]
    assert tasks.on_cluster("prod", "reap_entries") == ["reaped"]
    assert ctx.engine.offers.pass_through


@pytest.mark.usefixtures("ctx")
def test_a_cluster_that_went_down_ends_its_task_quietly(pinot: FakePinot) -> None:
    pinot.down = {"controller"}
    assert tasks.on_cluster("prod", "run_validation") == []
    assert tasks.on_cluster("gone", "reap_entries") == []


def test_what_pinot_does_itself_is_only_asked_for(ctx: Context, pinot: FakePinot) -> None:
    seen: list[str] = []

    def run(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.query.decode())
        return httpx.Response(200, json={"Log Request Id": "api-1", "Controllers notified": True})

    pinot.routes["GET", "/periodictask/run"] = run
    for name in sorted(pinot_passes.OF_PINOT):
        (said,) = passes.run_pass(ctx, name, TABLE, ANN)
        assert "Pinot's own controllers were asked" in said
        assert "api-1" in said
    assert seen == [f"taskname={name}&tableName=flights&type=OFFLINE" for name in sorted(pinot_passes.OF_PINOT)]
    assert AuditEvent.objects.filter(actor="ann", cluster="prod").count() == 2
    assert not PassRun.objects.exists()


def test_no_schedule_of_ours_deletes_or_repairs_on_pinot() -> None:
    assert {one.task for one in DECLARED if one.on_pinot} & {
        "run_retention",
        "drain_deletions",
        "run_realtime_validation",
    } == set()


def test_the_reaper_reads_tables_with_open_entries_only(ctx: Context, pinot: FakePinot) -> None:
    cluster = Cluster.objects.create(name="prod", kind="pinot")
    for name, state in (("a_OFFLINE", "IN_PROGRESS"), ("b_OFFLINE", "COMPLETED")):
        table = Table.objects.create(cluster=cluster, name=name)
        LineageEntry.objects.create(table=table, entry_id="e", state=state, timestamp_ms=1)
    assert pinot_passes.tables_with_open_entries(ctx) == ["a_OFFLINE"]
    assert pinot.calls.total() == 0


def test_workers_know_of_which_cluster_an_end_is(
    ctx: Context, sent: list[tuple[str, list[Any], dict[str, Any]]]
) -> None:
    queue.enqueue_end(ctx, "job")
    queue.enqueue_end(wiring.context(), "job")
    queue.enqueue_clean_up(ctx, "flights_OFFLINE")
    assert [(args, more["kwargs"]) for _, args, more in sent] == [
        (["job"], {"cluster": "prod"}), (["job"], {}), (["RetentionManager", "flights_OFFLINE"], {"cluster": "prod"}),
    ]  # fmt: skip


def test_a_pass_of_ours_runs_on_pinots_tables_and_remembers_whose_they_are(ctx: Context, pinot: FakePinot) -> None:
    assert passes.run_pass(ctx, "SegmentStatusChecker", TABLE, SYSTEM)
    assert PassRun.objects.get().cluster == "prod"
    assert pinot.store.children("/") == []
