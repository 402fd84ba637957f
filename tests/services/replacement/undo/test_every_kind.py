"""Rollbacks are undone on every kind of cluster: the same previews, outcomes, refusals and audit records.

What differs in kind: an embedded cluster shows the segments again under their names, a Pinot shows copies under new
names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot import calls
from segments.errors import NotFound, StateConflict
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.replacement.undo.planning import preview_undo
from segments.services.replacement.undo.rollback import undo_rollback
from segments.services.segments import uploads
from tests.services.segments.kinds import KINDS, Kind, kind_of, tar
from tests.services.world import ANN

pytestmark = pytest.mark.django_db


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """In memory; ``tests/real_pinot/suites`` has the same on a real Pinot."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    return kind_of(request.param, tmp_path)


@pytest.fixture
def kind(empty: Kind, tmp_path: Path) -> Kind:
    """Segment a is online."""
    uploads.upload_tar(empty.ctx, empty.table, tar(tmp_path, "a"), actor=ANN)
    return empty


@pytest.fixture
def chain(kind: Kind, tmp_path: Path) -> list[str]:
    """a was replaced by b, b by c."""
    return [pushed(kind, tmp_path, "a", "b"), pushed(kind, tmp_path, "b", "c")]


def pushed(kind: Kind, folder: Path, old: str, new: str) -> str:
    """The entry of a replacement that has ended."""
    kind.later()
    entry = start_replace(kind.ctx, kind.table, [old], [new], actor=ANN)
    uploads.upload_tar(kind.ctx, kind.table, tar(folder, new), actor=ANN, lineage_entry=entry)
    end_replace(kind.ctx, kind.table, entry, actor=ANN)
    kind.later()
    return entry


def revert(kind: Kind, entry: str) -> None:
    """It is rolled back, and its files are kept."""
    revert_replace(kind.ctx, kind.table, entry, actor=ANN)
    kind.put_away()
    kind.later()


def undo(kind: Kind, entry: str) -> str:
    """The entry of the undo."""
    return undo_rollback(kind.ctx, kind.table, entry, actor=ANN).entry


def origins(kind: Kind) -> list[str]:
    """Segments that queries see, by the names they had before any undo."""
    return [s.partition("_undo")[0] for s in kind.visible]


def refusals(kind: Kind) -> int:
    """Undos that are on record as refused."""
    return [(e.action, e.outcome) for e in kind.events].count(("undoRollback", "refused"))


def test_an_undo_does_what_its_preview_shows_and_is_on_record(kind: Kind, chain: list[str]) -> None:
    revert(kind, chain[1])
    assert kind.visible == ["b"]
    preview = preview_undo(kind.ctx, kind.table, chain[1])
    assert (preview.allowed, preview.returning_segments, preview.hidden_segments) == (True, ["c"], ["b"])
    assert (preview.before.rows, preview.after.rows, preview.possible_until_ms is not None) == (1, 1, True)
    assert kind.visible == ["b"]
    done = undo_rollback(kind.ctx, kind.table, chain[1], actor=ANN)
    assert (done.undone, done.hidden, kind.visible) == ((chain[1],), ("b",), list(done.returned))
    assert origins(kind) == ["c"]
    events = [e for e in kind.events if e.action == "undoRollback"]
    assert {(e.outcome, e.actor, e.target) for e in events} == {("done", "ann", kind.table.typed)}
    assert [e.detail["entry"] for e in events] == [done.entry, chain[1]]


def test_several_steps_are_undone_in_one_and_the_undo_can_be_rolled_back_and_undone(
    kind: Kind, chain: list[str]
) -> None:
    assert preview_rollback(kind.ctx, kind.table, chain[0]).undo_until_ms is not None
    done = roll_back(kind.ctx, kind.table, chain[0], actor=ANN)
    assert (kind.visible, done.undo_until_ms is not None) == (["a"], True)
    kind.put_away()
    kind.later()
    undone = undo_rollback(kind.ctx, kind.table, chain[0], actor=ANN)
    assert (undone.undone, undone.hidden, origins(kind)) == ((chain[1], chain[0]), ("a",), ["c"])
    revert(kind, undone.entry)
    assert kind.visible == ["a"]
    undo(kind, undone.entry)
    assert origins(kind) == ["c"]


def test_a_rollback_is_undone_once_and_only_what_was_rolled_back_is_undone(kind: Kind, chain: list[str]) -> None:
    with pytest.raises(StateConflict, match="only a rollback can be undone"):
        undo(kind, chain[1])
    revert(kind, chain[1])
    undo(kind, chain[1])
    with pytest.raises((NotFound, StateConflict), match="undone already"):
        undo(kind, chain[1])
    with pytest.raises(NotFound):
        undo(kind, "nothing")
    assert (origins(kind), refusals(kind)) == (["c"], 3)


def test_what_never_was_seen_is_not_brought_back(kind: Kind, chain: list[str]) -> None:
    entry = start_replace(kind.ctx, kind.table, ["c"], ["x"], actor=ANN)
    revert_replace(kind.ctx, kind.table, entry, force=True, actor=ANN)
    with pytest.raises(StateConflict, match="before its end"):
        undo(kind, entry)
    assert (kind.visible, refusals(kind)) == (["c"], 1)


def test_while_a_push_runs_it_is_refused(kind: Kind, chain: list[str]) -> None:
    revert(kind, chain[1])
    open_entry = start_replace(kind.ctx, kind.table, ["b"], ["x"], actor=ANN)
    with pytest.raises(StateConflict, match=rf"'{open_entry}' \(IN_PROGRESS\)"):
        undo(kind, chain[1])
    assert (kind.visible, refusals(kind)) == (["b"], 1)


def test_a_push_that_came_after_the_rollback_is_not_seen_together_with_what_comes_back(
    kind: Kind, chain: list[str], tmp_path: Path
) -> None:
    revert(kind, chain[1])
    later = pushed(kind, tmp_path, "b", "g")
    preview = preview_undo(kind.ctx, kind.table, chain[1])
    assert (preview.allowed, later in preview.blockers[0]) == (False, True)
    with pytest.raises(StateConflict, match=f"replaced again by lineage entry '{later}'"):
        undo(kind, chain[1])
    assert kind.visible == ["g"]
