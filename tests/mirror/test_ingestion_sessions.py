"""The mirror of file ingestion sessions: rows follow records and manifests, and a lost database is filled again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from segments.domain.ingestion.session import (
    BadRow,
    FileRecord,
    FileState,
    Fingerprint,
    IngestionSession,
    Run,
    SessionState,
    to_record,
)
from segments.mirror.ingestion import database, run_log
from segments.mirror.ingestion.session_follower import SessionFollower
from segments.models import Cluster, IngestionAttempt, IngestionFile, Table
from segments.models import IngestionSession as Row
from segments.store.base import Store
from tests.factories import make_table
from tests.services.world import World
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
PREFIX = "/PROPERTYSTORE/MINION_TASK_METADATA"
TABLE = "t_OFFLINE"
BEGAN = 1_760_000_000_000


class Sessions:
    """Sessions in memory; a change is noticed by the znode that it writes."""

    prefix = PREFIX

    def __init__(self, store: Store) -> None:
        self.store = store
        self.records: dict[str, IngestionSession] = {}
        self.lists: dict[str, list[FileRecord]] = {}
        self.read = 0

    def put(self, session: IngestionSession, files: Sequence[FileRecord] | None = None) -> None:
        version = self.records[session.id].manifest_version if session.id in self.records else 0
        if files is not None:
            self.lists[session.id] = list(files)
            version += 1
        self.records[session.id] = replace(session, manifest_version=version)
        path = f"{PREFIX}/{TABLE}/FileIngestionTask/consistentPush/{session.id}"
        self.store.delete(path)
        self.store.create(path, to_record(session))

    def remove(self, session_id: str) -> None:
        del self.records[session_id]
        self.store.delete(f"{PREFIX}/{TABLE}/FileIngestionTask/consistentPush/{session_id}")

    def tables(self) -> list[str]:
        return [TABLE] if self.records else []

    def sessions(self, table: str) -> list[IngestionSession]:
        return list(self.records.values()) if table == TABLE else []

    def files(self, table: str, session: IngestionSession) -> list[FileRecord]:
        self.read += 1
        return self.lists.get(session.id, [])


def session(name: str = "cp_1_a", **fields: object) -> IngestionSession:
    found = IngestionSession(
        name, SessionState.IN_PROGRESS, "APPEND", False, True, BEGAN, "hash", "/data/in", "ann", updated_ms=BEGAN
    )
    return replace(found, **fields)  # type: ignore[arg-type]


def file(name: str, state: FileState = FileState.PENDING, **fields: object) -> FileRecord:
    return replace(FileRecord(f"/data/in/{name}", Fingerprint(10**18, 100), state), **fields)  # type: ignore[arg-type]


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(World(tmp_path).memory)


@pytest.fixture
def table() -> Table:
    return make_table(TABLE, cluster=Cluster.objects.create(name="test"))


@pytest.fixture
def running(sessions: Sessions, table: Table) -> Iterator[SessionFollower]:
    follower = SessionFollower(sessions, table.cluster)
    thread = threading.Thread(target=follower.run)
    thread.start()
    yield follower
    follower.stop()
    thread.join()


def states() -> dict[str, str]:
    return {uri.rpartition("/")[2]: state for uri, state in IngestionFile.objects.values_list("uri", "state")}


@pytest.mark.usefixtures("running")
def test_rows_follow_a_session_from_its_listing_to_its_end(sessions: Sessions) -> None:
    sessions.put(session(state=SessionState.INIT), [file("a"), file("b")])
    wait_until(lambda: states() == {"a": "PENDING", "b": "PENDING"})
    bad = file("b", FileState.FAILED, attempts=1, error="'x' is not an INT.", line=7)
    runs = (Run(1, "task", BEGAN, 1, 1),)
    sessions.put(session(runs=runs, rows=5), [file("a", FileState.BUILT, rows=5, segments=("s_a",)), bad])
    wait_until(lambda: Row.objects.filter(rows=5).exists())
    row = Row.objects.get()
    assert (row.files_total, row.files_built, row.files_failed, row.triggered_by) == (2, 1, 1, "ann")
    found = IngestionFile.objects.get(state="FAILED")
    assert (found.error, found.line, found.attempts, found.bytes) == ("'x' is not an INT.", 7, 1, 100)
    assert IngestionFile.objects.get(state="BUILT").segments == ["s_a"]
    [run] = IngestionAttempt.objects.values_list("number", "files_ok", "files_failed")
    assert run == (1, 1, 1)
    log = IngestionAttempt.objects.get().log
    assert "/data/in/b: failed: Line 7: 'x' is not an INT." in log
    assert "/data/in/a: built, 5 rows" in log
    sessions.put(session(state=SessionState.DONE, end_ms=BEGAN + 9_000), [file("a", FileState.DONE)])
    wait_until(lambda: Row.objects.filter(state="DONE").exists() and states() == {"a": "DONE"})


@pytest.mark.usefixtures("table")
def test_rows_that_do_not_fit_are_shown_by_file_and_counted(sessions: Sessions) -> None:
    runs = (Run(0, "task", BEGAN),)
    rows = (BadRow(7, None, "n", "'x'", "is not an INT."),)
    files = [file("a", FileState.BUILT, rows=5, bad_rows=3, bad=rows), file("b", FileState.BUILT, bad_rows=1)]
    sessions.put(session(runs=runs), files)
    follower = SessionFollower(sessions, Cluster.objects.get())
    follower.sync_all()
    assert Row.objects.get().bad_rows == 4
    assert list(IngestionFile.objects.values_list("bad_rows", "bad")) == [(3, [list(rows[0])]), (1, [])]
    assert "a: built, 5 rows; 3 rows do not fit" in IngestionAttempt.objects.get().log
    sessions.put(session(runs=runs), files)
    with CaptureQueriesContext(connections["default"]) as queries:
        SessionFollower(sessions, Cluster.objects.get()).sync_all()
    assert not [q for q in queries.captured_queries if "INSERT INTO" in q["sql"] and "ingestionfile" in q["sql"]]


@pytest.mark.usefixtures("table")
def test_a_lost_database_is_filled_again_from_records_and_manifests(sessions: Sessions) -> None:
    sessions.put(session(), [file("a", FileState.BUILT), file("b", FileState.FAILED)])
    SessionFollower(sessions, Cluster.objects.get()).sync_all()
    Row.objects.all().delete()
    SessionFollower(sessions, Cluster.objects.get()).sync_all()
    assert states() == {"a": "BUILT", "b": "FAILED"}
    assert Row.objects.get().files_failed == 1


@pytest.mark.usefixtures("table")
def test_the_end_of_every_run_outlives_the_database(sessions: Sessions) -> None:
    runs = (Run(0, "task-0", BEGAN, 1, 1, BEGAN + 5_000), Run(1, "task-1", BEGAN + 60_000, 2, 0, BEGAN + 62_000))
    sessions.put(session(state=SessionState.DONE, end_ms=BEGAN + 62_000, runs=runs), [file("a", FileState.DONE)])
    SessionFollower(sessions, Cluster.objects.get()).sync_all()
    assert Row.objects.get().seconds == 7.0
    ended = [at.timestamp() * 1000 - BEGAN for at in IngestionAttempt.objects.values_list("ended_at", flat=True) if at]
    assert ended == [5_000, 62_000]


def test_a_table_that_the_mirror_has_not_seen_yet_is_waited_for(sessions: Sessions) -> None:
    cluster = Cluster.objects.create(name="test")
    sessions.put(session(), [file("a")])
    follower = SessionFollower(sessions, cluster)
    thread = threading.Thread(target=follower.run)
    thread.start()
    try:
        wait_until(lambda: sessions.read == 0 and not Row.objects.exists())
        make_table(TABLE, cluster=cluster)
        wait_until(lambda: states() == {"a": "PENDING"})
    finally:
        follower.stop()
        thread.join()


def test_only_what_changed_is_written_and_a_manifest_is_read_once(sessions: Sessions, table: Table) -> None:
    files = [file(f"f{n}") for n in range(300)]
    sessions.put(session(), files)
    follower = SessionFollower(sessions, table.cluster)
    follower.sync_all()
    read = sessions.read
    with CaptureQueriesContext(connections["default"]) as queries:
        follower.sync_all()
    assert sessions.read == read
    assert not [q for q in queries if q["sql"].startswith(("INSERT", 'UPDATE "segments_ingestionsession" SET "state"'))]
    sessions.put(session(), [replace(files[0], state=FileState.BUILT), *files[1:]])
    with CaptureQueriesContext(connections["default"]) as queries:
        follower.sync_all()
    [insert] = [q["sql"] for q in queries if q["sql"].startswith('INSERT INTO "segments_ingestionfile"')]
    assert "f0" in insert
    assert "f1" not in insert


def test_the_log_of_a_run_goes_on_after_a_restart_and_is_bounded(
    sessions: Sessions, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = (Run(0, "task", BEGAN),)
    sessions.put(session(runs=runs), [file("a", FileState.BUILT, rows=5), file("b")])
    SessionFollower(sessions, table.cluster).sync_all()
    SessionFollower(sessions, table.cluster).sync_all()
    sessions.put(session(runs=runs, error="Spark is gone."), [file("a", FileState.BUILT, rows=5), file("b")])
    SessionFollower(sessions, table.cluster).sync_all()
    log = IngestionAttempt.objects.get().log
    assert (log.count("built, 5 rows"), log.count("Files are read."), log.count("Stopped: Spark is gone.")) == (1, 1, 1)
    monkeypatch.setattr(run_log, "LONGEST", 200)
    sessions.put(session(runs=runs), [file(f"f{n}", FileState.BUILT) for n in range(50)])
    SessionFollower(sessions, table.cluster).sync_all()
    log = IngestionAttempt.objects.get().log
    assert len(log) < 210
    assert "f49: built" in log


def test_the_log_of_a_failed_task_stands_below_its_file_once(sessions: Sessions, table: Table) -> None:
    kept = "ValueError: no\n  at rows.py:7 in read\ns3://ann:abc123@lake/in"
    failed = file("b", FileState.FAILED, error="It broke.", log=kept)
    for error in ("", "1 of 2 files failed."):
        sessions.put(session(runs=(Run(0, "task", BEGAN),), error=error), [file("a", FileState.BUILT), failed])
        SessionFollower(sessions, table.cluster).sync_all()
    log = IngestionAttempt.objects.get().log
    assert "b: failed: It broke.\n    ValueError: no\n      at rows.py:7 in read\n" in log
    assert log.count("ValueError") == 1
    assert "abc123" not in log


def test_the_log_says_once_how_many_files_a_run_left(sessions: Sessions, table: Table) -> None:
    follower = SessionFollower(sessions, Cluster.objects.get())
    files, runs = [file("a", FileState.BUILT), file("b", FileState.DEFERRED)], (Run(0, "run-1", BEGAN),)
    sessions.put(session(task="run-1", runs=runs), [file("a"), files[1]])
    follower.sync_all()
    sessions.put(session(runs=runs), files)
    follower.sync_all()
    sessions.put(session(runs=runs, rows=9), files)
    SessionFollower(sessions, Cluster.objects.get()).sync_all()
    log = IngestionAttempt.objects.get().log
    assert log.count("The run read as many as one may; 1 file is left for the next trigger.") == 1


def test_a_session_that_was_cleared_is_history(sessions: Sessions, table: Table) -> None:
    sessions.put(session(), [file("a")])
    follower = SessionFollower(sessions, table.cluster)
    follower.sync_all()
    sessions.remove("cp_1_a")
    follower.sync_all()
    row = Row.objects.get()
    assert (row.is_kept, row.end_reason, row.state) == (False, "CLEARED", "IN_PROGRESS")
    assert states() == {"a": "PENDING"}


def test_history_is_bounded(sessions: Sessions, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "SESSIONS_KEPT", 3)
    monkeypatch.setattr(database, "FILES_KEPT_OF", 1)
    follower = SessionFollower(sessions, table.cluster)
    for number in range(6):
        name = f"cp_{number}_a"
        sessions.put(
            session(name, start_ms=BEGAN + number * 1_000, state=SessionState.DONE), [file("a", FileState.DONE)]
        )
        follower.sync_all()
        if number:
            sessions.remove(f"cp_{number - 1}_a")
            follower.sync_all()
    kept = Row.objects.order_by("started_at")
    assert [r.session_id for r in kept] == ["cp_2_a", "cp_3_a", "cp_4_a", "cp_5_a"]
    assert [r.files.count() for r in kept] == [0, 0, 1, 1]


def test_ten_thousand_files_are_mirrored_in_seconds(sessions: Sessions, table: Table) -> None:
    files = [file(f"part-{n:05}.csv") for n in range(10_000)]
    sessions.put(session(), files)
    follower = SessionFollower(sessions, table.cluster)
    first = _seconds(follower)
    sessions.put(
        session(), [replace(f, state=FileState.BUILT, rows=10, segments=(f"s{n}",)) for n, f in enumerate(files)]
    )
    second = _seconds(follower)
    assert Row.objects.get().files_built == 10_000
    # About half a second each on a quiet machine; row by row it would be a minute.
    assert min(first, second) < 8.0


def _seconds(follower: SessionFollower) -> float:
    began = time.perf_counter()
    follower.sync_all()
    return time.perf_counter() - began
