"""The retention pass on what no replacement owns: files of deleted segments, of dropped tables and of interrupted
uploads.
"""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from segments.clusters.embedded.engine.segments import EXCLUSIVE_KEY
from segments.domain.formats.znrecord import ZNRecord
from segments.errors import PinotAdminError, StateConflict
from segments.models import PassRun
from segments.services.clusters.cluster_settings import set_settings
from segments.services.core.context import SYSTEM
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.protocol import revert_replace, start_replace
from segments.services.segments import deletion
from segments.services.segments.restore import restore_segments
from segments.services.upkeep import passes, retention
from segments.store import paths
from tests.faults.faulty import FaultyStore, Plan
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
DAY_S = 86_400


def put(root: Path, path: str, world: World, age_days: float) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("tar")
    stamp = world.now / 1000 - age_days * DAY_S
    os.utime(file, (stamp, stamp))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store", kind="APPEND")


def test_files_of_deleted_segments_go_after_a_week_also_of_dropped_tables(world: World, tmp_path: Path) -> None:
    root = tmp_path / "store"
    for folder in ("t", "dropped"):
        put(root, f"Deleted_Segments/{folder}/young", world, 6)
        put(root, f"Deleted_Segments/{folder}/old", world, 8)
    said = passes.run_pass(world.ctx, "RetentionManager", None, SYSTEM)
    assert len([s for s in said if "whose time was over" in s]) == 2
    assert sorted(p.name for p in (root / "Deleted_Segments").rglob("*") if p.is_file()) == ["young", "young"]


def test_what_interrupted_uploads_left_goes_but_not_the_file_a_record_names(world: World, tmp_path: Path) -> None:
    root = tmp_path / "store"
    world.upload("a")  # its record names CRC 1
    put(root, "t/a.tmp.1", world, 3)
    put(root, "t/a.tmp.2", world, 3)
    put(root, "t/b.tmp.5", world, 0.1)
    passes.run_pass(world.ctx, "RetentionManager", TABLE, SYSTEM)
    assert sorted(p.name for p in (root / "t").iterdir()) == ["a", "a.tmp.1", "b.tmp.5"]


def test_the_waiting_file_of_a_realtime_segment_is_not_the_offline_tables_to_remove(
    world: World, tmp_path: Path
) -> None:
    """The process that committed it died before it could give the file its name; the record names its CRC."""
    root, name = tmp_path / "store", "t__0__0__20260101T0000Z"
    fields = {"segment.realtime.status": "DONE", "segment.crc": "7"}
    world.memory.create(paths.segment("t_REALTIME", name), ZNRecord(name, fields))
    for crc in ("7", "8"):
        put(root, f"t/{name}.tmp.{crc}", world, 3)
    passes.run_pass(world.ctx, "RetentionManager", TABLE, SYSTEM)
    assert [p.name for p in (root / "t").iterdir()] == [f"{name}.tmp.7"]


def test_every_run_is_remembered_with_its_sentences(world: World) -> None:
    passes.run_pass(world.ctx, "RetentionManager", None, SYSTEM)
    run = PassRun.objects.get()
    assert (run.table_name, run.succeeded, run.sentences) == ("t_OFFLINE", True, ["Nothing of t_OFFLINE is due."])


def test_a_failing_step_stops_no_other_and_both_are_reported(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the original a failure of time retention skips the lineage clean-up of that table."""
    root = tmp_path / "store"
    put(root, "Deleted_Segments/t/old", world, 8)

    def broken(*_: object) -> list[str]:
        raise PinotAdminError("no records today")

    monkeypatch.setattr("segments.clusters.embedded.retention._by_time", broken)
    (said,) = passes.run_pass(world.ctx, "RetentionManager", TABLE, SYSTEM)
    assert "Time retention failed: no records today" in said
    assert "Removed 1 file " in said
    assert not (root / "Deleted_Segments" / "t" / "old").exists()
    assert PassRun.objects.get().succeeded is False


def test_the_pass_says_what_it_did_in_plain_sentences(world: World) -> None:
    start_replace(world.ctx, TABLE, [], ["b"], actor=ANN, entry_id="e1")
    world.upload("b")
    revert_replace(world.ctx, TABLE, "e1", force=True, actor=ANN)
    world.serve()
    assert passes.run_pass(world.ctx, "RetentionManager", TABLE, SYSTEM) == [
        "Dropped lineage entry e1 (REVERTED): none of its 1 old segments is left.",
        "Removed the records of 1 segment that uploads of dropped entries had left.",
        "Segment b of t_OFFLINE: the file is kept for a restore.",
    ]


def test_a_record_that_a_foreign_upload_left_goes_with_its_spent_entry(world: World) -> None:
    start_replace(world.ctx, TABLE, [], ["b"], actor=ANN, entry_id="e1")
    world.memory.create(paths.segment(TABLE.typed, "b"), ZNRecord("b", {"segment.crc": "1"}))
    revert_replace(world.ctx, TABLE, "e1", force=True, actor=ANN)
    for _ in range(2):
        retention.run(world.serve().ctx, TABLE)
    assert world.memory.children(paths.segments(TABLE.typed)) == []


def test_a_file_that_is_just_being_restored_is_not_taken_for_a_stranded_upload(world: World, tmp_path: Path) -> None:
    """Its time is that of the deletion, days ago."""
    world.upload("a")
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    deletion.drain(world.serve().ctx, TABLE)
    world.now += 3 * DAY_S * 1000

    seen: list[list[str]] = []

    def pass_in_between() -> None:
        retention.run(world.ctx, TABLE)
        seen.append(world.files)

    store = FaultyStore(world.memory, Plan(before={2: pass_in_between}))
    (outcome,) = restore_segments(world.with_store(store), TABLE, ["a"], actor=ANN)
    assert (outcome.outcome, seen, world.files) == ("done", [["a.tmp.1"]], ["a"])


def test_a_deleted_segment_with_tmp_in_its_name_is_no_stranded_upload_while_it_waits(world: World) -> None:
    world.upload("a.tmp.b")
    deletion.remove_segments(world.ctx, TABLE, ["a.tmp.b"], actor=ANN)
    world.now += 3 * DAY_S * 1000
    retention.run(world.ctx, TABLE)  # its server still has it
    assert world.files == ["a.tmp.b"]


def test_an_entry_stays_whose_segment_comes_back_while_its_clean_up_is_decided(world: World) -> None:
    """The clean-up decided on an ideal state without the segment; dropping the entry would show reverted rows."""
    start_replace(world.ctx, TABLE, [], ["b"], actor=ANN, entry_id="e1")
    revert_replace(world.ctx, TABLE, "e1", force=True, actor=ANN)
    store = FaultyStore(world.memory, Plan(before={1: lambda: world.upload("b")}))
    retention.run(world.with_store(store), TABLE)
    assert (world.state("e1"), world.visible) == ("REVERTED", [])


@pytest.mark.parametrize(("setting", "is_deleted"), [(None, False), ("true", False), ("False", True)])
def test_segments_of_a_replacement_are_guarded_unless_the_clusters_setting_says_not(
    world: World, setting: str | None, is_deleted: bool
) -> None:
    """Pinot's controller.lineage.exclusive.delete.enabled: by hand, for many, and by the retention of time."""
    world.upload("by-hand", "of-many", "by-time")
    entry = start_replace(world.ctx, TABLE, world.ideal, [], actor=ANN)
    with_retention(world, "by-time")
    if setting is not None:
        set_settings(world.ctx, {EXCLUSIVE_KEY: setting}, actor=ANN)
    with nullcontext() if is_deleted else pytest.raises(StateConflict, match="part of a replacement"):
        deletion.remove_segments(world.ctx, TABLE, ["by-hand"], actor=ANN)
    [outcome] = deletion.delete_segments(world.ctx, TABLE, ["of-many"], actor=ANN)
    retention.run(world.ctx, TABLE)
    assert outcome.outcome == ("done" if is_deleted else "refused")
    assert world.ideal == ([] if is_deleted else ["by-hand", "by-time", "of-many"])
    assert world.state(entry) == "IN_PROGRESS"


def test_what_is_pinned_stays_guarded_whatever_the_setting_says(world: World) -> None:
    entry = start_replace(world.ctx, TABLE, [], ["a"], actor=ANN)
    world.upload("a")
    pin_entry(world.ctx, TABLE, entry, ANN)
    set_settings(world.ctx, {EXCLUSIVE_KEY: "false"}, actor=ANN)
    with pytest.raises(StateConflict, match="part of a replacement"):
        deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)


def with_retention(world: World, segment: str) -> None:
    """The table keeps a day, and the segment is older."""
    config, record = paths.table_config(TABLE.typed), paths.segment(TABLE.typed, segment)
    node = world.memory.get(config)
    assert node is not None
    assert node.record is not None
    settings = {"replication": "1", "retentionTimeUnit": "DAYS", "retentionTimeValue": "1"}
    world.memory.replace(config, node.record.with_simple(segmentsConfig=json.dumps(settings)), node.version)
    node = world.memory.get(record)
    assert node is not None
    assert node.record is not None
    old = str(world.now - 3 * DAY_S * 1000)
    world.memory.replace(record, node.record.with_simple_items({
        "segment.start.time": old, "segment.end.time": old, "segment.time.unit": "MILLISECONDS",
    }), node.version)  # fmt: skip
