"""Fix it: a dry run names every write and makes none; what is done is what was named, for a reason, on record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.realtime import committing
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.reingestion.job import Job, State
from segments.domain.segments.ideal_state import CONSUMING, ONLINE
from segments.errors import NotFound, StateConflict
from segments.models import AuditEvent, Finding
from segments.services.realtime.realtime_validation import keep_copies, repair_consumption, run
from segments.services.upkeep.finding_fixes import find_finding, fix, plan_fix
from segments.services.upkeep.validation import run as run_status_checker
from segments.store import paths
from segments.store.records.reingestions import JOBS
from tests.services.embedded_engine import EMBEDDED, asking, with_servers
from tests.services.realtime.completion.test_committing_repair import is_whole, started
from tests.services.realtime.test_realtime_upkeep import FakeServers, on_servers_only, staged
from tests.services.realtime.test_realtime_validation import codes, view
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.services.world import TABLE as OFFLINE_TABLE
from tests.services.world import World
from tests.task_queue import FakeQueue

pytestmark = pytest.mark.django_db


def finding(code: str, subject: str | None = None) -> Finding:
    found = Finding.objects.filter(code=code, closed_at=None)
    return (found if subject is None else found.filter(subject=subject)).get()


def dump(world: RealtimeWorld) -> dict[str, Any]:
    """Everything below the znodes that a repair may write."""
    return {
        path: node.record if (node := world.memory.get(path)) else None
        for parent in (paths.segments(TABLE.typed), paths.messages("Server_s_8098"), paths.messages("Server_s_8099"))
        for path in [paths.ideal_state(TABLE.typed), *(f"{parent}/{n}" for n in world.memory.children(parent))]
    }


def half_commit(world: RealtimeWorld) -> Finding:
    """Young enough that the pass waits."""
    world.done(world.consuming[0], "7")
    repair_consumption(world.ctx, TABLE)
    return finding("consumption-half-commit")


def test_a_dry_run_names_every_write_and_makes_none(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    found, before = half_commit(world), dump(world)
    plan = plan_fix(world.ctx, TABLE, found)
    assert dump(world) == before
    text = "\n".join(plan.writes)
    assert f"Changes {paths.ideal_state(TABLE.typed)}" in text
    assert f"{segment}: Server_s_8098 CONSUMING -> ONLINE" in text
    assert "segment.realtime.startOffset 7" in text
    assert len(plan.writes) == 2  # the ideal state, and the record of the next segment
    fix(world.ctx, TABLE, found, actor=ANN)
    assert {p for p, record in dump(world).items() if before.get(p) != record} == {
        w.split(" ")[1].rstrip(":.") for w in plan.writes
    }
    assert set(world.ideal.maps[segment].values()) == {ONLINE}
    event = AuditEvent.objects.get(action="fixFinding")
    assert (event.actor, event.reason, event.detail["writes"]) == ("ann", "because", list(plan.writes))
    repair_consumption(world.ctx, TABLE)
    assert not codes()


def test_what_was_repaired_meanwhile_is_refused_and_on_record(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    found = half_commit(world)
    fix(world.ctx, TABLE, found, actor=ANN)
    with pytest.raises(StateConflict, match="nothing to write"):
        fix(world.ctx, TABLE, found, actor=ANN)
    repair_consumption(world.ctx, TABLE)
    found.refresh_from_db()
    with pytest.raises(StateConflict, match="closed"):
        fix(world.ctx, TABLE, found, actor=ANN)
    assert AuditEvent.objects.filter(action="fixFinding", outcome="refused").count() == 2


def test_a_partition_that_stands_still_consumes_again(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    world.set_row(segment, ONLINE)
    repair_consumption(world.ctx, TABLE)
    found = finding("consumption-stuck")
    assert f"{segment}: Server_s_8098 ONLINE -> CONSUMING" in plan_fix(world.ctx, TABLE, found).writes[0]
    fix(world.ctx, TABLE, found, actor=ANN)
    assert world.consuming == [segment]
    assert set(world.ideal.maps[segment].values()) == {CONSUMING}


def test_a_commit_is_ended_with_a_servers_copy(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = started(world)
    servers, world.ctx = world.ctx, replace(world.ctx, engine=EMBEDDED)
    keep_copies(world.ctx, TABLE)
    found = finding(committing.LATE)
    world.ctx = servers
    plan = plan_fix(world.ctx, TABLE, found)
    assert any("COMMITTING -> DONE" in w for w in plan.writes)
    assert any("Server_s_8098 or Server_s_8099" in w for w in plan.writes)
    fix(world.ctx, TABLE, found, actor=ANN)
    assert is_whole(world, segment)


def test_a_segment_that_only_servers_have_is_copied(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    uri = staged(world, world.consuming[0])
    segment, servers = on_servers_only(world, {})
    run(world.ctx, TABLE)
    found = finding("consumption-no-copy")
    with pytest.raises(StateConflict, match="was not done"):
        fix(world.ctx, TABLE, found, actor=ANN)
    servers.answers["uploadLLCSegment"] = {"crc": "5", "downloadUrl": uri}
    fix(world.ctx, TABLE, found, actor=ANN)
    assert world.fields(segment)["segment.download.url"].endswith(segment)


def test_a_file_that_the_deep_store_lost_is_uploaded_again_and_the_table_checked_at_once(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    uri = staged(world, world.consuming[0])
    segment, _ = on_servers_only(world, {"uploadLLCSegment": {"crc": "5", "downloadUrl": uri}})
    run(world.ctx, TABLE)
    world.ctx.deep_store.delete(f"t/{segment}")
    run_status_checker(world.ctx, TABLE)
    found, queue = finding("no-file", segment), FakeQueue()
    world.ctx.deep_store.write(world.ctx.deep_store.path_of(uri) or "", b"tar")
    steps = plan_fix(world.ctx, TABLE, found).writes
    assert [step.split(" ")[0] for step in steps] == ["Asks", "Writes", "Changes"]
    sentences = fix(replace(world.ctx, queue=queue), TABLE, found, actor=ANN)
    assert sentences[-1].startswith("The table is being checked again")
    assert queue.sent == [("segments.tasks.run_periodic", ["SegmentStatusChecker", TABLE.typed])]
    assert world.ctx.deep_store.read(f"t/{segment}") == b"tar"
    assert plan_fix(world.ctx, TABLE, found).why_not == "The deep store has its file by now."
    run_status_checker(world.ctx, TABLE)
    found.refresh_from_db()
    assert found.closed_at is not None


def test_a_file_of_an_offline_table_that_the_deep_store_lost_is_uploaded_by_a_server(tmp_path: Path) -> None:
    world = World(tmp_path).upload("s")
    world.ctx.deep_store.delete("t/s")
    node = world.memory.get(record := paths.segment(OFFLINE_TABLE.typed, "s"))
    addressed = node.record.with_simple_items({"segment.download.url": "store:///segments/t/s"})
    world.memory.replace(record, addressed, node.version)
    run_status_checker(world.ctx, OFFLINE_TABLE)
    found = finding("no-file", "s")
    staged_at = "t/s.tmp.00000000-0000-0000-0000-000000000000"
    world.ctx.deep_store.write(staged_at, b"tar")
    answer = {"crc": "1", "downloadUrl": world.ctx.deep_store.uri(staged_at)}
    world.memory.create(
        paths.participant("Server_a_1"),
        ZNRecord("Server_a_1", {"HELIX_HOST": "a", "HELIX_PORT": "1", "adminPort": "2", "HELIX_ENABLED": "true"}),
    )
    ctx = with_servers(world.ctx, FakeServers({"uploadLLCSegment": answer}))
    fix(ctx, OFFLINE_TABLE, found, actor=ANN)
    assert world.ctx.deep_store.read("t/s") == b"tar"
    world.breaks("s")
    world.ctx.deep_store.delete("t/s")
    assert "push or upload the segment again" in plan_fix(ctx, OFFLINE_TABLE, found).why_not


def test_without_a_queue_the_next_pass_checks_whether_a_fix_helped(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    found = half_commit(world)
    sentences = fix(replace(world.ctx, queue=FakeQueue(is_down=True)), TABLE, found, actor=ANN)
    assert sentences[-1].startswith("The next pass checks the table")


def test_replicas_in_error_begin_again_and_the_last_copy_does_not(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    world.commit("7").set_record(segment, segment_download_url="", segment_crc="5")
    view(world, **{"8099": "ERROR"})
    run_status_checker(world.ctx, TABLE)
    found = finding("replica-error", segment)
    [write] = plan_fix(world.ctx, TABLE, found).writes
    assert "Server_s_8099/MESSAGES" in write
    fix(world.ctx, TABLE, found, actor=ANN)
    assert [m.partition for m in world.messages("Server_s_8099")] == [segment]
    view(world, **{"8098": "ERROR", "8099": "ERROR"})
    assert "No other copy" in plan_fix(world.ctx, TABLE, found).why_not


def gone_everywhere(world: RealtimeWorld) -> str:
    """A committed segment of ten messages: its file is lost, and every replica is in ERROR."""
    [segment] = world.consuming
    world.streams.topics["a"] = {0: [0, 25]}
    world.commit("10").set_record(segment, segment_download_url=f"store:///segments/t/{segment}", segment_crc="5")
    view(world, **{"8098": "ERROR", "8099": "ERROR"})
    run_status_checker(world.ctx, TABLE)
    return segment


@pytest.mark.parametrize("code", ["not-served", "no-file"])
def test_a_segment_of_which_every_copy_is_gone_is_read_from_the_stream_again(tmp_path: Path, code: str) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = gone_everywhere(world)
    path, begun = paths.reingestion(TABLE.typed, segment), []

    def ask(_url: str, _method: str, asked: str, *_: object) -> None:
        begun.append(asked.partition("?")[0])
        job = Job("j1", TABLE.typed, segment, "Server_s_8098", world.now, "0", "10", "0", State.READING)
        JOBS.write(world.memory, path, job)

    world.ctx = asking(world.ctx, ask)
    found = finding(code, segment)
    record = paths.segment(TABLE.typed, segment)
    opens, creates, ends = plan_fix(world.ctx, TABLE, found).writes
    assert opens.startswith(f"Changes {record}: segment.realtime.status DONE -> COMMITTING")
    assert creates == f"Creates {path}: offsets 0 to 10, 10 messages."
    assert ends.startswith(f"Afterwards changes {record}: segment.realtime.status COMMITTING -> DONE")
    assert not begun
    assert world.fields(segment)["segment.realtime.status"] == "DONE"
    fix(world.ctx, TABLE, found, actor=ANN)
    assert begun == [f"/reingestSegment/{segment}"]
    assert world.fields(segment)["segment.realtime.status"] == "COMMITTING"


def test_what_the_stream_still_has_is_read_again_and_no_last_copy_is_reset(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    world.streams.topics["a"] = {0: [0, 25]}
    world.commit("10").set_record(segment, segment_download_url="", segment_crc="5")
    view(world, **{"8098": "ERROR", "8099": "ERROR"})
    run(world.ctx, TABLE)
    found = finding("consumption-last-copy", segment)
    assert [w.split(" ")[0] for w in plan_fix(world.ctx, TABLE, found).writes] == ["Changes", "Creates", "Afterwards"]
    world.streams.topics["a"] = {0: [4, 25]}
    assert "No other copy" in plan_fix(world.ctx, TABLE, found).why_not


@pytest.mark.parametrize("code", ["not-served", "no-file"])
def test_where_the_stream_has_lost_rows_of_it_a_person_decides_on_its_own_page(tmp_path: Path, code: str) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = gone_everywhere(world)
    world.streams.topics["a"] = {0: [4, 25]}
    why = plan_fix(world.ctx, TABLE, finding(code, segment)).why_not
    assert why.startswith("The stream has lost its rows from 0 to 4")


def test_while_its_file_is_there_what_nobody_serves_is_loaded_again(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = gone_everywhere(world)
    world.ctx.deep_store.write(f"t/{segment}", b"tar")
    found = finding("not-served", segment)
    writes = plan_fix(world.ctx, TABLE, found).writes
    assert ["ERROR -> OFFLINE" in write for write in writes] == [True, True]
    view(world, **{"8098": "OFFLINE", "8099": "OFFLINE"})
    world.memory.delete(paths.live_instance("Server_s_8099"))
    assert plan_fix(world.ctx, TABLE, found).why_not == "Start Server_s_8099."


def test_a_finding_is_found_by_its_own_table_only(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    found = half_commit(world)
    assert find_finding(world.ctx, TABLE, found.pk) == found
    Finding.objects.update(table_name="other_REALTIME")
    with pytest.raises(NotFound):
        find_finding(world.ctx, TABLE, found.pk)


def test_what_needs_a_person_says_so(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    found = Finding(cluster="test", table_name=TABLE.typed, code="consumption-data-loss", subject="0:1:2")
    assert "needs a person" in plan_fix(world.ctx, TABLE, found).why_not
