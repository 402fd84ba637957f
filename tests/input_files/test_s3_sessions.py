"""Sessions whose input lies in an S3 store that answers wrongly: each ends in a named state, a file at fault is retried
alone, nothing is visible before the switch, and nothing stays staged.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from segments.domain.access.outgoing import Kind, Rules
from segments.domain.ingestion.session import FileState, SessionState
from segments.domain.ingestion.store_answers import StoreAnswers
from segments.errors import PinotAdminError
from segments.gateways.deep_store.deepstore import STAGING
from segments.gateways.input_files.rules import InputRules
from segments.services.ingestion import sessions
from tests.ingestion.ingesting import SYNC, IngestionWorld
from tests.s3_server import Fault, Front, S3Server, until_next_second
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db

_numbers = itertools.count(1)


class S3World(IngestionWorld):
    """Its folder is in a bucket, read through a front."""

    def __init__(self, folder: Path, s3: S3Server, front: Front) -> None:
        self.s3, self.front = s3, front
        self.bucket = f"sessions{next(_numbers)}"
        s3.make_bucket(self.bucket)
        login = {"endpoint": front.url, "accessKey": "k", "secretKey": "s", "region": "us-east-1"}
        super().__init__(
            folder,
            SYNC
            | {
                "inputDirURI": f"s3://{self.bucket}/in",
                "input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS",
            }
            | {f"input.fs.prop.{key}": value for key, value in login.items()},
        )
        rules = InputRules((f"s3://{self.bucket}",), Rules(Kind.STORE, (), loopback=True))
        self.ctx = type(self.ctx)(**{**self.ctx.__dict__, "inputs": rules})
        for name, rows in (("F1", 10), ("F2", 20), ("F3", 30)):
            self.store_file(name, rows)

    def store_file(self, name: str, rows: int) -> None:
        text = "city,n,day\n" + "".join(f"{name},{n},17000\n" for n in range(rows))
        self.s3.put(f"{self.bucket}/in/{name}.csv", text.encode())

    @property
    def found(self) -> dict[str, FileState]:
        """Of the newest session's files by name."""
        return {Path(f.uri).stem: f.state for f in sessions.files_of(self.ctx, self.session)}

    def error_of(self, name: str) -> str:
        return next(f.error for f in sessions.files_of(self.ctx, self.session) if name in f.uri)


@pytest.fixture
def world(tmp_path: Path, s3: S3Server, front: Front) -> S3World:
    return S3World(tmp_path, s3, front)


def reading_of(name: str, fault: str) -> Fault:
    """The fault for everybody who opens or reads this file; lists show it."""
    return lambda method, path: fault if name in path else None


@pytest.mark.parametrize(
    ("fault", "message"), [("403", "refused by its store"), ("404", "is gone"), ("503", "HTTP status 503")]
)
def test_a_file_that_its_store_does_not_give_fails_alone_and_is_read_at_the_next_trigger(
    world: S3World, fault: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.services.ingestion.files.reading.StoreAnswers", lambda: StoreAnswers(2))
    world.front.fault = reading_of("F2", fault)
    world.go()
    assert world.found == {"F1": FileState.BUILT, "F2": FileState.FAILED, "F3": FileState.BUILT}
    assert message in world.error_of("F2")
    assert "F2.csv" in world.error_of("F2")
    assert (world.session.state, world.vis) == (SessionState.IN_PROGRESS, 0)
    world.front.fault = lambda method, path: None
    before = world.read
    world.go()
    assert world.read - before == 1
    assert (world.session.state, world.vis) == (SessionState.DONE, 60)
    assert world.ctx.deep_store.folders(STAGING) == []


@pytest.mark.parametrize(("fault", "requests"), [("503", 8), ("cut", 1)])
def test_a_run_reads_a_file_that_its_store_gave_only_in_part_or_not_at_first(
    world: S3World, fault: str, requests: int
) -> None:
    world.trigger()
    left = iter([fault] * requests)  # the client of S3 repeats each request some times
    world.front.fault = lambda method, path: next(left, None) if "F2" in path else None
    world.work()
    assert (world.session.state, world.session.retry_count, world.vis) == (SessionState.DONE, 0, 60)


def test_a_store_that_is_down_for_a_moment_fails_no_file(world: S3World) -> None:
    world.trigger()
    world.front.fault = lambda method, path: "503"
    world.work()
    assert world.session.state is SessionState.IN_PROGRESS
    assert set(world.found.values()) <= {FileState.PENDING, FileState.RUNNING}
    assert world.session.error
    world.front.fault = lambda method, path: None
    world.now += 30_000
    assert sessions.resume_lost(world.ctx)
    world.work(owner="next")
    assert (world.session.state, world.session.retry_count, world.vis) == (SessionState.DONE, 0, 60)


def test_a_store_that_only_executors_do_not_reach_is_one_cause_and_no_file_fails(
    world: S3World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.services.ingestion.files.reading.StoreAnswers", lambda: StoreAnswers(2))
    world.front.fault = reading_of(".csv", "503")  # the folder is listed, as by the worker
    world.go()
    assert set(world.found.values()) == {FileState.PENDING}
    assert (world.session.state, world.session.task) == (SessionState.IN_PROGRESS, "")
    assert world.session.error.startswith("The input store answers here, but gave none of 3 files to the processes")
    assert "HTTP status 503" in world.session.error
    assert "Spark's executors" in world.session.error
    world.front.fault = lambda method, path: None
    world.go()
    assert (world.session.state, world.session.retry_count, world.vis) == (SessionState.DONE, 1, 60)


def test_a_store_that_cannot_be_listed_begins_no_session(world: S3World) -> None:
    world.front.fault = lambda method, path: "403"
    with pytest.raises(PinotAdminError, match="refused by its store"):
        world.trigger()
    assert sessions.current(world.ctx, TABLE) is None
    assert world.vis == 0


def test_a_file_that_is_stored_again_is_read_again_only_if_its_bytes_changed(world: S3World) -> None:
    world.go()
    assert world.vis == 60
    until_next_second()
    world.store_file("F1", 10)
    world.front.seen.clear()
    assert world.go().why == "Nothing changed in the input folder."
    assert [path for method, path in world.front.seen if method == "GET" and "F1" in path] == [], "it is not fetched"
    until_next_second()
    changed = "city,n,day\n" + "".join(f"F9,{n},17000\n" for n in range(10))
    world.s3.put(f"{world.bucket}/in/F1.csv", changed.encode())
    world.go()
    assert (world.read, list(world.found)) == (4, ["F1"])
