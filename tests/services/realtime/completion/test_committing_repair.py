"""Commits that started and did not end: ended with a server's sealed copy, or reported with what is in the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.realtime import committing
from segments.clusters.embedded.realtime.completion.committing_list import committing_segments
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.upkeep.run_properties import RunProperties
from segments.models import Finding
from segments.services.clusters.cluster_settings import set_settings
from segments.services.core.context import Context
from segments.services.realtime.realtime_validation import keep_copies, run
from segments.store import paths
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.embedded_engine import with_servers
from tests.services.realtime.test_realtime_upkeep import FakeServers, staged
from tests.services.realtime.test_realtime_validation import codes, view
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db
OLD_MS = 301_000


def started(world: RealtimeWorld, end: str = "7", answer: dict[str, Any] | None = None) -> str:
    """The commit of the table's segment has started (its successor consumes), and a server has it sealed."""
    [segment] = world.consuming
    world.set_record(segment, segment_realtime_status="COMMITTING", segment_realtime_endOffset=end)
    world.now += OLD_MS
    run(world.ctx, TABLE)  # the ideal state and the successor
    [after] = world.consuming
    assert parse_llc_name(after).sequence == parse_llc_name(segment).sequence + 1
    assert world.fields(after)["segment.realtime.startOffset"] == end
    view(world)
    world.now += OLD_MS
    fields = {
        "segment.realtime.status": "DONE",
        "segment.realtime.endOffset": end,
        "segment.crc": "5",
        "segment.total.docs": "7",
        "segment.index.version": "v3",
        "segment.download.url": staged(world, segment),
        **(answer or {}),
    }
    world.ctx = answering(world, {"uploadCommittedSegment": {"segmentName": segment, "simpleFields": fields}})
    return segment


def answering(world: RealtimeWorld, answers: dict[str, Any]) -> Context:
    return with_servers(world.ctx, FakeServers(answers))


def deduplicate(world: RealtimeWorld) -> None:
    """The table's config as one whose rows depend on the order in which they are read."""
    path = paths.table_config(TABLE.typed)
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    world.memory.replace(path, node.record.with_simple(dedupConfig='{"dedupEnabled": true}'), node.version)


def is_whole(world: RealtimeWorld, segment: str) -> bool:
    """Is the commit ended: the facts on record, the file where the record says, and nothing on the list?"""
    fields = world.fields(segment)
    return (
        fields["segment.realtime.status"] == "DONE"
        and (fields["segment.crc"], fields["segment.total.docs"]) == ("5", "7")
        and (fields["segment.realtime.startOffset"], fields["segment.realtime.endOffset"]) == ("0", "7")
        and world.ctx.deep_store.read(f"t/{segment}") == b"tar"
        and not committing_segments(world.memory, TABLE)
    )


def test_a_server_that_has_it_sealed_ends_the_commit(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    assert any("was ended with a server's copy" in s for s in run(world.ctx, TABLE))
    assert is_whole(world, segment)
    assert not codes()
    assert run(world.ctx, TABLE) == ["t_REALTIME consumes as it should."]


def test_a_young_one_is_left_to_its_committer(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    world.set_record(segment, segment_creation_time="1")  # written just now
    run(world.ctx, TABLE)
    assert world.fields(segment)["segment.realtime.status"] == "COMMITTING"
    assert not codes()
    set_settings(world.ctx, {"max.segment.completion.time.millis": "1000"}, actor=ANN)
    world.now += 1001
    run(world.ctx, TABLE)
    assert is_whole(world, segment)


def test_a_copy_that_ends_elsewhere_is_not_taken(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world, answer={"segment.realtime.endOffset": "6"})
    run(world.ctx, TABLE)
    assert world.fields(segment)["segment.realtime.status"] == "COMMITTING"
    assert "It ends at 6 there" in Finding.objects.get(code=committing.LATE, closed_at=None).message


def test_without_a_deep_store_of_the_server_only_peers_have_it(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world, answer={"segment.download.url": ""})
    keep_copies(world.ctx, TABLE)
    assert (world.fields(segment)["segment.realtime.status"], world.fields(segment)["segment.download.url"]) == (
        "DONE",
        "",
    )


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
def test_a_pass_that_dies_at_its_write_is_finished_by_the_next(tmp_path: Path, fault: Fault) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    with pytest.raises(Cut):
        keep_copies(world.over(FaultyStore(world.memory, Plan({1: fault}))), TABLE)
    for _ in range(2):
        run(world.ctx, TABLE)
    assert is_whole(world, segment)
    assert len(world.segments(0)) == 2


@pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.CONFLICT])
def test_an_answer_of_zookeeper_that_is_lost_does_not_end_a_commit_twice(tmp_path: Path, fault: Fault) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    keep_copies(world.over(FaultyStore(world.memory, Plan({1: fault}))), TABLE)
    assert is_whole(world, segment)


def test_all_replicas_in_error_are_reported_at_once_and_not_reset(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    world.set_record(segment, segment_creation_time="1")
    view(world, **{"8098": "ERROR", "8099": "ERROR"})
    run(world.ctx, TABLE)
    finding = Finding.objects.get(code=committing.REINGEST, closed_at=None)
    assert (finding.subject, finding.severity) == (segment, "error")
    assert not any(m.partition == segment for s in ("8098", "8099") for m in world.messages(f"Server_s_{s}"))


@pytest.mark.parametrize(("mode", "code"), [("DEFAULT", committing.UNRECOVERABLE), ("ALWAYS", committing.REINGEST)])
def test_a_table_that_depends_on_order_waits_for_a_person_unless_its_mode_is_always(
    tmp_path: Path, mode: str, code: str
) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    deduplicate(world)
    set_settings(world.ctx, {"controller.segment.disaster.recovery.mode": mode}, actor=ANN)
    view(world, **{"8098": "ERROR", "8099": "ERROR"})
    run(world.ctx, TABLE)
    assert Finding.objects.get(subject=segment, closed_at=None, code__in=committing.CODES).code == code


def test_the_clusters_mode_counts_from_the_next_pass_on(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    deduplicate(world)
    view(world, **{"8098": "ERROR", "8099": "ERROR"})
    found = []
    for mode in ("DEFAULT", "ALWAYS", "DEFAULT"):
        set_settings(world.ctx, {"controller.segment.disaster.recovery.mode": mode}, actor=ANN)
        run(world.ctx, TABLE)
        found.append(Finding.objects.get(subject=segment, closed_at=None, code__in=committing.CODES).code)
    assert found == [committing.UNRECOVERABLE, committing.REINGEST, committing.UNRECOVERABLE]


@pytest.mark.parametrize(
    ("mode", "asked", "code"),
    [("ALWAYS", False, committing.UNRECOVERABLE), ("DEFAULT", True, committing.REINGEST)],
)
def test_what_one_run_is_asked_for_replaces_the_clusters_mode(
    tmp_path: Path, mode: str, asked: bool, code: str
) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    deduplicate(world)
    set_settings(world.ctx, {"controller.segment.disaster.recovery.mode": mode}, actor=ANN)
    view(world, **{"8098": "ERROR", "8099": "ERROR"})
    run(replace(world.ctx, run_properties=RunProperties(repairs_ordered=asked)), TABLE)
    assert Finding.objects.get(subject=segment, closed_at=None, code__in=committing.CODES).code == code


def test_servers_that_are_down_are_named_and_the_commit_ends_when_one_is_back(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    live = {s: world.memory.get(paths.live_instance(s)) for s in ("Server_s_8098", "Server_s_8099")}
    for server in live:
        world.memory.delete(paths.live_instance(server))
    keep_copies(world.ctx, TABLE)
    assert "Server_s_8098, Server_s_8099" in Finding.objects.get(code=committing.LATE, closed_at=None).message
    node = live["Server_s_8098"]
    world.memory.create(paths.live_instance("Server_s_8098"), node.record if node else None)
    keep_copies(world.ctx, TABLE)
    assert is_whole(world, segment)
    assert committing.LATE not in codes()


def test_the_list_of_commits_follows_the_records(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world, answer={"segment.realtime.endOffset": "6"})
    keep_copies(world.ctx, TABLE)
    assert committing_segments(world.memory, TABLE) == [segment]
    world.set_record(segment, segment_realtime_status="DONE", segment_crc="5", segment_download_url="x")
    keep_copies(world.ctx, TABLE)
    node = world.memory.get(paths.committing(TABLE.typed))
    assert node is not None
    assert isinstance(node.record, ZNRecord)
    assert node.record.lists["committingSegments"] == []
