"""Segments of a Pinot cluster: uploaded behind a fence, deleted behind a guard, downloaded, restored, verified when
the answer is lost.
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from segments.clusters.pinot.segments import uploads as pinot_uploads
from segments.domain.segments.archive import KEEP_COPIES
from segments.errors import NotFound, OutcomeUnknown, PreconditionFailed, StateConflict
from segments.models import AuditEvent
from segments.segmentfile.packed.tar import read_descriptions, read_info_from_tar
from segments.services.core.context import Limits
from segments.services.replacement.protocol import revert_replace
from segments.services.segments import archive, deletion, restore, segment_reset, uploads
from segments.services.upkeep import validation
from segments.store import paths
from segments.store.update import update_record
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.replacement.test_replacement import LOST, started
from tests.push.pushing import PushWorld
from tests.services.segments.kinds import keep_copies, tar
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(tmp_path: Path) -> PinotCluster:
    """Table t with a schema, segment a online."""
    made = PinotCluster(tmp_path, inside=PushWorld(tmp_path / "pushes"))
    made.inside.upload("a")
    return made


@pytest.mark.parametrize("fault", [None, *LOST])
def test_an_upload_is_made_once_whatever_becomes_of_its_answer(
    cluster: PinotCluster, tmp_path: Path, fault: Fault | None
) -> None:
    if fault:
        cluster.rest.faults[1] = fault
    done = uploads.upload_tar(cluster.ctx, TABLE, tar(tmp_path, "new"), actor=ANN)
    assert done.segments == ("new",)
    assert cluster.visible == ["a", "new"]
    assert len(cluster.rest.changes) == 1 + (fault in (Fault.LOSE_BEFORE, Fault.ERROR_BEFORE))


def test_an_upload_that_comes_in_after_its_replacement_was_dropped_is_taken_out_again(
    cluster: PinotCluster, tmp_path: Path
) -> None:
    entry = started(cluster, ["a"], ["new"])
    cluster.rest.before[2] = lambda: cluster.inside.memory.delete(paths.lineage(TABLE.typed))
    with pytest.raises(StateConflict, match="taken out again"):
        uploads.upload_tar(cluster.ctx, TABLE, tar(tmp_path, "new"), actor=ANN, lineage_entry=entry)
    assert cluster.visible == ["a"]


def test_a_name_that_pinot_is_about_to_delete_is_refused(cluster: PinotCluster, tmp_path: Path) -> None:
    entry = started(cluster, ["a"], ["new"])
    uploads.upload_tar(cluster.ctx, TABLE, tar(tmp_path, "new"), actor=ANN, lineage_entry=entry)
    path = paths.segment(TABLE.typed, "new")
    node = cluster.inside.memory.get(path)
    assert node is not None
    revert_replace(cluster.ctx, TABLE, entry, force=True, actor=ANN)
    update_record(
        cluster.inside.memory, path, lambda _: node.record
    )  # as Pinot has it until no server holds it any more
    cluster.inside.now += 1000
    with pytest.raises(StateConflict, match="was reverted"):
        uploads.upload_tar(cluster.ctx, TABLE, tar(tmp_path, "new", 2), actor=ANN)


def test_an_address_that_pinot_could_not_read_is_reported_as_such(cluster: PinotCluster) -> None:
    said = {"code": 500, "error": "Exception while uploading segment: Operation failed after 1 attempts"}
    cluster.rest.answers[1] = httpx.Response(500, json=said)
    with pytest.raises(PreconditionFailed, match="s3://bucket/none"):
        uploads.upload_uri(cluster.ctx, TABLE, "s3://bucket/none", actor=ANN)
    assert len(cluster.rest.changes) == 1


def test_a_metadata_tar_is_packed_with_its_folder_first_as_old_controllers_want_it(
    cluster: PinotCluster, tmp_path: Path
) -> None:
    files = read_descriptions(tar(tmp_path, "new"))
    flat = tmp_path / "flat.tar.gz"
    with tarfile.open(flat, "w:gz") as out:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    uploads.upload_metadata_tar(cluster.ctx, TABLE, flat, "s3://bucket/new.tar.gz", actor=ANN)
    with tarfile.open(fileobj=io.BytesIO(cluster.rest.parts[0])) as sent:
        members = sent.getmembers()
        assert (members[0].name, members[0].isdir()) == ("new", True)
        assert {m.name for m in members} == {"new", *(f"new/{name}" for name in files)}


def test_a_metadata_push_hands_the_address_on(cluster: PinotCluster, tmp_path: Path) -> None:
    uploads.upload_metadata_tar(cluster.ctx, TABLE, tar(tmp_path, "new"), "s3://bucket/new.tar.gz", actor=ANN)
    node = cluster.inside.memory.get(paths.segment(TABLE.typed, "new"))
    assert node is not None
    assert node.record is not None
    assert node.record.simple["segment.download.url"] == "s3://bucket/new.tar.gz"


def test_segments_are_named_in_the_body_because_old_versions_delete_all_otherwise(cluster: PinotCluster) -> None:
    deletion.remove_segments(cluster.ctx, TABLE, ["a"], retention="0d", actor=ANN)
    assert cluster.rest.changes == ["POST /segments/t_OFFLINE/delete"]
    assert (cluster.rest.bodies, cluster.rest.params) == ([["a"]], [{"retention": "0d"}])


@pytest.mark.parametrize("fault", LOST)
def test_a_deletion_whose_answer_is_lost_is_verified(cluster: PinotCluster, fault: Fault) -> None:
    cluster.rest.faults[1] = fault
    deletion.remove_segments(cluster.ctx, TABLE, ["a"], actor=ANN)
    assert cluster.lists() == []


@pytest.mark.parametrize("is_over", [True, False])
def test_an_upload_waits_while_an_old_pinot_deletes_its_name(
    cluster: PinotCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_over: bool
) -> None:
    cluster.rest.version = "0.11.0"
    file = tar(tmp_path, "new")
    uploads.upload_tar(cluster.ctx, TABLE, file, actor=ANN)
    record = cluster.inside.memory.get(paths.segment(TABLE.typed, "new"))
    deletion.remove_segments(cluster.ctx, TABLE, ["new"], actor=ANN)
    assert record is not None
    assert record.record is not None
    cluster.inside.memory.create(paths.segment(TABLE.typed, "new"), record.record)  # it goes later than the row
    monkeypatch.setattr(pinot_uploads, "_DELETED_S", 30.0 if is_over else 0.0)
    monkeypatch.setattr(
        pinot_uploads.time,
        "sleep",
        lambda _: is_over and cluster.inside.memory.delete(paths.segment(TABLE.typed, "new")),
    )
    before = len(cluster.rest.changes)
    if is_over:
        uploads.upload_tar(cluster.ctx, TABLE, file, actor=ANN)
        assert cluster.lists() == ["a", "new"]
    else:
        with pytest.raises(StateConflict, match=r"Pinot 0\.11\.0 is deleting segment 'new'"):
            uploads.upload_tar(cluster.ctx, TABLE, file, actor=ANN)
    assert len(cluster.rest.changes) == before + is_over


def test_a_deletion_that_never_arrives_is_on_record(cluster: PinotCluster) -> None:
    cluster.rest.faults.update(dict.fromkeys(range(1, 9), Fault.LOSE_BEFORE))
    with pytest.raises(OutcomeUnknown):
        deletion.remove_segments(cluster.ctx, TABLE, ["a"], actor=ANN)
    assert AuditEvent.objects.get(action="deleteSegments", cluster="prod").outcome == "failed"
    assert cluster.lists() == ["a"]


def test_without_copies_a_restore_says_where_the_file_is(cluster: PinotCluster, tmp_path: Path) -> None:
    uploads.upload_tar(cluster.ctx, TABLE, tar(tmp_path, "new"), actor=ANN)
    said = deletion.delete_segments(cluster.ctx, TABLE, ["new"], actor=ANN)[0].message
    assert "Deleted_Segments" in said
    outcome = restore.restore_segments(cluster.ctx, TABLE, ["new"], actor=ANN)[0]
    assert outcome.outcome == "refused"
    assert "No copy" in outcome.message
    assert KEEP_COPIES in outcome.remedy


def test_what_cannot_be_copied_is_not_deleted(cluster: PinotCluster) -> None:
    keep_copies(cluster.inside)
    (cluster.inside.ctx.deep_store.local_root or Path()).joinpath("t", "a").unlink()
    with pytest.raises(NotFound):
        deletion.remove_segments(cluster.ctx, TABLE, ["a"], actor=ANN)
    assert cluster.lists() == ["a"]


def test_reset_and_reload_go_to_the_controller(cluster: PinotCluster) -> None:
    assert segment_reset.reset_segment(cluster.ctx, TABLE, "a", actor=ANN) == 1
    segment_reset.reload_segments(cluster.ctx, TABLE, segments=["a"], actor=ANN)
    assert cluster.rest.changes == ["POST /segments/t_OFFLINE/a/reset", "POST /segments/t_OFFLINE/a/reload"]


def test_copies_lie_apart_from_what_pinot_keeps_and_go_when_their_time_is_over(
    cluster: PinotCluster, tmp_path: Path
) -> None:
    keep_copies(cluster.inside)
    uploads.upload_tar(cluster.ctx, TABLE, tar(tmp_path, "new"), actor=ANN)
    deletion.remove_segments(cluster.ctx, TABLE, ["new"], actor=ANN)
    assert (cluster.folder / "pinotadmin" / "Deleted_Segments" / "t").is_dir()
    assert not (cluster.folder / "Deleted_Segments").exists()
    assert [k.segment for k in archive.list_kept(cluster.ctx, TABLE)[0]] == ["new"]
    cluster.inside.now += 8 * 86_400_000
    assert any("whose time was over" in said for said in validation.run(cluster.ctx, TABLE))
    assert archive.list_kept(cluster.ctx, TABLE) == ([], 0)


def test_a_batch_is_read_by_the_controller_segment_by_segment(cluster: PinotCluster, tmp_path: Path) -> None:
    files = [tar(tmp_path, name) for name in ("x", "y")]
    parts = [(read_info_from_tar(f), f"file://{f}", None) for f in files]
    ctx = replace(cluster.ctx, limits=Limits(fetch_roots=(f"file://{tmp_path}",)))
    done = uploads.upload_metadata(ctx, TABLE, parts, actor=ANN)
    assert done.segments == ("x", "y")
    assert cluster.visible == ["a", "x", "y"]
    assert cluster.rest.changes == ["POST /segments", "POST /segments"]
