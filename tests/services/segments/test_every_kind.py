"""Uploads, deletion, restore and downloads as use cases, on every kind of cluster: the same refusals, outcomes and
audit records.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from segments.errors import Forbidden, InvalidInput, NotFound, SegmentCorrupt, StateConflict
from segments.names import TableName
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Limits
from segments.services.replacement.protocol import revert_replace, start_replace
from segments.services.segments import archive, deletion, downloads, restore, uploads
from tests.services.segments.kinds import Kind, tar
from tests.services.world import ANN
from tests.web_files import web_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def kind(empty: Kind, tmp_path: Path) -> Kind:
    """Segment a is online."""
    uploads.upload_tar(empty.ctx, empty.table, tar(tmp_path, "a"), actor=ANN)
    empty.later()
    return empty


def started(kind: Kind, old: list[str], new: list[str]) -> str:
    return start_replace(kind.ctx, kind.table, old, new, actor=ANN)


def test_an_upload_is_seen_and_on_record_and_new_content_is_reported_to_change_it(kind: Kind, tmp_path: Path) -> None:
    first = uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "new"), actor=ANN)
    again = uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "new", 2), actor=ANN)
    assert ((first.segments, first.changed), again.changed) == ((("new",), ()), ("new",))
    assert kind.visible == ["a", "new"]
    event = kind.events[-1]
    assert (event.action, event.outcome, event.actor, event.target) == (
        "uploadSegments",
        "done",
        "ann",
        kind.table.typed,
    )
    assert (event.detail["segments"], event.detail["changed"]) == (["new"], ["new"])


def test_an_upload_into_a_replacement_needs_it_open_and_named(kind: Kind, tmp_path: Path) -> None:
    entry = started(kind, ["a"], ["new"])
    with pytest.raises(StateConflict, match="not in segmentsTo"):
        uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "other"), actor=ANN, lineage_entry=entry)
    uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "new"), actor=ANN, lineage_entry=entry)
    assert kind.visible == ["a"]
    revert_replace(kind.ctx, kind.table, entry, force=True, actor=ANN)
    with pytest.raises(StateConflict, match="REVERTED"):
        uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "new"), actor=ANN, lineage_entry=entry)
    assert [e.outcome for e in kind.events if e.action == "uploadSegments"] == ["done", "refused", "done", "refused"]


def test_a_name_that_a_reverted_entry_hides_comes_in_with_a_warning(kind: Kind, tmp_path: Path) -> None:
    revert_replace(kind.ctx, kind.table, started(kind, ["a"], ["new"]), force=True, actor=ANN)
    kind.later()
    done = uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "new"), actor=ANN)
    assert ("no query sees it" in done.warnings[0], kind.visible) == (True, ["a"])


def test_an_upload_to_an_unknown_table_is_the_callers_mistake(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Failed to find table"):
        uploads.upload_tar(kind.ctx, TableName("nobody", "OFFLINE"), tar(tmp_path, "new"), actor=ANN)


def test_a_damaged_tar_is_refused_and_leaves_nothing(kind: Kind, tmp_path: Path) -> None:
    good = tar(tmp_path, "new")
    good.write_bytes(good.read_bytes()[:-200])
    sent = list(kind.sent)
    with pytest.raises(SegmentCorrupt):
        uploads.upload_tar(kind.ctx, kind.table, good, actor=ANN)
    assert (kind.ideal, list(kind.sent)) == (["a"], sent)
    assert (kind.events[-1].action, kind.events[-1].outcome) == ("uploadSegments", "refused")


def test_addresses_that_nobody_allowed_are_not_read(kind: Kind, tmp_path: Path) -> None:
    ctx = replace(kind.ctx, limits=Limits(fetch_from_loopback=False))
    sent = list(kind.sent)
    for uri in ("http://127.0.0.1:1/new.tar.gz", "file:///etc/passwd"):
        with pytest.raises((InvalidInput, Forbidden)):
            uploads.upload_metadata_tar(ctx, kind.table, tar(tmp_path, "new"), uri, actor=ANN)
    assert (kind.ideal, list(kind.sent)) == (["a"], sent)


def test_a_batch_names_its_segments_and_all_of_them_come_in(kind: Kind, tmp_path: Path) -> None:
    files = [tar(tmp_path, name) for name in ("x", "y")]
    with web_files(tmp_path) as address:
        parts = [(read_info_from_tar(f), f"{address}/{f.relative_to(tmp_path)}", None) for f in files]
        ctx = replace(kind.ctx, limits=replace(kind.ctx.limits, fetch_roots=(address,)))
        assert uploads.upload_metadata(ctx, kind.table, parts, actor=ANN).segments == ("x", "y")
        assert kind.visible == ["a", "x", "y"]


def test_what_a_replacement_needs_is_not_deleted_and_the_rest_is(kind: Kind, tmp_path: Path) -> None:
    uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "b"), actor=ANN)
    entry = started(kind, ["a"], ["n"])
    preview = deletion.delete_segments(kind.ctx, kind.table, ["a", "b", "nothing"], dry_run=True, actor=ANN)
    found = deletion.delete_segments(kind.ctx, kind.table, ["a", "b", "nothing"], actor=ANN)
    expected = [("a", "refused"), ("b", "done"), ("nothing", "unchanged")]
    assert [(o.segment, o.outcome) for o in preview] == [(o.segment, o.outcome) for o in found] == expected
    assert f"'{entry}'" in found[0].message
    assert kind.ideal == ["a"]
    events = [e for e in kind.events if e.action == "deleteSegments"]
    assert [(e.outcome, e.detail["segments"], e.detail["refused"]) for e in events] == [("done", ["b"], ["a"])]


def test_a_deletion_of_which_nothing_may_be_done_is_on_record_as_refused(kind: Kind) -> None:
    started(kind, ["a"], ["n"])
    assert [o.outcome for o in deletion.delete_segments(kind.ctx, kind.table, ["a"], actor=ANN)] == ["refused"]
    with pytest.raises(StateConflict, match=r"Blocking segments: \[a\]"):
        deletion.remove_segments(kind.ctx, kind.table, ["a"], actor=ANN)
    assert [e.outcome for e in kind.events if e.action == "deleteSegments"] == ["refused", "refused"]
    assert kind.ideal == ["a"]


def test_a_retention_that_is_none_is_refused_before_anything_is_done(kind: Kind) -> None:
    with pytest.raises(InvalidInput):
        deletion.remove_segments(kind.ctx, kind.table, ["a"], retention="soon", actor=ANN)
    assert kind.ideal == ["a"]


def test_a_deleted_segment_comes_back_with_its_very_bytes(kind: Kind, tmp_path: Path) -> None:
    file = tar(tmp_path, "new")
    uploads.upload_tar(kind.ctx, kind.table, file, actor=ANN)
    deletion.remove_segments(kind.ctx, kind.table, ["new"], actor=ANN)
    kind.put_away()
    assert (kind.ideal, archive.kept_names(kind.ctx, kind.table)) == (["a"], {"new"})
    assert restore.restore_segments(kind.ctx, kind.table, ["new"], dry_run=True, actor=ANN)[0].outcome == "done"
    assert kind.ideal == ["a"]
    assert restore.restore_segments(kind.ctx, kind.table, ["new"], actor=ANN)[0].outcome == "done"
    assert kind.visible == ["a", "new"]
    opened = downloads.open_segment(kind.ctx, kind.table.raw, "new")
    assert (opened.size, b"".join(opened.chunks())) == (file.stat().st_size, file.read_bytes())
    assert archive.kept_names(kind.ctx, kind.table) == set()
    events = [e for e in kind.events if e.action == "restoreSegments"]
    assert [(e.outcome, e.detail["segments"]) for e in events] == [("done", ["new"])]


def test_what_is_there_or_was_never_kept_is_not_restored_and_that_is_on_record(kind: Kind) -> None:
    found = restore.restore_segments(kind.ctx, kind.table, ["a", "nobody"], actor=ANN)
    assert [o.outcome for o in found] == ["refused", "refused"]
    event = kind.events[-1]
    assert (event.action, event.outcome, set(event.detail["refused"])) == (
        "restoreSegments",
        "refused",
        {"a", "nobody"},
    )


def test_a_segment_does_not_come_back_next_to_data_that_was_pushed_since(kind: Kind, tmp_path: Path) -> None:
    uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "new"), actor=ANN)
    deletion.remove_segments(kind.ctx, kind.table, ["new"], actor=ANN)
    kind.put_away()
    kind.later()
    uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "later"), actor=ANN)
    refused = restore.restore_segments(kind.ctx, kind.table, ["new"], actor=ANN)[0]
    assert (refused.outcome, "was pushed after it was deleted" in refused.message) == ("refused", True)
    assert restore.restore_segments(kind.ctx, kind.table, ["new"], force=True, actor=ANN)[0].outcome == "done"


def test_a_replaced_version_goes_back_to_its_place_and_the_present_one_is_kept(kind: Kind, tmp_path: Path) -> None:
    old = tar(tmp_path, "new", 1)
    uploads.upload_tar(kind.ctx, kind.table, old, actor=ANN)
    uploads.upload_tar(kind.ctx, kind.table, tar(tmp_path, "new", 2), actor=ANN)
    assert restore.restore_segments(kind.ctx, kind.table, ["new"], actor=ANN)[0].outcome == "refused"
    kind.later()
    done = restore.restore_segments(kind.ctx, kind.table, ["new"], overwrite=True, actor=ANN)[0]
    assert (done.outcome, done.replaces) == ("done", True)
    assert b"".join(downloads.open_segment(kind.ctx, kind.table.raw, "new").chunks()) == old.read_bytes()
    assert archive.kept_names(kind.ctx, kind.table) == {"new"}


def test_a_file_that_nobody_has_is_not_found(kind: Kind) -> None:
    with pytest.raises(NotFound):
        downloads.open_segment(kind.ctx, kind.table.raw, "nobody")
