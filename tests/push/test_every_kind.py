"""Pushes on every kind of cluster: what becomes visible, what failures leave behind, what is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.clusters.pinot import push as pinot_push
from segments.errors import StateConflict
from segments.gateways.deep_store.deepstore import STAGING
from segments.models import Push
from segments.services.push.push_run import run_push
from segments.services.push.pushes import cancel_push, create_push
from segments.services.replacement.protocol import revert_replace
from segments.services.segments import uploads
from tests.push.pushing import LocalBuilder
from tests.services.segments.kinds import KINDS, Kind, kind_of, tar
from tests.services.world import ANN

pytestmark = pytest.mark.django_db


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """In memory, where the fake Pinot takes one upload at a time; ``tests/real_pinot/suites`` has the same on a real
    one.
    """
    monkeypatch.setattr(pinot_push, "_TOGETHER", 1)
    return kind_of(request.param, tmp_path)


class Pushing:
    """Pushes of the files in a folder to a table that shows segment ``old``; a builder in this process."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind, self.ctx, self.table, self._folder = kind, kind.ctx, kind.table, folder / "in"
        self._folder.mkdir()
        self.builder, self.sentence = LocalBuilder(), ""
        self.file("a.csv", "Rom,1,17000", "Bern,2,17001")
        self.file("b.csv", "Paris,3,17002")
        uploads.upload_tar(self.ctx, self.table, tar(folder, "old"), actor=ANN)

    def file(self, name: str, *rows: str) -> Path:
        path = self._folder / name
        path.write_text("\n".join(["city,n,day", *rows]) + "\n")
        return path

    def create(self) -> Push:
        self.kind.later()
        spec: dict[str, Any] = {
            "jobType": "SegmentCreationAndMetadataPush",
            "inputDirURI": str(self._folder),
            "tableSpec": {"tableName": self.table.raw},
            "recordReaderSpec": {"dataFormat": "csv"},
        }
        return create_push(self.ctx, spec, ANN, roots=[str(self._folder)])

    def run(self, push: Push) -> Push:
        self.kind.later()
        self.sentence = run_push(self.ctx, str(push.pk), "me", builder=self.builder)
        push.refresh_from_db()
        return push

    def left(self) -> tuple[list[str], list[str], list[str]]:
        """(segments that queries see, those of the ideal state, folders of files that wait to be pushed)"""
        return self.kind.visible, self.kind.ideal, self.ctx.deep_store.folders(STAGING)


@pytest.fixture
def pushing(empty: Kind, tmp_path: Path) -> Pushing:
    return Pushing(empty, tmp_path)


def test_a_push_replaces_the_whole_snapshot_and_can_be_reverted(pushing: Pushing) -> None:
    push = pushing.run(pushing.create())
    assert (push.state, push.error) == (Push.State.DONE, "")
    new, _, staged = pushing.left()
    assert [name.startswith(f"{pushing.table.typed}_1700") for name in new] == [True, True]
    assert staged == []
    assert (push.rows, push.files_done, push.segments_built, push.segments_uploaded, push.attempts) == (3, 2, 2, 2, 1)
    assert set(push.stage_seconds) == {"LIST", "BUILD", "START", "UPLOAD", "END"}
    revert_replace(pushing.ctx, pushing.table, push.entry_id, actor=ANN)
    assert pushing.kind.visible == ["old"]


def test_a_second_push_takes_the_place_of_the_first(pushing: Pushing) -> None:
    first = pushing.run(pushing.create())
    before = pushing.kind.visible
    second = pushing.run(pushing.create())
    assert {first.state, second.state} == {Push.State.DONE}
    assert len(pushing.kind.visible) == 2
    assert not set(before) & set(pushing.kind.visible)


def test_a_bad_value_names_file_line_and_column_and_leaves_nothing(pushing: Pushing) -> None:
    path = pushing.file("c.csv", "Oslo,4,17000", "Oslo,four,17000")
    push = pushing.run(pushing.create())
    assert push.state == Push.State.FAILED
    assert f"'{path}' line 3: Column 'n': value 'four' does not convert to INT" in push.error
    assert pushing.left() == (["old"], ["old"], [])


def test_a_cancelled_push_stops_its_runner_and_leaves_nothing(pushing: Pushing) -> None:
    push = pushing.create()
    pushing.builder.before = lambda part: (
        None if part.ordinal == 0 else (cancel_push(pushing.ctx, str(push.pk), ANN), None)[1]
    )
    pushing.run(push)
    assert (push.state, push.error) == (Push.State.CANCELLED, "Cancelled by ann: because")
    assert "left to its new runner" in pushing.sentence
    assert pushing.left() == (["old"], ["old"], [])
    with pytest.raises(StateConflict, match="cancelled"):
        cancel_push(pushing.ctx, str(push.pk), ANN)
