"""Queries as of a snapshot whose segments are not on servers any more read the kept files: exactly the versions that
the snapshot had, or nothing.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

from segments.clusters.embedded.segments import deletion
from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.dataplane.stopping import Stop, stoppable
from segments.errors import InvalidInput, PreconditionFailed, StateConflict, TooManyRequests
from segments.segmentfile import build_segment, write_tar
from segments.services.core.context import Context
from segments.services.queries.file_reader import FileReader
from segments.services.queries.file_turns import FileTurns
from segments.services.replacement.history import as_of
from segments.services.replacement.history.as_of import query_as_of
from segments.services.replacement.lineage_record import observe
from segments.services.segments import archive
from segments.services.segments.uploads import upload_tar
from tests.dataplane.world import World, config_of, poll, schema_of
from tests.services.replacement.history.test_as_of import COUNT, rows
from tests.services.replacement.history.test_as_of import switched as switched
from tests.services.replacement.test_snapshot_checks import ANN, T
from tests.services.replacement.test_snapshot_checks import ctx as ctx
from tests.services.replacement.test_snapshot_checks import world as world

pytestmark = pytest.mark.django_db


def delete(ctx: Context, *, is_archived: bool = True) -> None:
    """Segment ``old`` of snapshot 1 leaves servers and, unless it still waits for that, goes to the archive."""
    deletion.remove(ctx, T, ["old"], retention=None, actor=ANN, guard=False, force=True)
    assert "old" not in observe(ctx, T).ideal.maps
    if is_archived:
        archive_deleted(ctx)


def archive_deleted(ctx: Context) -> None:
    """Everything that waits for its deletion goes to the archive."""

    def is_through() -> bool:
        deletion.drain(ctx, T)
        return not read_queue(ctx, T).items

    poll(is_through, what="deleted files archived")


@pytest.mark.usefixtures("switched")
@pytest.mark.parametrize("is_archived", [True, False])
def test_a_snapshot_whose_segments_were_deleted_is_read_from_their_files(ctx: Context, is_archived: bool) -> None:
    delete(ctx, is_archived=is_archived)
    assert rows(ctx, f"set snapshot=1; {COUNT}") == [["old", 10]]
    assert rows(ctx, "set snapshot=1; select count(*), sum(n), max(n) from t") == [[10, 45.0, 9]]
    assert rows(ctx, "set snapshot=1; select n from t where n > 6 order by n desc") == [[9], [8], [7]]
    assert rows(ctx, f"set snapshot=2; {COUNT}") == [["new", 5]]


@pytest.mark.usefixtures("switched")
def test_a_snapshot_whose_segment_was_overwritten_is_read_from_the_kept_version(ctx: Context, tmp_path: Path) -> None:
    overwrite(ctx, "old", 3, tmp_path)
    assert rows(ctx, f"set snapshot=1; {COUNT}") == [["old", 10]]
    (kept,) = archive.find(ctx, T, ["old"]).values()
    ctx.deep_store.delete(archive.kept_path(T, kept.file))
    with pytest.raises(StateConflict, match="overwritten by another of its name") as refused:
        rows(ctx, f"set snapshot=1; {COUNT}")
    assert refused.value.data["segments"] == ["old"]


@pytest.mark.usefixtures("switched")
def test_of_several_kept_versions_the_one_that_the_snapshot_had_is_read(ctx: Context, tmp_path: Path) -> None:
    for count in (3, 4):
        overwrite(ctx, "old", count, tmp_path)
    delete(ctx)
    assert archive.list_kept(ctx, T)[1] == 3
    assert rows(ctx, f"set snapshot=1; {COUNT}") == [["old", 10]]


@pytest.mark.usefixtures("switched")
def test_a_snapshot_whose_file_is_not_kept_any_more_is_refused(ctx: Context) -> None:
    delete(ctx)
    ctx.deep_store.delete(archive.kept_path(T, "old"))
    with pytest.raises(PreconditionFailed, match="1 segment of it is neither on servers nor kept") as refused:
        rows(ctx, f"set snapshot=1; {COUNT}")
    assert refused.value.data["segments"] == ["old"]


@pytest.mark.usefixtures("switched")
def test_a_kept_file_that_is_not_the_one_on_record_is_not_read(ctx: Context, world: World) -> None:
    delete(ctx)
    world.build("old", 3)
    ctx.deep_store.move(ctx.deep_store.segment_path(T.raw, "old"), archive.kept_path(T, "old"))
    answer = query_as_of(ctx, "select max(n) from t", {}, "1")
    assert "its record says" in answer["exceptions"][0]["message"]


@pytest.mark.usefixtures("switched")
def test_a_file_that_goes_to_the_archive_while_its_snapshot_is_read_is_found_there(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete(ctx, is_archived=False)
    fetch = FileReader._fetch

    def late(reader: FileReader, *args: object) -> None:
        archive_deleted(ctx)
        fetch(reader, *args)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(FileReader, "_fetch", late)
    assert rows(ctx, f"set snapshot=1; {COUNT}") == [["old", 10]]


@pytest.mark.usefixtures("switched")
def test_more_bytes_than_are_fetched_are_refused(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_of, "_MOST_FETCHED_BYTES", 10)
    delete(ctx)
    with pytest.raises(InvalidInput, match="at most 10 are"):
        rows(ctx, f"set snapshot=1; {COUNT}")


@pytest.mark.usefixtures("switched")
def test_who_queries_one_table_leaves_a_turn_to_those_of_others(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    delete(ctx)
    turns = FileTurns(wait_s=0)
    monkeypatch.setattr(as_of, "file_turns", lambda: turns)
    with as_of.reading_as_of(ctx, T, "1") as query:
        assert query(COUNT, {})["resultTable"]["rows"] == [["old", 10]]
        with pytest.raises(TooManyRequests, match="of table 't_OFFLINE' are read from files"):
            rows(ctx, f"set snapshot=1; {COUNT}")
        with turns.turn(ctx.cluster, "other_OFFLINE"), pytest.raises(TooManyRequests, match="of snapshots are read"):
            turns.turn(ctx.cluster, "third_OFFLINE").__enter__()
    assert rows(ctx, f"set snapshot=1; {COUNT}") == [["old", 10]]


def test_a_turn_that_ends_goes_to_who_waits_for_it() -> None:
    turns, got = FileTurns(at_once=1, wait_s=30), threading.Event()

    def wait() -> None:
        with turns.turn("c", "b"):
            got.set()

    with turns.turn("c", "a"):
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not got.is_set()
    waiting.join(30)
    assert got.is_set()


@pytest.mark.usefixtures("switched")
def test_a_query_that_was_cancelled_fetches_no_more_files(ctx: Context) -> None:
    delete(ctx)
    stop = Stop("q")
    stop.set()
    with stoppable(stop):
        answer = query_as_of(ctx, "select max(n) from t", {}, "1")
    assert "cancelled" in answer["exceptions"][0]["message"]


def overwrite(ctx: Context, name: str, count: int, folder: Path) -> None:
    """Upload another segment of this name, of so many rows."""
    work = folder / f"{name}-{count}"
    work.mkdir()
    build_segment(
        pa.table({"v": ["other"] * count, "n": list(range(count))}), schema_of(), config_of(), name, work,
        creation_time_ms=1_800_000_000_000 + count,
    )  # fmt: skip
    write_tar(work / name, work / "s.tar.gz")
    upload_tar(ctx, T, work / "s.tar.gz", actor=ANN)
