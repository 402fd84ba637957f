"""Files of commits: which one becomes the committed segment's, which are refused, which go after a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from segments.clusters.embedded.realtime.completion import protocol as completion
from segments.clusters.embedded.realtime.completion.commit_file import remove_left_uploads
from segments.clusters.embedded.realtime.completion.completion_state import remove_left_machines
from segments.domain.realtime.completion import Status
from segments.errors import InvalidInput
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments import downloads
from segments.services.upkeep.passes import run_pass
from segments.store import paths
from tests.services.realtime.completion.test_completion import stored
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.services.spoken import Spoken, built

pytestmark = pytest.mark.django_db
HOUR = 3_600_000


def retention_pass(ctx: Context, table: TableName) -> None:
    run_pass(ctx, "RetentionManager", table, ANN)


def uploaded(world: RealtimeWorld, talk: Spoken, text: str = "tar") -> str:
    """A tar as the committer leaves it with the controller; its location."""
    tar = Path(world.ctx.deep_store.local_root or "") / "given"
    tar.write_text(text)
    told = completion.upload(world.ctx, talk.segment, tar, "40")
    assert (told.status, told.offset) == (Status.UPLOAD_SUCCESS, "40")
    assert told.location is not None
    return told.location


def files(world: RealtimeWorld) -> list[str]:
    return [f.name for f in world.ctx.deep_store.files("t")]


def test_the_committed_file_gets_the_segments_name(world: RealtimeWorld, talk: Spoken) -> None:
    talk.uploading().end(1, 40, location=uploaded(world, talk))
    assert files(world) == [talk.segment]
    assert world.fields(talk.segment)["segment.download.url"] == f"store:///segments/t/{talk.segment}"
    assert b"".join(downloads.open_segment(world.ctx, "t", talk.segment).chunks()) == b"tar"


def test_a_refused_commit_moves_no_file(world: RealtimeWorld, talk: Spoken) -> None:
    """A stale committer cannot overwrite what another one committed."""
    talk.uploading().end(1, 40, location=uploaded(world, talk))
    assert talk.end(2, 40, location=uploaded(world, talk, "other"), docs=11) == "FAILED"
    assert b"".join(downloads.open_segment(world.ctx, "t", talk.segment).chunks()) == b"tar"


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "s3://elsewhere/x",
        "{store}/t/other",
        "{store}/u/{name}",
        "{store}/t/{name}/../other",
        "",
        "http://elsewhere/x",
        "http://169.254.169.254/latest",
        "http://127.0.0.1:9000/segments/u/{name}",
        "http://127.0.0.1:9000/segments/t/other",
        "/etc/passwd",
        "http://127.0.0.1:9000/segments/t/{name}?x",
        "{store}evil/t/{name}",
        "http://127.0.0.1:9000@elsewhere/segments/t/{name}",
    ],
)
def test_a_location_that_is_not_the_segments_own_is_refused_and_changes_nothing(
    world: RealtimeWorld, talk: Spoken, location: str
) -> None:
    """Servers fetch what is on record: whoever may speak the protocol would have them call any address."""
    talk.uploading()
    before = stored(world)
    with pytest.raises(InvalidInput, match="no place for a file"):
        talk.end(1, 40, location=location.format(store=world.ctx.deep_store.url, name=talk.segment))
    assert stored(world) == before


def test_a_location_without_a_file_fails_without_harm(world: RealtimeWorld, talk: Spoken) -> None:
    talk.uploading()
    before = stored(world)
    for location in (
        f"{world.ctx.deep_store.url}/t/{talk.segment}.tmp.gone",
        f"http://127.0.0.1:9000/segments/t/{talk.segment}",
    ):
        assert talk.end(1, 40, location=location) == "FAILED"
    assert stored(world) == before


def test_a_commit_whose_file_cannot_be_moved_is_made_by_another_replica(world: RealtimeWorld, talk: Spoken) -> None:
    assert [talk.consumed(1, 20)[0], talk.consumed(2, 40)[0]] == ["HOLD", "HOLD"]
    assert talk.consumed(3, 30) == ("CATCH_UP", "40")
    assert talk.consumed(2, 40) == ("COMMIT", "40")
    assert talk.start(2, 40) == "COMMIT_CONTINUE"
    assert talk.end(2, 40, location=f"{world.ctx.deep_store.url}/t/{talk.segment}.tmp.gone") == "FAILED"
    assert [talk.consumed(i, 40)[0] for i in (1, 3)] == ["HOLD", "HOLD"]
    world.now += 5_000
    assert talk.consumed(3, 40) == ("COMMIT", "40")
    assert talk.consumed(2, 40) == ("HOLD", "40")
    assert talk.start(3, 40) == "COMMIT_CONTINUE"
    assert talk.end(3, 40, location=uploaded(world, talk)) == "COMMIT_SUCCESS"
    assert files(world) == [talk.segment]


def test_a_commit_whose_process_died_before_the_last_rename_is_finished_by_the_next_question(
    world: RealtimeWorld, talk: Spoken
) -> None:
    talk.committed(location=uploaded(world, talk))
    path = world.ctx.deep_store.segment_path("t", talk.segment)
    for ask in (lambda: talk.consumed(2, 40), lambda: remove_left_uploads(world.ctx, TABLE)):
        world.ctx.deep_store.move(path, f"{path}.tmp.{built(talk.segment).crc}")
        ask()
        assert files(world) == [talk.segment]


@pytest.mark.parametrize("remove", [remove_left_uploads, retention_pass], ids=["validation", "retention"])
def test_a_file_that_is_a_committed_segments_address_stays_whatever_its_name(
    world: RealtimeWorld, talk: Spoken, remove: Callable[[Context, TableName], object]
) -> None:
    talk.committed()
    named, orphan = (f"{talk.segment}.tmp.550e8400-e29b-41d4-a716-44665544000{i}" for i in (0, 1))
    for name in (named, orphan):
        world.ctx.deep_store.write(f"t/{name}", b"tar")
    world.set_record(talk.segment, segment_download_url=world.ctx.deep_store.uri(f"t/{named}"))
    world.now = int(time.time() * 1000) + 72 * HOUR
    remove(world.ctx, TABLE)
    assert files(world) == [named]


@pytest.mark.parametrize(
    "name",
    ["{}.tmp.", ".tmp.550e8400-e29b-41d4-a716-446655440000", "{}.tmp.5/5", "{}", "foo.tmp.550e8400", "{}.tmp",
     "t__0__1.tmp.550e8400-e29b-41d4-a716-446655440000"],
)  # fmt: skip
def test_what_is_no_upload_of_a_consuming_segment_is_not_taken_for_one_that_is_left(
    world: RealtimeWorld, talk: Spoken, name: str
) -> None:
    file = f"t/{name.format('t__0__9__20231114T2213Z')}"
    world.ctx.deep_store.write(file, b"tar")
    world.now = int(time.time() * 1000) + 72 * HOUR
    assert remove_left_uploads(world.ctx, TABLE) == 0
    assert world.ctx.deep_store.read(file) == b"tar"


def test_left_uploads_and_machines_go_after_a_while(world: RealtimeWorld, talk: Spoken) -> None:
    location = uploaded(world, talk)
    world.memory.create(paths.completion(TABLE.typed, "t__0__9__20231114T2213Z"), None)
    talk.consumed(1, 20)
    file = Path(world.ctx.deep_store.local_root or "") / location.removeprefix("store:///segments/")
    world.now = int(file.stat().st_mtime * 1000) + HOUR
    assert remove_left_uploads(world.ctx, TABLE) == 0
    world.now += 6 * HOUR
    assert remove_left_uploads(world.ctx, TABLE) == 1
    assert files(world) == []
    assert remove_left_machines(world.ctx, TABLE) == 1
    assert world.memory.children(paths.completions(TABLE.typed)) == [talk.segment]
