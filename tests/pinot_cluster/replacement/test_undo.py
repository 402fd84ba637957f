"""A rollback on a Pinot cluster is undone from the copies that were kept, under new names, also after a cut; what both
kinds of cluster share is in ``tests/services/replacement/undo/test_every_kind.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.errors import PreconditionFailed
from segments.segmentfile.packed.rename import rename_tar
from segments.segmentfile.packed.tar import extract_tar, read_info_from_tar
from segments.segmentfile.verify import verify
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.replacement.rollback import preview_rollback
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
