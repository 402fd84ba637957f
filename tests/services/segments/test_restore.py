"""Deleted segments come back exactly, or the refusal says why: from the queue, from the archive, many at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from segments.clusters.embedded.segments.deletion_queue import claim_due, read_queue
from segments.domain.tables.table_config import parse_table_config
from segments.errors import NotFound, StateConflict
from segments.models import AuditEvent
from segments.services.core.context import Context
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.segments import archive, deletion, downloads, restore
from segments.services.segments.restore import restore_segments
from segments.services.segments.uploads import upload_tar
from segments.services.tables.tables import create_table, delete_table
from segments.services.upkeep import retention
from segments.store import paths
from tests.api.cluster import TABLE as API_TABLE
from tests.api.cluster import ApiCluster, config_of
from tests.faults.faulty import FaultyStore, Plan
from tests.services.segments.test_uploads import made
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
DAY_MS = 86_400_000


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store", kind="APPEND")


def deleted(world: World, *segments: str, **more: str) -> World:
    """Uploaded, deleted, and archived."""
    world.upload(*segments)
    deletion.remove_segments(world.ctx, TABLE, segments, actor=ANN, **more)
    world.serve()
    deletion.drain(world.ctx, TABLE)
    return world


def record_of(world: World, segment: str) -> object:
    node = world.memory.get(paths.segment(TABLE.typed, segment))
    return node.record if node else None


def row_of(world: World, segment: str) -> object:
    node = world.memory.get(paths.ideal_state(TABLE.typed))
    assert node is not None
    assert node.record is not None
    return node.record.maps.get(segment)


def test_a_segment_comes_back_with_the_same_record_file_and_servers(world: World) -> None:
    world.upload("a")
    record, row = record_of(world, "a"), row_of(world, "a")
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    world.serve()
    deletion.drain(world.ctx, TABLE)
    assert (world.ideal, world.files, record_of(world, "a")) == ([], [], None)
    (outcome,) = restore_segments(world.ctx, TABLE, ["a"], actor=ANN)
    assert (outcome.outcome, outcome.crc) == ("done", 1)
    assert (record_of(world, "a"), row_of(world, "a"), world.files) == (record, row, ["a"])
    assert read_queue(world.ctx, TABLE).items == {}
    assert archive.list_kept(world.ctx, TABLE) == ([], 0)


def test_a_segment_with_tmp_in_its_name_is_listed_and_comes_back(world: World, tmp_path: Path) -> None:
    """The deep store names files so that are still being written."""
    deleted(world, "a.tmp.b")
    half = tmp_path / "store" / "Deleted_Segments" / "t" / "a.tmp.00000000-0000-4000-8000-000000000000"
    half.write_text("ta")
    (listed,), count = archive.list_kept(world.ctx, TABLE)
    assert (listed.segment, count) == ("a.tmp.b", 1)
    assert restore_segments(world.ctx, TABLE, ["a.tmp.b"], actor=ANN)[0].outcome == "done"
    assert world.files == ["a.tmp.b"]


def test_it_can_be_deleted_and_restored_again_and_again(world: World) -> None:
    deleted(world, "a")
    for _ in range(3):
        assert restore_segments(world.ctx, TABLE, ["a"], actor=ANN)[0].outcome == "done"
        world.serve()
        deleted(world, "a")
    assert world.files == []


def test_a_deletion_that_waits_is_taken_back_without_moving_a_file(world: World) -> None:
    world.upload("a", "b")
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    assert deletion.drain(world.ctx, TABLE) == []  # a server still holds it
    restore.cancel_deletion(world.ctx, TABLE, "a", actor=ANN)
    world.serve()
    assert deletion.drain(world.ctx, TABLE) == []
    assert (world.ideal, world.files) == (["a", "b"], ["a", "b"])


def test_a_deletion_that_is_over_cannot_be_taken_back_but_restored(world: World) -> None:
    deleted(world, "a")
    with pytest.raises(NotFound, match="archive"):
        restore.cancel_deletion(world.ctx, TABLE, "a", actor=ANN)


def test_a_claimed_deletion_cannot_be_taken_back(world: World) -> None:
    world.upload("a")
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    world.serve()
    assert list(claim_due(world.ctx, TABLE, "other", 10)) == ["a"]
    with pytest.raises(StateConflict, match="just being deleted"):
        restore.cancel_deletion(world.ctx, TABLE, "a", actor=ANN)
    assert world.ideal == []


def test_a_dry_run_reports_and_changes_nothing(world: World) -> None:
    deleted(world, "a")
    before = world.memory.get(paths.ideal_state(TABLE.typed))
    outcomes = restore_segments(world.ctx, TABLE, ["a", "never"], dry_run=True, actor=ANN)
    assert [o.outcome for o in outcomes] == ["done", "refused"]
    assert world.memory.get(paths.ideal_state(TABLE.typed)) == before
    assert archive.list_kept(world.ctx, TABLE)[1] == 1
    assert AuditEvent.objects.filter(action="restoreSegments").count() == 0


def test_a_name_that_exists_again_is_refused(world: World) -> None:
    deleted(world, "a").upload("a")
    (outcome,) = restore_segments(world.ctx, TABLE, ["a"], actor=ANN)
    assert (outcome.outcome, "exists" in outcome.message) == ("refused", True)


def test_a_file_that_is_gone_or_another_one_is_refused(world: World, tmp_path: Path) -> None:
    deleted(world, "gone", "other", "undocumented")
    folder = tmp_path / "store" / "Deleted_Segments" / "t"
    (folder / "gone").unlink()
    (folder / "other").write_text("something else")
    (tmp_path / "store" / "Deleted_Records" / "t" / "undocumented").unlink()
    outcomes = restore_segments(world.ctx, TABLE, ["gone", "other", "undocumented"], actor=ANN)
    assert [o.outcome for o in outcomes] == ["refused"] * 3
    assert all(o.remedy for o in outcomes)
    assert world.ideal == []


def test_what_a_reverted_push_brought_does_not_come_back_and_the_refusal_names_the_entry(world: World) -> None:
    entry = start_replace(world.ctx, TABLE, [], ["p"], actor=ANN, entry_id="e1")
    world.upload("p")
    revert_replace(world.ctx, TABLE, entry, force=True, actor=ANN)
    world.serve()
    deletion.drain(world.ctx, TABLE)
    for hidden in (False, True):
        (outcome,) = restore_segments(world.ctx, TABLE, ["p"], include_hidden=hidden, actor=ANN)
        assert (outcome.outcome, "'e1'" in outcome.message, "reverted" in outcome.message) == ("refused", True, True)


def test_a_replaced_snapshot_comes_back_only_on_demand_and_then_its_entry_can_be_reverted(world: World) -> None:
    world.upload("old")
    start_replace(world.ctx, TABLE, ["old"], ["new"], actor=ANN, entry_id="e1")
    world.upload("new")
    end_replace(world.ctx, TABLE, "e1", actor=ANN)
    world.now += 5 * 3_600_000
    retention.run(world.ctx, TABLE)
    deletion.drain(world.serve().ctx, TABLE)
    assert world.ideal == ["new"]
    (refused,) = restore_segments(world.ctx, TABLE, ["old"], actor=ANN)
    assert (refused.outcome, "'e1'" in refused.message, "includeHidden" in refused.remedy) == ("refused", True, True)
    (outcome,) = restore_segments(world.ctx, TABLE, ["old"], include_hidden=True, actor=ANN)
    assert outcome.outcome == "done"
    assert world.serve().visible == ["new"]
    revert_replace(world.ctx, TABLE, "e1", actor=ANN)
    assert world.visible == ["old"]


def test_a_start_right_before_the_write_refuses_the_restore_and_the_file_stays_kept(world: World) -> None:
    deleted(world, "a")
    store = FaultyStore(
        world.memory, Plan(before={2: lambda: start_replace(world.ctx, TABLE, [], ["a"], actor=ANN, entry_id="e1")})
    )
    (outcome,) = restore_segments(world.with_store(store), TABLE, ["a"], actor=ANN)
    assert (outcome.outcome, "'e1'" in outcome.message) == ("refused", True)
    assert (world.ideal, world.files, archive.list_kept(world.ctx, TABLE)[1]) == ([], [], 1)
    assert read_queue(world.ctx, TABLE).items == {}


def test_one_that_the_next_pass_would_delete_again_says_so(world: World) -> None:
    body = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "segmentsConfig": {"retentionTimeUnit": "DAYS", "retentionTimeValue": "30"},
    }
    node = world.memory.get(paths.table_config(TABLE.typed))
    assert node is not None
    world.memory.replace(paths.table_config(TABLE.typed), parse_table_config(body).to_record(), node.version)
    world.upload("a")
    record = world.memory.get(paths.segment(TABLE.typed, "a"))
    assert record is not None
    assert record.record is not None
    times = {"segment.end.time": str(world.now - 40 * DAY_MS), "segment.time.unit": "MILLISECONDS"}
    world.memory.replace(paths.segment(TABLE.typed, "a"), record.record.with_simple_items(times), record.version)
    assert "1 segment of" in retention.run(world.ctx, TABLE)[0]
    retention.run(world.serve().ctx, TABLE)
    (outcome,) = restore_segments(world.ctx, TABLE, ["a"], dry_run=True, actor=ANN)
    assert (outcome.outcome, "next retention pass" in outcome.remedy) == ("done", True)


def test_the_archive_reports_who_when_and_until_when(world: World) -> None:
    deleted(world, "short", retention="2d")
    world.now += 1000
    deleted(world, "long")
    kept, total = archive.list_kept(world.ctx, TABLE)
    assert (total, [k.segment for k in kept]) == (2, ["long", "short"])
    long, short = kept
    assert long.kept is not None
    assert (long.kept.deleted_by, long.kept.reason, long.deleted_ms, long.bytes) == ("ann", "because", world.now, 3)
    assert long.expires_ms == world.now + 7 * DAY_MS
    assert 0 <= world.now + 2 * DAY_MS - short.expires_ms < 120_000
    assert [k.segment for k in archive.list_kept(world.ctx, TABLE, offset=1, limit=1)[0]] == ["short"]
    assert [k.segment for k in archive.list_kept(world.ctx, TABLE, prefix="sh")[0]] == ["short"]


def test_retention_removes_file_and_document_together_counted_from_the_deletion(world: World, tmp_path: Path) -> None:
    deleted(world, "a")
    for days, left in ((6.9, ["a"]), (7.1, [])):
        world.now = 1_700_000_000_000 + int(days * DAY_MS)
        retention.run(world.ctx, TABLE)
        for folder in ("Deleted_Segments", "Deleted_Records"):
            assert [p.name for p in (tmp_path / "store" / folder / "t").iterdir()] == left, (days, folder)
    assert restore_segments(world.ctx, TABLE, ["a"], actor=ANN)[0].outcome == "refused"


def test_a_term_of_zero_keeps_nothing(world: World, tmp_path: Path) -> None:
    deleted(world, "a", retention="0d")
    assert not list((tmp_path / "store").rglob("a"))
    assert restore_segments(world.ctx, TABLE, ["a"], actor=ANN)[0].outcome == "refused"


def test_a_segment_whose_file_is_elsewhere_comes_back_by_its_record(world: World) -> None:
    world.upload("a")
    node = world.memory.get(paths.segment(TABLE.typed, "a"))
    assert node is not None
    assert node.record is not None
    foreign = node.record.with_simple_items({"segment.download.url": "http://files.example/a"})
    world.memory.replace(paths.segment(TABLE.typed, "a"), foreign, node.version)
    root = world.ctx.deep_store.local_root
    assert root is not None
    (root / "t" / "a").unlink()
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    deletion.drain(world.serve().ctx, TABLE)
    assert [(k.segment, k.is_there) for k in archive.list_kept(world.ctx, TABLE)[0]] == [("a", False)]
    assert restore_segments(world.ctx, TABLE, ["a"], actor=ANN)[0].outcome == "done"
    assert record_of(world, "a") == foreign


@pytest.mark.parametrize("count", [1000])
def test_a_thousand_are_deleted_and_restored_in_a_bounded_number_of_writes_and_seconds(
    world: World, count: int
) -> None:
    names = [f"s{i:04}" for i in range(count)]
    world.upload(*names)
    store = FaultyStore(world.memory)
    ctx: Context = world.with_store(store)
    began = time.monotonic()
    outcomes = deletion.delete_segments(ctx, TABLE, [*names, "unknown"], actor=ANN)
    assert [o.outcome for o in outcomes] == ["done"] * count + ["unchanged"]
    assert len(store.writes) == 1
    world.serve()
    deletion.drain(ctx, TABLE)
    assert world.memory.children(paths.segments(TABLE.typed)) == []
    assert len(store.writes) <= 1 + 2 * (count // 200 + 1)
    before = len(store.writes)
    assert {o.outcome for o in restore_segments(ctx, TABLE, names, actor=ANN)} == {"done"}
    assert len(store.writes) - before <= 3 * (count // 250 + 1)
    assert (world.ideal, world.files) == (names, names)
    assert time.monotonic() - began < 20


def test_a_real_segment_comes_back_with_its_crc_and_its_very_bytes(tmp_path: Path) -> None:
    cluster: ApiCluster = made(tmp_path / "cluster")
    tar = cluster.build("s0", 5)
    upload_tar(cluster.ctx, API_TABLE, tar, actor=ANN)
    before, row = cluster.fields("s0"), cluster.ideal["s0"]
    deletion.remove_segments(cluster.ctx, API_TABLE, ["s0"], actor=ANN)
    deletion.drain(cluster.ctx, API_TABLE)
    assert restore_segments(cluster.ctx, API_TABLE, ["s0"], actor=ANN)[0].outcome == "done"
    assert (cluster.fields("s0"), cluster.ideal["s0"]) == (before, row)
    assert b"".join(downloads.open_segment(cluster.ctx, "t", "s0").chunks()) == tar.read_bytes()


def test_a_name_with_a_space_is_encoded_in_the_deep_store_only(world: World) -> None:
    name = "my seg+1%"
    world.upload(name)
    root = world.ctx.deep_store.local_root
    assert root is not None
    (root / "t" / name).rename(root / "t" / "my%20seg%2B1%25")
    deletion.remove_segments(world.ctx, TABLE, [name], actor=ANN)
    deletion.drain(world.serve().ctx, TABLE)
    (kept,) = archive.list_kept(world.ctx, TABLE)[0]
    assert (kept.segment, kept.file) == (name, "my%20seg%2B1%25")
    assert restore_segments(world.ctx, TABLE, [name], actor=ANN)[0].outcome == "done"
    assert (world.ideal, world.files) == ([name], ["my%20seg%2B1%25"])


def test_segments_of_a_dropped_table_come_back_when_it_is_made_again(tmp_path: Path) -> None:
    cluster: ApiCluster = made(tmp_path / "cluster")
    upload_tar(cluster.ctx, API_TABLE, cluster.build("s0", 5), actor=ANN)
    before = cluster.fields("s0")
    delete_table(cluster.ctx, API_TABLE, actor=ANN)
    create_table(cluster.ctx, config_of(replication=2), actor=ANN)
    assert [k.segment for k in archive.list_kept(cluster.ctx, API_TABLE)[0]] == ["s0"]
    assert restore_segments(cluster.ctx, API_TABLE, ["s0"], actor=ANN)[0].outcome == "done"
    assert cluster.fields("s0") == before
    assert len(cluster.ideal["s0"]) == 2
