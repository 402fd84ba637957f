"""A segment that is replaced by one of its name is kept and goes back, on every kind of cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot import calls
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.segments import archive, deletion, downloads
from segments.services.segments.restore import restore_segments
from segments.services.segments.uploads import upload_tar
from tests.services.segments.kinds import KINDS, Kind, kind_of, tar
from tests.services.world import ANN

pytestmark = pytest.mark.django_db


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """A table without segments."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    return kind_of(request.param, tmp_path)


def uploaded(kind: Kind, folder: Path, value: int) -> Path:
    """Segment s with this value, and its tar."""
    file = tar(folder, "s", value)
    upload_tar(kind.ctx, kind.table, file, actor=ANN)
    kind.later()
    return file


def served(kind: Kind) -> bytes:
    return b"".join(downloads.open_segment(kind.ctx, kind.table.raw, "s").chunks())


def kept(kind: Kind) -> list[archive.KeptFile]:
    return archive.list_kept(kind.ctx, kind.table)[0]


def versions(kind: Kind, *files: Path) -> list[tuple[int, str]]:
    """(which of the files, why it is kept) of each that is kept."""
    crcs = [read_info_from_tar(f).crc for f in files]
    return sorted((crcs.index(k.kept.metadata.crc or 0), k.why) for k in kept(kind) if k.kept)


def delete(kind: Kind) -> None:
    deletion.remove_segments(kind.ctx, kind.table, ["s"], actor=ANN)
    kind.put_away()
    kind.later()


def test_it_is_listed_with_why_and_goes_back_and_forth_by_name(kind: Kind, tmp_path: Path) -> None:
    old, new = uploaded(kind, tmp_path, 1), uploaded(kind, tmp_path, 2)
    (found,) = kept(kind)
    assert (found.segment, found.why, found.is_there) == ("s", "replaced", True)
    assert found.kept is not None
    assert (found.kept.deleted_by, found.kept.reason) == ("ann", "because")
    (refusal,) = restore_segments(kind.ctx, kind.table, ["s"], actor=ANN)
    assert (refusal.outcome, "overwrite=true" in refusal.remedy) == ("refused", True)
    assert restore_segments(kind.ctx, kind.table, ["s"], dry_run=True, overwrite=True, actor=ANN)[0].outcome == "done"
    assert served(kind) == new.read_bytes()
    for back in (old, new):
        assert restore_segments(kind.ctx, kind.table, ["s"], overwrite=True, actor=ANN)[0].outcome == "done"
        kind.later()
        assert (served(kind), kind.ideal) == (back.read_bytes(), ["s"])
    assert versions(kind, old, new) == [(0, "replaced")]


def test_no_version_takes_the_place_of_another_and_each_can_be_chosen(kind: Kind, tmp_path: Path) -> None:
    files = [uploaded(kind, tmp_path, 1), uploaded(kind, tmp_path, 2)]
    delete(kind)
    files.append(uploaded(kind, tmp_path, 3))
    delete(kind)
    assert versions(kind, *files) == [(0, "replaced"), (1, "deleted"), (2, "deleted")]
    crc = read_info_from_tar(files[1]).crc
    (second,) = [k for k in kept(kind) if k.kept and k.kept.metadata.crc == crc]
    assert restore_segments(kind.ctx, kind.table, [], files=[second.file], actor=ANN)[0].outcome == "done"
    assert served(kind) == files[1].read_bytes()
    assert versions(kind, *files) == [(0, "replaced"), (2, "deleted")]


def test_the_same_content_again_keeps_nothing(kind: Kind, tmp_path: Path) -> None:
    for _ in range(2):
        file = uploaded(kind, tmp_path, 1)
    assert (kept(kind), served(kind)) == ([], file.read_bytes())
