"""What stands in ZooKeeper and no database keeps does not stop the mirror of its table, and is a finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from segments.domain.ingestion.session import FileState
from segments.mirror import bulk_rows
from segments.mirror.cluster_follower import ClusterFollower
from segments.mirror.ingestion import database as session_rows
from segments.mirror.ingestion.database import SessionRows
from segments.models import Cluster, Finding, IngestionFile, IngestionSession, LineageEntry, Segment, Snapshot, Table
from segments.services.core.context import Actor
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.protocol import start_replace
from segments.store import paths
from tests.mirror.test_cluster_follower import following
from tests.services.world import ANN, TABLE, World
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
TOO_LONG = "x" * 600


@pytest.fixture(autouse=True)
def _streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows are written into PostgreSQL, so are few."""
    monkeypatch.setattr(bulk_rows, "_STREAMED_FROM", 1)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store").upload("a", "z")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


@pytest.fixture
def running(world: World, cluster: Cluster) -> Iterator[ClusterFollower]:
    with following(world.memory, cluster) as follower:
        yield follower


def change(world: World, path: str, **fields: Any) -> None:
    """Write a record as another program might."""
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    fields = {name: {**getattr(node.record, name), **given} for name, given in fields.items()}
    changed = replace(node.record, **fields)
    world.memory.replace(path, changed, node.version)


def messages() -> list[str]:
    return list(Finding.objects.filter(code="mirror-text", closed_at=None).values_list("message", flat=True))


def with_a_reason(world: World, reason: str) -> str:
    """A pinned entry; as another program, or an earlier version, may have written the reason."""
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    pin_entry(world.ctx, TABLE, entry, Actor("ann", reason))
    return entry


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("reason", ["a\0b", "\\u0000 is text"], ids=["NUL", "escaped"])
def test_an_odd_reason_neither_stops_the_mirror_nor_stays_unsaid(world: World, reason: str) -> None:
    entry = with_a_reason(world, reason)
    world.upload("c")
    wait_until(lambda: Segment.objects.filter(name="c").exists(), what="the row of the new segment")
    assert LineageEntry.objects.filter(entry_id=entry).exists()
    if "\0" in reason:
        wait_until(lambda: messages() and f"notes of {entry}" in messages()[0], what="the finding")
    else:
        assert messages() == []


@pytest.mark.usefixtures("running")
def test_the_finding_ends_when_the_text_is_written_again(world: World) -> None:
    entry = with_a_reason(world, "a\0b")
    wait_until(messages, what="the finding")
    world.upload("c")  # what else is written does not end it
    wait_until(lambda: Segment.objects.filter(name="c").exists())
    assert len(messages()) == 1
    pin_entry(world.ctx, TABLE, entry, Actor("ann", "ab"))
    wait_until(lambda: not messages(), what="the end of the finding")


@pytest.mark.usefixtures("running")
def test_texts_and_numbers_beyond_their_columns_are_cut(world: World) -> None:
    wait_until(lambda: Segment.objects.count() == 2)
    path = paths.segment(TABLE.typed, "a")
    change(world, path, simple={"segment.total.docs": str(10**30), "segment.realtime.endOffset": TOO_LONG})
    wait_until(lambda: Segment.objects.get(name="a").end_offset == TOO_LONG[:128], what="the row that was cut")
    assert Segment.objects.get(name="a").total_docs is None
    wait_until(messages, what="the finding")
    assert "total_docs of a" in messages()[0] or "end_offset of a" in messages()[0]


def test_a_mirror_that_starts_with_odd_texts_mirrors_the_rest(world: World, cluster: Cluster) -> None:
    entry = with_a_reason(world, "a\0b")
    change(world, paths.ideal_state(TABLE.typed), maps={TOO_LONG: {"Server_a_1": "ONLINE"}})
    with following(world.memory, cluster):
        wait_until(lambda: Table.objects.filter(segments_total__gte=2).exists(), what="the table's row")
        assert set(Segment.objects.values_list("name", flat=True)) == {"a", "z"}
        assert LineageEntry.objects.get().entry_id == entry
        assert Snapshot.objects.count() == 1
        wait_until(messages, what="the finding")


def test_an_error_of_a_file_with_nul_does_not_stop_its_session(cluster: Cluster) -> None:
    table = Table.objects.create(cluster=cluster, name="t_OFFLINE", raw_name="t", type="OFFLINE")
    file = ("file:///a", "", FileState.FAILED.value, [], 0, 0, 1, "line 'a\0b'", 3)
    values = {
        "state": "IN_PROGRESS",
        "started_at": timezone.now(),
        "changed_at": timezone.now(),
        "error": "a\0b",
        "task": TOO_LONG,
    }
    rows = SessionRows("s1", values, {file[0]: file}, {0: {"task": TOO_LONG, "ended_at": None, "started_at": None}})
    written = session_rows.write_session(table, rows, None)
    session = IngestionSession.objects.get()
    assert (session.error, len(session.task)) == ("a\N{REPLACEMENT CHARACTER}b", 255)
    assert IngestionFile.objects.get().error == "line 'a\N{REPLACEMENT CHARACTER}b'"
    session_rows.write_session(table, rows, written)  # and again
