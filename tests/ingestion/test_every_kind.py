"""File ingestion sessions on every kind of cluster: one switch at the end, nothing before it, nothing left behind."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.pinot import push as pinot_push
from segments.domain.ingestion.session import IngestionSession, SessionState
from segments.domain.replacement.lineage import State
from segments.domain.tables.table_config import parse_table_config
from segments.errors import OutcomeUnknown
from segments.gateways.deep_store.deepstore import STAGING
from segments.gateways.input_files.rules import InputRules
from segments.services.ingestion import sessions, switch
from segments.services.ingestion.session_run import run_session
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import revert_replace
from segments.services.segments import uploads
from segments.store import paths
from segments.store.update import update_record
from tests.push.pushing import LocalBuilder
from tests.services.segments.kinds import KINDS, SimulatedKind, keeping, kind_of, tar
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


class Ingesting:
    """A table that shows segment ``old`` and ingests a folder."""

    def __init__(self, kind: SimulatedKind, folder: Path, keys: dict[str, str]) -> None:
        self.kind, self.table, self.folder = kind, kind.table, folder / "files"
        self.ctx = replace(kind.ctx, inputs=InputRules((str(folder),)))
        self.folder.mkdir()
        self.builder, self._mtime = LocalBuilder(), 1_700_000_000
        given = {"inputDirURI": str(self.folder), "inputFormat": "csv", "consistentPushMaxRetries": "3", **keys}
        body = {**keeping(), "task": {"taskTypeConfigsMap": {"FileIngestionTask": given}}}
        record = parse_table_config(body).to_record()
        update_record(kind.inside.memory, paths.table_config(TABLE.typed), lambda _: record)
        uploads.upload_tar(self.ctx, self.table, tar(folder, "old"), actor=ANN)

    def put(self, name: str, *rows: str) -> None:
        path = self.folder / name
        path.write_text("\n".join(["city,n,day", *rows]) + "\n")
        self._mtime += 1
        os.utime(path, (self._mtime, self._mtime))

    @property
    def session(self) -> IngestionSession:
        found = sessions.current(self.ctx, self.table)
        assert found is not None
        return found

    def go(self) -> str:
        self.kind.later()
        result = sessions.trigger(self.ctx, self.table, ANN)
        return self.work() if result.session_id else result.why

    def work(self) -> str:
        self.kind.later()
        return run_session(self.ctx, self.table, self.session.id, "me", builder=self.builder)

    @property
    def entries(self) -> list[State]:
        return [e.state for e in observe(self.ctx, self.table).lineage.in_order()]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedKind:
    """In memory, where the fake Pinot takes one upload at a time."""
    monkeypatch.setattr(pinot_push, "_TOGETHER", 1)
    return kind_of(request.param, tmp_path)


def test_a_failed_file_hides_all_and_its_retry_shows_all_in_one_switch(kind: SimulatedKind, tmp_path: Path) -> None:
    world = Ingesting(kind, tmp_path, {"consistentPushEnabled": "true"})
    world.put("a.csv", "Rom,1,17000", "Bern,2,17001")
    world.put("b.csv", "Paris,three,17002")
    world.go()
    assert (world.session.state, kind.visible, world.entries) == (SessionState.IN_PROGRESS, ["old"], [])
    assert "line 2" in world.session.error
    world.put("b.csv", "Paris,3,17002")
    world.go()
    assert (world.session.state, world.session.retry_count, world.session.error) == (SessionState.DONE, 1, "")
    assert len(kind.visible) == 3
    assert world.entries == [State.COMPLETED]
    assert len(world.builder.builds) == 2
    assert world.ctx.deep_store.folders(STAGING) == []


def test_a_swap_replaces_the_whole_table_and_can_be_reverted(kind: SimulatedKind, tmp_path: Path) -> None:
    world = Ingesting(kind, tmp_path, {"consistentPushSwapEnabled": "true"})
    world.put("a.csv", "Rom,1,17000")
    world.go()
    assert "old" not in kind.visible
    assert len(kind.visible) == 1
    revert_replace(world.ctx, world.table, world.session.entry_id, actor=ANN)
    assert kind.visible == ["old"]


def test_sync_replaces_changed_files_and_removes_deleted_ones(kind: SimulatedKind, tmp_path: Path) -> None:
    world = Ingesting(kind, tmp_path, {"consistentPushEnabled": "true", "ingestionMode": "SYNC"})
    for name in ("a.csv", "b.csv", "c.csv"):
        world.put(name, "Rom,1,17000")
    world.go()
    before = set(kind.visible)
    world.put("a.csv", "Rom,1,17000", "Rom,2,17000")
    (world.folder / "b.csv").unlink()
    world.go()
    assert (len(kind.visible), len(before & set(kind.visible))) == (3, 2)
    assert world.go() == "Nothing changed in the input folder."


def test_a_cancelled_session_takes_its_staged_files_away(kind: SimulatedKind, tmp_path: Path) -> None:
    world = Ingesting(kind, tmp_path, {"consistentPushEnabled": "true"})
    world.put("a.csv", "Rom,1,17000")
    world.put("b.csv", "Paris,three,17002")
    world.go()
    sessions.cancel(world.ctx, world.table, ANN)
    assert (world.session.end_reason, kind.visible) == ("CANCELLED", ["old"])
    assert world.ctx.deep_store.folders(STAGING) == []


def test_a_switch_whose_answer_was_lost_is_done_once(
    kind: SimulatedKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Ingesting(kind, tmp_path, {"consistentPushEnabled": "true"})
    world.put("a.csv", "Rom,1,17000")
    end = switch.end_replace

    def lost(*args: Any, **named: Any) -> None:
        end(*args, **named)
        raise OutcomeUnknown("The reply was lost.")

    with monkeypatch.context() as patched:
        patched.setattr(switch, "end_replace", lost)
        world.go()
    assert world.session.state is SessionState.SWITCH
    assert len(kind.visible) == 2
    world.work()
    assert (world.session.state, len(kind.visible), world.entries) == (SessionState.DONE, 2, [State.COMPLETED])


def test_files_appear_one_by_one_without_consistent_push(kind: SimulatedKind, tmp_path: Path) -> None:
    world = Ingesting(kind, tmp_path, {})
    for name in ("a.csv", "b.csv"):
        world.put(name, "Rom,1,17000")
    seen: list[int] = []
    world.builder.before = lambda _: seen.append(len(kind.visible))
    world.go()
    assert (seen, len(kind.visible)) == ([1, 2], 3)
