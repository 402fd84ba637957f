"""Files that were touched, or copied again, and hold the same bytes: they are not read again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from segments.domain.ingestion.session import Fingerprint, SessionState
from segments.domain.push.push_plan import InputFile
from segments.gateways.input_files import local_files, same_bytes
from segments.gateways.input_files.local_files import LocalFiles
from segments.gateways.timer import Timer
from segments.services.ingestion import sessions
from segments.services.ingestion.manifest import read_registry
from segments.services.ingestion.session_store import read_task
from segments.services.ingestion.undo import undo_session
from tests.ingestion.ingesting import APPEND, SWAP, SYNC, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


def ingested(folder: Path, keys: dict[str, str] = APPEND, files: Sequence[str] = ("F1", "F2")) -> IngestionWorld:
    """A table that shows files of ten rows each."""
    world = IngestionWorld(folder, keys)
    for name in files:
        world.put(name, 10)
    world.go()
    assert (world.session.state, world.vis) == (SessionState.DONE, 10 * len(files))
    return world


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files of which a trigger, or a run, computes the checksum."""
    names: list[str] = []
    plain = LocalFiles.checksum

    def checksum(self: LocalFiles, file: InputFile) -> str:
        names.append(Path(file.path).name)
        return plain(self, file)

    monkeypatch.setattr(LocalFiles, "checksum", checksum)
    return names


@pytest.mark.parametrize("keys", [APPEND, SYNC, SWAP, {}], ids=["append", "sync", "swap", "one by one"])
def test_a_file_that_was_only_touched_is_not_read_again(
    tmp_path: Path, keys: dict[str, str], hashed: list[str]
) -> None:
    world = ingested(tmp_path, keys)
    world.put("F1", 10)
    hashed.clear()
    assert world.go().why.startswith("Nothing changed in the input folder")
    assert (world.read, world.vis, hashed) == (2, 20, ["F1"])
    assert world.go().session_id is None
    assert hashed == ["F1"], "its new time is known"


def test_a_file_that_was_copied_again_is_not_read_again(tmp_path: Path) -> None:
    world = ingested(tmp_path)
    copy = world.folder.parent / "copy"
    copy.write_bytes((world.folder / "F1").read_bytes())
    os.replace(copy, world.folder / "F1")
    assert world.go().session_id is None


def test_a_file_of_the_same_size_with_other_rows_is_read_again(tmp_path: Path) -> None:
    world = ingested(tmp_path, SYNC)
    path = world.put("F1", 10)
    moved = path.stat().st_mtime_ns
    path.write_text(path.read_text().replace("F1,9,", "F1,8,"))
    os.utime(path, ns=(moved, moved))
    assert world.go().session_id is not None
    assert (world.read, world.vis) == (3, 20)


def test_files_that_share_a_segment_are_known_by_their_bytes_too(tmp_path: Path) -> None:
    world = ingested(tmp_path, {**SWAP, "taskMaxNumFiles": "2"})
    assert len(world.visible) == 1
    world.put("F2", 10)
    assert world.go().session_id is None


def test_a_preview_knows_touched_files_and_writes_nothing_down(tmp_path: Path) -> None:
    world = ingested(tmp_path)
    world.put("F1", 10)
    before = read_task(world.ctx, TABLE)
    assert sessions.preview(world.ctx, TABLE).what.startswith("Nothing changed")
    assert read_task(world.ctx, TABLE).registry_uri == before.registry_uri


def test_what_was_known_before_is_deleted_when_a_new_time_is_written_down(tmp_path: Path) -> None:
    world = ingested(tmp_path)
    before = read_task(world.ctx, TABLE).registry_uri
    world.put("F1", 10)
    world.go()
    after = read_task(world.ctx, TABLE).registry_uri
    assert after != before
    assert world.ctx.deep_store.read(before) is None
    known = read_registry(world.ctx, after).files
    assert known[world.uri("F1")].fingerprint.mtime_ns == (world.folder / "F1").stat().st_mtime_ns
    assert known[world.uri("F1")].fingerprint.checksum.startswith("blake2b:")


def test_a_file_too_large_for_a_checksum_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_files, "CHECKED_BYTES", 100)
    world = ingested(tmp_path, SYNC)
    world.put("F1", 10)
    assert world.go().session_id is not None
    assert world.read == 3


def test_files_beyond_what_a_trigger_may_check_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = ingested(tmp_path, SYNC)
    for name in ("F1", "F2"):
        size = world.put(name, 10).stat().st_size
    monkeypatch.setattr(same_bytes, "_MOST_BYTES", size * 2 - 1)
    assert sessions.preview(world.ctx, TABLE).files == {"read": 1, "unchanged": 1}


def test_a_check_that_takes_too_long_is_ended_and_the_files_are_read(tmp_path: Path) -> None:
    world = ingested(tmp_path, SYNC)
    world.put("F1", 10)
    clock = iter(range(0, 1000, 6))
    slow = replace(world.ctx, timer=Timer(seconds=lambda: float(next(clock))))
    assert sessions.preview(slow, TABLE).files["read"] == 1


def test_a_file_that_is_gone_when_it_is_checked_counts_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ingested(tmp_path, SYNC)
    path = world.put("F1", 10)
    plain = same_bytes._now

    def late(source: object, one: same_bytes.Touched) -> Fingerprint:
        path.unlink()
        return plain(source, one)  # type: ignore[arg-type]

    monkeypatch.setattr(same_bytes, "_now", late)
    assert sessions.preview(world.ctx, TABLE).files["read"] == 1


def test_a_file_that_is_rewritten_between_listing_and_check_counts_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ingested(tmp_path, SYNC)
    world.put("F1", 10)
    plain = same_bytes._now

    def late(source: object, one: same_bytes.Touched) -> Fingerprint:
        world.put("F1", 10)
        return plain(source, one)  # type: ignore[arg-type]

    monkeypatch.setattr(same_bytes, "_now", late)
    assert sessions.preview(world.ctx, TABLE).files["read"] == 1


def test_after_an_undo_a_touch_has_the_file_read_again(tmp_path: Path) -> None:
    world = ingested(tmp_path)
    undo_session(world.ctx, TABLE, world.session.id, actor=ANN)
    assert (world.vis, world.go().session_id) == (0, None)
    world.put("F1", 10)
    world.go()
    assert world.vis == 10


def test_in_an_open_session_a_touched_file_stays_out_of_the_retry(tmp_path: Path) -> None:
    world = ingested(tmp_path, {**SYNC, "consistentPushMaxRetries": "3"})
    world.put("F3", 5, bad=True)
    world.go()
    world.put("F1", 10)
    world.put("F3", 5)
    world.go()
    assert (world.vis, list(world.states)) == (25, ["F3"])
    assert world.go().session_id is None


def test_a_failed_file_that_was_ingested_before_is_read_with_the_time_it_has_now(tmp_path: Path) -> None:
    """Its old version is back, byte for byte: it is read as any failed file is, and the session ends."""
    world = ingested(tmp_path, {**SYNC, "consistentPushMaxRetries": "3"})
    world.put("F1", 5, bad=True)
    world.go()
    world.put("F1", 10)
    world.go()
    assert (world.session.state, world.vis) == (SessionState.DONE, 20)


def test_two_triggers_that_both_saw_touched_files_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = ingested(tmp_path)
    world.put("F1", 10)
    read = sessions.read_situation
    stale = [read(world.ctx, TABLE)]
    world.go()
    after = read_task(world.ctx, TABLE).registry_uri
    files = len(list(world.ctx.deep_store.files("Ingestion_Sessions/t")))
    monkeypatch.setattr(sessions, "read_situation", lambda *a, **k: stale.pop() if stale else read(*a, **k))
    assert (world.trigger().session_id, stale) == (None, [])
    assert read_task(world.ctx, TABLE).registry_uri == after
    assert len(list(world.ctx.deep_store.files("Ingestion_Sessions/t"))) == files
