"""What the validation pass does beside repairing consumption: files that only servers have, full disks and quotas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.segments.deep_store_upload import upload_missing
from segments.clusters.embedded.segments.leaving import remove_hidden
from segments.domain.replacement import lineage
from segments.domain.replacement.lineage import Entry, State
from segments.errors import InvalidInput, StateConflict, Unavailable
from segments.models import AuditEvent
from segments.services.clusters.cluster_settings import set_settings
from segments.services.core.context import Actor
from segments.services.realtime import consumption
from segments.services.realtime.realtime_validation import run
from segments.services.segments import deletion
from segments.services.segments.last_copies import upload_segments
from segments.services.tables.tables import delete_table
from segments.store import paths
from segments.store.records.instances import live_instances
from tests.faults.faulty import FaultyStore, Plan
from tests.services.embedded_engine import with_servers
from tests.services.realtime.test_realtime_validation import view
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db


# -- deep store


class FakeServers:
    """Servers by their admin address: what they answer, or an error."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers, self.asked = answers, 0

    def ask(self, url: str, method: str, path: str, timeout_s: float) -> Any:
        self.asked += 1
        found = self.answers.get(path.split("?")[0].rpartition("/")[2], Unavailable("no"))
        if isinstance(found, Exception):
            raise found
        return found


def on_servers_only(world: RealtimeWorld, answers: dict[str, Any]) -> tuple[str, FakeServers]:
    """A committed segment without a file in the deep store, and servers that answer so."""
    [segment] = world.consuming
    world.commit("7").set_record(segment, segment_download_url="", segment_crc="5")
    view(world)
    servers = FakeServers(answers)
    world.ctx = with_servers(world.ctx, servers)
    return segment, servers


def staged(world: RealtimeWorld, segment: str) -> str:
    """A file that a server has uploaded; its address."""
    path = f"t/{segment}.tmp.00000000-0000-0000-0000-000000000000"
    world.ctx.deep_store.write(path, b"tar")
    return world.ctx.deep_store.uri(path)


def test_what_only_servers_have_is_uploaded_and_gets_its_address(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    uri = staged(world, world.consuming[0])
    segment, servers = on_servers_only(world, {"uploadLLCSegment": {"crc": "5", "downloadUrl": uri}})
    assert any("is in the deep store now" in s for s in run(world.ctx, TABLE))
    assert world.fields(segment)["segment.download.url"].endswith(segment)
    assert world.ctx.deep_store.read(f"t/{segment}") == b"tar"
    asked = servers.asked
    run(world.ctx, TABLE)
    assert servers.asked == asked + 2  # how full the two disks are; nothing is uploaded twice


def test_an_upload_with_another_crc_is_not_taken(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    uri = staged(world, world.consuming[0])
    segment, _ = on_servers_only(world, {"uploadLLCSegment": {"crc": "6", "downloadUrl": uri}})
    assert any("CRC 6" in s for s in run(world.ctx, TABLE))
    assert world.fields(segment)["segment.download.url"] == ""


def test_servers_that_fail_leave_the_record_as_it_is(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment, servers = on_servers_only(world, {})
    assert any("is only on servers" in s for s in run(world.ctx, TABLE))
    assert world.fields(segment)["segment.download.url"] == ""
    assert servers.asked >= 2  # one replica after the other


@pytest.mark.parametrize(
    "fields",
    [{"segment_download_url": "file:///there"}, {"segment_realtime_status": "IN_PROGRESS"}],
    ids=["has an address", "is consumed"],
)
def test_what_has_an_address_or_is_still_consumed_is_not_asked_for(tmp_path: Path, fields: dict[str, str]) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment, servers = on_servers_only(world, {})
    world.set_record(segment, **fields)
    before = world.fields(segment)
    assert upload_missing(world.ctx, TABLE) == ([], {})
    assert (servers.asked, world.fields(segment)) == (0, before)


def test_what_no_replica_serves_is_left_as_it_is(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment, servers = on_servers_only(world, {})
    view(world, **{"8098": "ERROR", "8099": "OFFLINE"})
    assert upload_missing(world.ctx, TABLE) == ([], {segment: "no live server has it."})
    assert (servers.asked, world.fields(segment)["segment.download.url"]) == (0, "")


def test_a_store_that_is_unreachable_is_not_tried_for_every_segment_and_all_get_their_turn(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=12)
    names = world.consuming
    world.commit("7")
    for segment in names:
        world.set_record(segment, segment_download_url="", segment_crc="5")
    view(world)
    servers = FakeServers({})
    ctx = with_servers(world.ctx, servers)
    done, left = upload_missing(ctx, TABLE)
    assert (done, set(left)) == ([], set(names))
    assert servers.asked == 10  # both replicas of five
    tried = {name for _ in range(40) for name, why in upload_missing(ctx, TABLE)[1].items() if "turn" not in why}
    assert tried == set(names)


def test_only_what_is_missing_is_uploaded_on_demand(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    uri = staged(world, world.consuming[0])
    segment, _ = on_servers_only(world, {"uploadLLCSegment": {"crc": "5", "downloadUrl": uri}})
    assert upload_segments(world.ctx, TABLE, [segment, "unknown"], actor=ANN) == [segment]
    assert upload_segments(world.ctx, TABLE, [segment], actor=ANN) == []


# -- automatic pause


def test_full_disks_pause_the_table_and_room_lets_it_go_on_in_the_same_run(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    servers = FakeServers({"diskUtilization": {"totalSpaceBytes": 100, "usedSpaceBytes": 96}})
    world.ctx = with_servers(world.ctx, servers)
    assert any("is paused: Server_s_80" in s for s in run(world.ctx, TABLE))
    assert (world.pause.paused, world.pause.reason_code) == (True, "RESOURCE_UTILIZATION_LIMIT_EXCEEDED")
    world.commit("7")
    servers.answers["diskUtilization"] = {"totalSpaceBytes": 100, "usedSpaceBytes": 93}
    run(world.ctx, TABLE)
    assert world.pause.paused
    servers.answers["diskUtilization"] = {"totalSpaceBytes": 100, "usedSpaceBytes": 90}
    run(world.ctx, TABLE)
    assert not world.pause.paused
    assert len(world.consuming) == 1


@pytest.mark.parametrize(
    "key", ["controller.disk.utilization.threshold", "pinotadmin.disk.utilization.resume.threshold"]
)
def test_a_threshold_that_is_set_counts_though_much_of_a_large_disk_is_free(tmp_path: Path, key: str) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    large = {"totalSpaceBytes": 10**15, "usedSpaceBytes": 98 * 10**13}
    world.ctx = with_servers(world.ctx, FakeServers({"diskUtilization": large}))
    run(world.ctx, TABLE)
    assert not world.pause.paused
    set_settings(world.ctx, {key: "0.9"}, actor=ANN)
    run(world.ctx, TABLE)
    assert world.pause.reason_code == "RESOURCE_UTILIZATION_LIMIT_EXCEEDED"


def test_a_full_quota_pauses_and_a_persons_pause_stays(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1, quota={"storage": "10K"})
    [segment] = world.consuming
    world.set_record(segment, segment_size_in_bytes="20000")
    run(world.ctx, TABLE)
    assert world.pause.reason_code == "STORAGE_QUOTA_EXCEEDED"
    consumption.pause_table(world.ctx, TABLE, comment="mine", actor=ANN)
    world.set_record(segment, segment_size_in_bytes="1")
    run(world.ctx, TABLE)
    assert (world.pause.paused, world.pause.reason_code) == (True, "ADMINISTRATIVE")


@pytest.mark.parametrize("used", [96, 90])
def test_what_a_person_says_while_disks_are_asked_holds(tmp_path: Path, used: int) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    servers = FakeServers({"diskUtilization": {"totalSpaceBytes": 100, "usedSpaceBytes": 96}})
    world.ctx = with_servers(world.ctx, servers)
    if used == 90:
        run(world.ctx, TABLE)
        servers.answers["diskUtilization"] = {"totalSpaceBytes": 100, "usedSpaceBytes": used}
    store = FaultyStore(
        world.memory, Plan(before={1: lambda: consumption.pause_table(world.ctx, TABLE, comment="mine", actor=ANN)})
    )
    run(world.over(store), TABLE)
    assert (world.pause.paused, world.pause.reason_code, world.pause.comment) == (True, "ADMINISTRATIVE", "mine")


# -- deletion of what only servers have


def kept_files(world: RealtimeWorld) -> list[str]:
    return [f.name for f in world.ctx.deep_store.files("Deleted_Segments/t")]


def test_a_segment_that_only_servers_have_is_copied_before_it_is_deleted(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    uri = staged(world, world.consuming[0])
    segment, _ = on_servers_only(world, {"uploadLLCSegment": {"crc": "5", "downloadUrl": uri}})
    (outcome,) = deletion.delete_segments(world.ctx, TABLE, [segment], actor=ANN)
    assert outcome.outcome == "done"
    view(world)
    deletion.drain(world.ctx, TABLE)
    assert kept_files(world) == [segment]


def test_what_a_replacement_hides_is_copied_before_it_is_cleaned_up_and_stays_until_then(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    answers: dict[str, Any] = {}
    segment, _ = on_servers_only(world, answers)
    entry = Entry("e1", (segment,), (), State.COMPLETED, world.ctx.clock())
    world.memory.create(paths.lineage(TABLE.typed), lineage.to_record(lineage.empty(TABLE.typed).having(entry)))
    assert remove_hidden(world.ctx, TABLE, [segment]) == []
    assert segment in world.ideal.maps
    answers["uploadLLCSegment"] = {"crc": "5", "downloadUrl": staged(world, segment)}
    assert remove_hidden(world.ctx, TABLE, [segment]) == [segment]
    view(world)
    deletion.drain(world.ctx, TABLE)
    assert kept_files(world) == [segment]


@pytest.mark.parametrize("way", ["each", "all", "table"])
def test_what_cannot_be_copied_is_refused_and_nothing_goes(tmp_path: Path, way: str) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment, _ = on_servers_only(world, {})
    if way == "each":
        (outcome,) = deletion.delete_segments(world.ctx, TABLE, [segment], actor=ANN)
        assert outcome.outcome == "refused"
        assert "Only servers hold" in outcome.message
        assert "force=true" in outcome.remedy
    elif way == "all":
        with pytest.raises(StateConflict, match="Only servers hold"):
            deletion.remove_segments(world.ctx, TABLE, [segment], actor=ANN)
    else:
        with pytest.raises(StateConflict, match="Only servers hold"):
            delete_table(world.ctx, TABLE, actor=ANN)
    assert segment in world.ideal.maps


def test_force_with_a_reason_deletes_for_good_and_the_audit_says_what_was_lost(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment, _ = on_servers_only(world, {})
    with pytest.raises(InvalidInput, match="needs a reason"):
        deletion.remove_segments(world.ctx, TABLE, [segment], force=True, actor=Actor("ann"))
    deletion.remove_segments(world.ctx, TABLE, [segment], force=True, actor=ANN)
    assert segment not in world.ideal.maps
    assert AuditEvent.objects.filter(action="deleteSegments").latest("id").detail["lost"] == [segment]


def test_a_segment_committed_to_servers_only_while_copies_were_made_stays(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming

    def commit() -> None:
        world.commit("7").set_record(segment, segment_download_url="", segment_crc="5")

    store = FaultyStore(world.memory, Plan(before={1: commit}))
    (outcome,) = deletion.delete_segments(world.over(store), TABLE, [segment], actor=ANN)
    assert (outcome.outcome, segment in world.ideal.maps) == ("refused", True)


# -- an upload that comes too late


@pytest.mark.parametrize("when", [1, 2])
def test_a_late_upload_does_not_replace_the_file_of_a_segment_that_was_changed(tmp_path: Path, when: int) -> None:
    """Somebody replaced the segment while its server packed the old one."""
    world = RealtimeWorld(tmp_path, partitions=1)
    uri = staged(world, world.consuming[0])
    segment, _ = on_servers_only(world, {})

    def replace() -> None:
        world.set_record(segment, segment_crc="9", segment_download_url="http://127.0.0.1:9000/segments/t/" + segment)
        world.ctx.deep_store.write(f"t/{segment}", b"newer")

    class Changing(FakeServers):
        def ask(self, url: str, method: str, path: str, timeout_s: float) -> Any:
            if when == 1:
                replace()
            return {"crc": "5", "downloadUrl": uri}

    world.ctx = with_servers(world.ctx, Changing({}))
    ctx = world.over(FaultyStore(world.memory, Plan(before={1: replace}))) if when == 2 else world.ctx
    assert upload_segments(ctx, TABLE, [segment], actor=ANN) == []
    assert world.ctx.deep_store.read(f"t/{segment}") == b"newer"
    assert [f.name for f in world.ctx.deep_store.files("t")] == [segment]
    assert world.fields(segment)["segment.crc"] == "9"


def test_what_is_assigned_to_servers_that_never_ran_is_on_no_server(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment, servers = on_servers_only(world, {})
    for name in list(live_instances(world.memory)):
        world.memory.delete(paths.live_instance(name))
    (outcome,) = deletion.delete_segments(world.ctx, TABLE, [segment], actor=ANN)
    assert (outcome.outcome, servers.asked) == ("done", 0)
