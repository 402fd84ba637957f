"""A table that lacks what file ingestion needs: what is missing is named, and nothing is changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from segments.domain.ingestion.session import SessionState
from segments.domain.segments import segment_metadata
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.gateways.deep_store.deepstore import STAGING
from segments.gateways.deep_store.no_deep_store import NoDeepStore
from segments.names import OFFLINE, TableName
from segments.segmentfile import build_segment, write_tar
from segments.services.ingestion import sessions, switch
from segments.services.ingestion.slices import kept_rows
from segments.services.ingestion.task_settings import switch_off
from segments.services.replacement.protocol import revert_replace
from segments.services.segments import uploads
from segments.store import paths
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.ingestion.slices.test_replaced_parts import DAY_MS, days
from tests.ingestion.slices.test_split_segments import corrected, of_four_days, rows_by_start
from tests.ingestion.test_guards import of_two_files, raising
from tests.push.pushing import SCHEMA, config
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


def test_without_a_deep_store_nothing_is_ingested(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.ctx = replace(world.ctx, deep_store=NoDeepStore())
    with pytest.raises(StateConflict, match="no deep store, so nothing can be ingested"):
        world.trigger()


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    with pytest.raises(NotFound, match="nowhere"):
        sessions.trigger(world.ctx, TableName("nowhere", OFFLINE), ANN)


@pytest.mark.parametrize(("path", "says"), [(paths.table_config(TABLE.typed), "t_OFFLINE"), (paths.schema("t"), "t")])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_config_or_schema_that_is_gone_or_empty_is_named(
    tmp_path: Path, path: str, says: str, is_there: bool
) -> None:
    world = of_two_files(tmp_path)
    world.memory.delete(path, None)
    if is_there:
        world.memory.create(path, None)
    with pytest.raises(NotFound, match=f"'{says}'"):
        world.trigger()


def test_a_table_without_the_task_cannot_have_it_switched_off(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.configure_table(task={"taskTypeConfigsMap": {"RealtimeToOfflineSegmentsTask": {}}})
    with pytest.raises(NotFound, match="has no FileIngestionTask"):
        switch_off(world.ctx, TABLE, actor=ANN)


def test_a_table_without_a_time_column_has_no_slice_to_replace(tmp_path: Path) -> None:
    world = corrected(tmp_path)
    before = world._config()[0]["segmentsConfig"]
    world.configure_table(segmentsConfig={k: v for k, v in before.items() if k != "timeColumnName"})
    with pytest.raises(InvalidInput, match="has no time column, so no time range of it can be replaced"):
        sessions.preview(world.ctx, TABLE)


def starts_with(world: IngestionWorld, segment: str, day: int) -> bool:
    node = world.memory.get(paths.segment(TABLE.typed, segment))
    assert node is not None
    assert node.record is not None
    return segment_metadata.from_record(node.record).start_ms == day * DAY_MS


def stopped_before_its_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> IngestionWorld:
    """A session that split segments, and whose switch somebody stands in the way of."""
    world = corrected(folder)
    with monkeypatch.context() as patched:
        patched.setattr(switch, "open_replacement", raising(StateConflict("Not now.")))
        world.go()
    assert world.session.state is SessionState.SWITCH
    return world


@pytest.mark.parametrize("lost", ["", "tar.gz"])
def test_rows_that_stay_are_built_again_only_when_they_are_gone(
    tmp_path: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = stopped_before_its_end(tmp_path, monkeypatch)
    built: list[str] = []
    write = kept_rows.write_stored
    monkeypatch.setattr(kept_rows, "write_stored", lambda *a, **k: (built.append(a[4]), write(*a, **k))[1])
    name = sessions.read_manifest(world.ctx, world.session).kept[0].name
    ordinal = sessions.read_manifest(world.ctx, world.session).kept[0].ordinal
    part = f"{STAGING}/{world.session.id}/part-{ordinal:05d}"
    assert world.ctx.deep_store.size(f"{part}.tar.gz")
    if lost:
        assert world.ctx.deep_store.delete(f"{part}.{lost}")
    for _ in range(2):
        world.go()
    assert built == ([name] if lost else [])
    assert (world.session.state, rows_by_start(world)) == (SessionState.DONE, {17000: 3, 17001: 4, 17003: 3})


def test_rows_that_stay_are_built_again_when_their_segment_was_replaced_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = corrected(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(switch, "end_replace", raising(StateConflict("Not now.")))
        world.go()
    revert_replace(world.ctx, TABLE, world.session.entry_id, force=True, actor=ANN)
    name = min(k.segment for k in sessions.read_manifest(world.ctx, world.session).kept)
    kept = next(k.rows for k in sessions.read_manifest(world.ctx, world.session).kept if k.segment == name)
    world.go()
    assert (world.session.state, kept) == (SessionState.IN_PROGRESS, 3)
    day = 17000 if starts_with(world, name, 17000) else 17003
    rows = pa.table({"city": ["Bern"], "n": pa.array([1], pa.int32()), "day": pa.array([day], pa.int32())})
    build_segment(rows, parse_schema(SCHEMA), parse_table_config(config()), name, tmp_path, creation_time_ms=1)
    write_tar(tmp_path / name, tmp_path / "new.tar.gz")
    uploads.upload_tar(world.ctx, TABLE, tmp_path / "new.tar.gz", actor=ANN)
    world.go()
    assert (world.session.state, world.session.error) == (SessionState.DONE, "")
    assert rows_by_start(world)[day] == 1, "what stays is what was there last"


def test_a_segment_of_which_nothing_stays_gets_no_empty_one_in_its_place(tmp_path: Path) -> None:
    world = of_four_days(tmp_path)
    for name in world.visible:
        node = world.memory.get(paths.segment(TABLE.typed, name))
        assert node is not None
        assert node.record is not None
        simple = {k: v for k, v in node.record.simple.items() if k not in ("segment.start.time", "segment.end.time")}
        world.memory.replace(paths.segment(TABLE.typed, name), replace(node.record, simple=simple), node.version)
    world.configure(**days(17000, 17002), replaceCrossing="split")
    world.file("c.csv", "Bern,1,17000")
    world.go()
    assert (world.session.error, world.session.state) == ("", SessionState.DONE)
    assert (world.vis, len(world.visible)) == (7, 2), "one new row, and both days of the other segment"


def test_one_by_one_a_files_own_replacement_is_not_taken_for_the_sessions(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, {"ingestionMode": "SYNC", "enableAtomicUpload": "true"})
    world.put("F1", 10)
    world.go()
    world.put("F1", 11)
    world.go()
    assert (world.vis, world.session.entry_id) == (11, "")


def test_the_first_clearing_has_nothing_to_remark(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.configure(**APPEND, clearConsistentPushState="true")
    assert world.go().notes == ()
    assert len(world.go().notes) == 1
