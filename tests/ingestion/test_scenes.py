"""The scenes of consistent push with retries, on files and a table: what is read, what queries count, what stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import FileState, SessionState
from segments.domain.tables.schema import parse_schema
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.gateways.deep_store.deepstore import STAGING
from segments.models import AuditEvent
from segments.services.ingestion import sessions
from segments.services.replacement.protocol import revert_replace
from segments.store import paths
from tests.ingestion.ingesting import APPEND, SWAP, SYNC, IngestionWorld
from tests.push.pushing import SCHEMA
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

MODES = {"append": APPEND, "sync": SYNC, "swap": SWAP}
ROWS = {"F1": 10, "F2": 20, "F3": 30, "F4": 40, "F5": 50}


def scene_1(folder: Path, mode: str, **keys: str) -> IngestionWorld:
    """F0 is visible; F1 and F2 are staged; F3 to F5 failed and are mended since."""
    world = IngestionWorld(folder, {**MODES[mode], **keys})
    world.put("F0", 5)
    world.go()
    assert world.vis == 5
    for name, rows in ROWS.items():
        world.put(name, rows, bad=name in ("F3", "F4", "F5"))
    world.builder.builds.clear()
    world.go()
    assert world.vis == 5
    assert world.session.state is SessionState.IN_PROGRESS
    world.builder.builds.clear()
    for name in ("F3", "F4", "F5"):
        world.put(name, ROWS[name])
    return world


@pytest.mark.parametrize("mode", MODES)
def test_scene_1_files_that_failed_are_read_again_and_all_appear_at_once(tmp_path: Path, mode: str) -> None:
    world = scene_1(tmp_path, mode)
    first = world.session
    assert {n for n, s in world.states.items() if s is FileState.FAILED} == {"F3", "F4", "F5"}
    assert "F3" in first.error
    world.go()
    assert (world.session.id, world.session.retry_count, world.session.state) == (first.id, 1, SessionState.DONE)
    assert (world.read, world.vis) == (3, 155)
    assert world.ctx.deep_store.folders(STAGING) == []
    assert world.go().session_id is None


@pytest.mark.parametrize("mode", MODES)
def test_scene_2_a_new_file_joins(tmp_path: Path, mode: str) -> None:
    world = scene_1(tmp_path, mode)
    world.put("F6", 60)
    world.go()
    assert (world.read, world.vis) == (4, 215)


@pytest.mark.parametrize("mode", MODES)
def test_scene_3_a_failed_file_that_was_rewritten_is_read_as_it_is(tmp_path: Path, mode: str) -> None:
    world = scene_1(tmp_path, mode)
    world.put("F3", 33)
    world.go()
    assert (world.read, world.vis) == (3, 158)


@pytest.mark.parametrize(("mode", "later"), [("append", 166), ("sync", 156), ("swap", 156)])
def test_scene_4_a_staged_file_that_was_rewritten_waits_for_the_next_session(
    tmp_path: Path, mode: str, later: int
) -> None:
    world = scene_1(tmp_path, mode)
    world.put("F1", 11)
    world.go()
    first = world.session.id
    assert (world.read, world.vis) == (3, 155)
    world.go()
    assert world.vis == later
    assert (world.session.id != first, world.session.retry_count) == (True, 0)
    assert len(world.ctx.store.children(paths.ingestion_sessions(TABLE.typed))) == 2


@pytest.mark.parametrize("mode", MODES)
def test_scene_5_a_staged_file_that_was_deleted_leaves(tmp_path: Path, mode: str) -> None:
    world = scene_1(tmp_path, mode)
    (world.folder / "F1").unlink()
    world.go()
    assert (world.read, world.vis, world.states["F1"]) == (3, 145, FileState.DROPPED)


@pytest.mark.parametrize("mode", ["sync", "swap"])
def test_scene_5_its_older_version_goes_too(tmp_path: Path, mode: str) -> None:
    world = IngestionWorld(tmp_path, MODES[mode])
    world.put("F1", 10)
    world.go()
    world.put("F1", 11)
    world.put("F2", 20, bad=True)
    world.go()
    assert world.vis == 10
    (world.folder / "F1").unlink()
    world.put("F2", 20)
    world.go()
    assert (world.vis, world.session.state) == (20, SessionState.DONE)


@pytest.mark.parametrize("mode", MODES)
def test_scene_6_a_failed_file_that_was_deleted_is_left_out(tmp_path: Path, mode: str) -> None:
    world = scene_1(tmp_path, mode)
    (world.folder / "F3").unlink()
    world.go()
    assert (world.read, world.vis, world.states["F3"]) == (2, 125, FileState.DROPPED)


def test_sync_removes_the_rows_of_deleted_files_with_the_switch(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, SYNC)
    for name in ("F1", "F2"):
        world.put(name, 10)
    world.go()
    (world.folder / "F1").unlink()
    world.builder.builds.clear()
    world.go()
    assert (world.read, world.vis, world.session.state) == (0, 10, SessionState.DONE)


def test_the_end_of_every_run_is_on_record(tmp_path: Path) -> None:
    world = scene_1(tmp_path, "sync")
    first = world.session.runs[0]
    assert (first.end_ms, first.failed) == (world.now, 3)
    world.go()
    assert [run.end_ms for run in world.session.runs] == [first.end_ms, world.now]


def test_where_spark_is_watched_is_on_record_while_files_are_read(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    for name in ("F1", "F2"):
        world.put(name, 5)
    seen: list[str] = []
    world.builder.ui = "http://127.0.0.1:4040"
    world.builder.before = lambda _: seen.append(world.session.spark_ui)
    world.go()
    assert (seen, world.session.spark_ui) == (["", "http://127.0.0.1:4040"], "")


def test_a_changed_file_that_is_added_once_more_is_reported(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    world.put("F1", 10)
    world.go()
    assert world.session.changed_files == 0
    world.put("F1", 11)
    world.put("F2", 20)
    assert sessions.preview(world.ctx, TABLE).rows_may_duplicate == (world.uri("F1"),)
    world.go()
    assert (world.vis, world.session.changed_files) == (41, 1)
    world.configure(modifiedFilePolicy="replace")
    world.put("F1", 12)
    assert sessions.preview(world.ctx, TABLE).rows_may_duplicate == ()
    world.go()
    assert (world.vis, world.session.changed_files) == (32, 0)


def test_without_retries_a_failed_session_is_thrown_away_and_everything_is_read_again(tmp_path: Path) -> None:
    world = scene_1(tmp_path, "append", consistentPushMaxRetries="0")
    failed = world.session.id
    world.go()
    assert (world.read, world.vis, world.session.retry_count) == (5, 155, 0)
    kept = {s.id: s.end_reason for s in sessions.history(world.ctx, TABLE)}
    assert kept == {world.session.id: "", failed: "RETRIES_EXHAUSTED"}
    assert world.ctx.deep_store.folders(STAGING) == []


def test_a_trigger_while_a_run_is_under_way_says_so_and_changes_nothing(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    world.put("F1", 10)
    begun = world.trigger()
    second = world.trigger()
    assert (second.session_id, second.is_busy) == (None, True)
    assert begun.session_id is not None
    assert begun.session_id in second.why
    world.work()
    assert world.vis == 10


def test_clearing_keeps_what_is_visible_and_reads_the_rest_again(tmp_path: Path) -> None:
    world = scene_1(tmp_path, "append")
    old = world.session.id
    world.configure(clearConsistentPushState="true")
    world.go()
    assert (world.read, world.vis) == (5, 155)
    assert [s.id for s in sessions.history(world.ctx, TABLE)] == [world.session.id]
    assert world.session.id != old
    again = world.go()
    assert (again.session_id, len(again.notes)) == (None, 1)


def other_files(world: IngestionWorld) -> None:
    world.configure(includeFileNamePattern="glob:**/F*")


def other_schema(world: IngestionWorld) -> None:
    node = world.memory.get(paths.schema("t"))
    assert node is not None
    added = {"name": "note", "dataType": "STRING", "defaultNullValue": "none"}
    body = {**SCHEMA, "dimensionFieldSpecs": [*SCHEMA["dimensionFieldSpecs"], added]}
    world.memory.replace(paths.schema("t"), parse_schema(body).to_record(), node.version)


@pytest.mark.parametrize("change", [other_files, other_schema])
def test_a_changed_task_or_schema_begins_a_new_session_although_retries_are_left(
    tmp_path: Path, change: Callable[[IngestionWorld], None]
) -> None:
    world = scene_1(tmp_path, "append")
    old = world.session.id
    change(world)
    world.go()
    assert (world.read, world.vis) == (5, 155)
    assert {s.id: s.end_reason for s in sessions.history(world.ctx, TABLE)}[old] == "CONFIG_CHANGED"
    assert world.ctx.deep_store.folders(STAGING) == []


def test_a_cancelled_session_leaves_nothing_but_its_record(tmp_path: Path) -> None:
    world = scene_1(tmp_path, "sync")
    after = sessions.cancel(world.ctx, TABLE, ANN)
    assert (after.end_reason, after.task, after.is_open) == ("CANCELLED", "", False)
    assert (world.vis, world.ctx.deep_store.folders(STAGING)) == (5, [])
    with pytest.raises(NotFound):
        sessions.cancel(world.ctx, TABLE, ANN)
    assert AuditEvent.objects.filter(action="cancelIngestionSession").exists()


def test_a_runner_whose_session_was_cancelled_writes_nothing_more(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    world.put("F1", 10)
    world.trigger()
    world.builder.before = lambda _: sessions.cancel(world.ctx, TABLE, ANN) and None
    assert "left to its new runner" in world.work()
    assert (world.vis, world.session.end_reason) == (0, "CANCELLED")


def test_an_empty_folder_does_not_empty_the_table(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, SWAP)
    world.put("F1", 10)
    world.go()
    (world.folder / "F1").unlink()
    with pytest.raises(InvalidInput, match="would be emptied"):
        world.go()
    world.configure(allowEmptySwap="true")
    world.go()
    assert (world.vis, world.session.state) == (0, SessionState.DONE)


def test_a_switch_that_an_operator_reverted_begins_again_from_the_staged_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    world.put("F1", 10)
    world.trigger()

    def refused(*_: Any, **__: Any) -> None:
        raise StateConflict("Not now.")

    with monkeypatch.context() as patched:
        patched.setattr("segments.services.ingestion.switch.end_replace", refused)
        world.work()
    assert (world.session.state, world.session.task) == (SessionState.SWITCH, "")
    revert_replace(world.ctx, TABLE, world.session.entry_id, force=True, actor=ANN)
    world.go()
    assert world.session.state is SessionState.IN_PROGRESS
    world.builder.builds.clear()
    world.go()
    assert (world.session.state, world.vis, world.read) == (SessionState.DONE, 10, 0)


def test_files_appear_one_by_one_without_consistent_push(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, {})
    for name in ("F1", "F2", "F3"):
        world.put(name, 10, bad=name == "F3")
    seen: list[int] = []
    world.builder.before = lambda _: seen.append(world.vis)
    world.go()
    assert seen == [0, 10, 20]
    assert (world.session.state, world.vis) == (SessionState.DONE, 20)
    assert world.ctx.store.children(paths.ingestion_sessions(TABLE.typed)) == []
    world.put("F3", 5)
    world.go()
    assert world.vis == 25
    assert world.go().session_id is None


def test_one_by_one_a_changed_file_takes_the_place_of_its_old_rows_and_deleted_ones_go(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, {"ingestionMode": "SYNC", "enableAtomicUpload": "true"})
    for name in ("F1", "F2", "F3"):
        world.put(name, 10)
    world.go()
    assert world.vis == 30
    world.put("F1", 11)
    (world.folder / "F2").unlink()
    world.go()
    assert world.vis == 21
    assert world.go().session_id is None


def test_files_are_read_in_batches_of_the_tasks_limit_in_one_session(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, {**APPEND, "tableMaxNumTasks": "2"})
    batches: list[int] = []
    build = world.builder.build
    world.builder.build = lambda job, parts, *more: (batches.append(len(parts)), build(job, parts, *more))[1]  # type: ignore[method-assign]
    for name, rows in ROWS.items():
        world.put(name, rows)
    world.go()
    assert (batches, world.vis, world.session.retry_count) == ([2, 2, 1], 150, 0)


def test_a_preview_counts_files_by_what_would_happen_to_them(tmp_path: Path) -> None:
    world = scene_1(tmp_path, "sync")
    (world.folder / "F1").unlink()
    found = sessions.preview(world.ctx, TABLE)
    assert found.files == {"dropped": 1, "kept": 1, "read": 3, "unchanged": 1}
    assert world.session.retry_count == 0


def test_a_run_that_nobody_works_on_is_queued_again(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    world.put("F1", 10)
    world.trigger()
    assert sessions.resume_lost(world.ctx) == []
    world.now += 21_000
    assert len(sessions.resume_lost(world.ctx)) == 1
    assert sessions.resume_lost(world.ctx) == []
