"""A rollback on a Pinot cluster is undone from the copies that were kept: under new names, in one switch, also after a
cut.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.errors import NotFound, PreconditionFailed, StateConflict
from segments.segmentfile.packed.rename import rename_tar
from segments.segmentfile.packed.tar import extract_tar, read_info_from_tar
from segments.segmentfile.verify import verify
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.replacement.undo.planning import preview_undo
from segments.services.replacement.undo.rollback import undo_rollback
from segments.services.segments import uploads
from segments.store import paths
from tests.faults.faulty import Cut
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.segments.test_segments import cluster as cluster
from tests.services.segments.kinds import keep_copies, tar
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


def pushed(cluster: PinotCluster, folder: Path, old: str, new: str) -> str:
    entry = start_replace(cluster.ctx, TABLE, [old], [new], actor=ANN)
    uploads.upload_tar(cluster.ctx, TABLE, tar(folder, new), actor=ANN, lineage_entry=entry)
    end_replace(cluster.ctx, TABLE, entry, actor=ANN)
    return entry


@pytest.fixture
def chain(cluster: PinotCluster, tmp_path: Path) -> list[str]:
    """a was replaced by b, b by c; copies of what is deleted are kept."""
    keep_copies(cluster.inside)
    return [pushed(cluster, tmp_path, "a", "b"), pushed(cluster, tmp_path, "b", "c")]


def test_a_renamed_segment_is_whole_and_has_its_own_crc(tmp_path: Path) -> None:
    source, work = tar(tmp_path, "old"), tmp_path / "work"
    work.mkdir()
    renamed = rename_tar(source, "new name", work)
    before, after = read_info_from_tar(source), read_info_from_tar(renamed)
    assert (after.name, after.total_docs, after.data_crc) == ("new name", before.total_docs, before.data_crc)
    assert after.crc != before.crc
    assert verify(extract_tar(renamed, tmp_path / "again")) == []


def test_an_undone_rollback_shows_the_copies_under_new_names(cluster: PinotCluster, chain: list[str]) -> None:
    revert_replace(cluster.ctx, TABLE, chain[1], actor=ANN)
    assert cluster.visible == ["b"]
    preview = preview_undo(cluster.ctx, TABLE, chain[1])
    assert (preview.allowed, preview.returning_segments, preview.hidden_segments) == (True, ["c"], ["b"])
    assert preview.possible_until_ms is not None
    done = undo_rollback(cluster.ctx, TABLE, chain[1], actor=ANN)
    assert cluster.visible == list(done.returned)
    assert done.returned[0].startswith("c_undo")
    with pytest.raises((NotFound, StateConflict), match="undone"):
        undo_rollback(cluster.ctx, TABLE, chain[1], actor=ANN)


def test_several_steps_are_undone_in_one_and_the_undo_can_be_rolled_back_and_undone(
    cluster: PinotCluster, chain: list[str]
) -> None:
    assert preview_rollback(cluster.ctx, TABLE, chain[0]).undo_until_ms is not None
    done = roll_back(cluster.ctx, TABLE, chain[0], actor=ANN)
    assert (cluster.visible, done.undo_until_ms is not None) == (["a"], True)
    undone = undo_rollback(cluster.ctx, TABLE, chain[0], actor=ANN)
    assert (undone.undone, undone.hidden) == ((chain[1], chain[0]), ("a",))
    assert [s[:6] for s in cluster.visible] == ["c_undo"]
    revert_replace(cluster.ctx, TABLE, undone.entry, actor=ANN)
    assert cluster.visible == ["a"]
    cluster.inside.now += 5000
    undo_rollback(cluster.ctx, TABLE, undone.entry, actor=ANN)
    assert [s[:6] for s in cluster.visible] == ["c_undo"]


def test_without_copies_it_is_refused_and_nothing_changes(cluster: PinotCluster, tmp_path: Path) -> None:
    entry = pushed(cluster, tmp_path, "a", "b")
    told = preview_rollback(cluster.ctx, TABLE, entry)
    assert told.undo_until_ms is None
    revert_replace(cluster.ctx, TABLE, entry, actor=ANN)
    changes = len(cluster.rest.changes)
    with pytest.raises(PreconditionFailed, match="No copy of segment 'b' was kept"):
        undo_rollback(cluster.ctx, TABLE, entry, actor=ANN)
    assert len(cluster.rest.changes) == changes


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_cut_at_any_change_it_is_carried_on_by_the_same_call(
    cluster: PinotCluster, chain: list[str], fault: Fault, number: int
) -> None:
    revert_replace(cluster.ctx, TABLE, chain[1], actor=ANN)
    cluster.rest.faults[len(cluster.rest.changes) + number] = fault
    with pytest.raises(Cut):
        undo_rollback(cluster.ctx, TABLE, chain[1], actor=ANN)
    cluster.inside.now += 5000
    ctx = cluster.connect()
    if [s[:6] for s in cluster.visible] != ["c_undo"]:
        assert cluster.visible == ["b"]
        undo_rollback(ctx, TABLE, chain[1], actor=ANN)
    assert [s[:6] for s in cluster.visible] == ["c_undo"]
    assert cluster.inside.memory.children(paths.LINEAGE) == [TABLE.typed]


def test_while_a_push_runs_it_is_refused(cluster: PinotCluster, chain: list[str]) -> None:
    revert_replace(cluster.ctx, TABLE, chain[1], actor=ANN)
    start_replace(cluster.ctx, TABLE, ["b"], ["x"], actor=ANN)
    with pytest.raises(StateConflict, match="IN_PROGRESS"):
        undo_rollback(cluster.ctx, TABLE, chain[1], actor=ANN)
    assert cluster.visible == ["b"]
