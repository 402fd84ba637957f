"""What logs say of a database that does not answer: of the mirror, of workers and of beat."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import OperationalError
from django_celery_beat.schedulers import DatabaseScheduler

from segments.management import elected_beat
from segments.management.elected_beat import ElectedScheduler
from segments.mirror import cluster_follower
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster
from segments.services.core import database_outage
from segments.services.core.database_outage import Outage
from tests.background import Background
from tests.services.world import World
from tests.waiting import wait_until


class Database:
    """Answers, or not."""

    is_down, asked = False, 0

    def __call__(self) -> None:
        self.asked += 1
        if self.is_down:
            raise OperationalError("connection refused\n")


def test_an_outage_is_one_line_and_its_end_another_however_often_it_is_tried(caplog: pytest.LogCaptureFixture) -> None:
    database, seconds = Database(), iter([10.0, 52.0])
    outage = Outage(database, lambda: next(seconds))
    caplog.set_level(logging.INFO)
    outage.check()
    assert database.asked == 0, "a database that answered last is not asked beforehand"
    database.is_down = True
    for _ in range(20):
        outage.note(OperationalError("connection refused\n"))
        with suppress(OperationalError):
            outage.check()
    database.is_down = False
    for _ in range(3):
        outage.check()
    assert [record.getMessage() for record in caplog.records] == [
        "The database does not answer, and what needs it waits: connection refused",
        "The database answers again after 42 s.",
    ]


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[tuple[Outage, Database]]:
    """Of a worker: its log has the filter."""
    database = Database()
    made, before = Outage(database), database_outage.once
    made.share()
    monkeypatch.setattr(database_outage, "database_outage", made)
    caplog.set_level(logging.INFO)
    caplog.handler.addFilter(before)
    yield made, database
    caplog.handler.removeFilter(before)


def fail(error: Exception, logger: str = "segments.services.upkeep.passes") -> None:
    """As passes and Celery note it."""
    try:
        raise error
    except type(error):
        logging.getLogger(logger).exception("RetentionManager failed on sales_OFFLINE")


def test_what_fails_for_it_writes_no_line_of_its_own(
    outage: tuple[Outage, Database], caplog: pytest.LogCaptureFixture
) -> None:
    _, database = outage
    database.is_down = True
    for _ in range(5):
        fail(OperationalError("server closed the connection"))
        logging.getLogger("django_celery_beat.schedulers").warning("waiting to retry in next call...")
    logging.getLogger("segments.services").warning("Something else.")
    assert [record.getMessage() for record in caplog.records] == [
        "The database does not answer, and what needs it waits: connection refused",
        "Something else.",
    ]


def test_what_a_database_refuses_that_answers_is_written_with_its_cause(
    outage: tuple[Outage, Database], caplog: pytest.LogCaptureFixture
) -> None:
    fail(OperationalError("deadlock detected"))
    fail(ValueError("something else"))
    assert [record.getMessage() for record in caplog.records] == ["RetentionManager failed on sales_OFFLINE"] * 2
    assert "deadlock detected" in caplog.text
    assert not outage[0].is_on


def test_processes_of_a_pool_write_one_line_together(outage: tuple[Outage, Database]) -> None:
    made, database = outage
    database.is_down = True
    forked = multiprocessing.get_context("fork").Process(target=made.note, args=(OperationalError("refused"),))
    forked.start()
    forked.join(30)
    assert made.is_on, "what the process noticed is known here"
    with pytest.raises(OperationalError):
        made.check()


def test_a_watch_notes_the_end_without_anybody_who_uses_the_database(
    outage: tuple[Outage, Database], caplog: pytest.LogCaptureFixture
) -> None:
    made, database = outage
    database.is_down = True
    made.note(OperationalError("refused"))
    asked = list[bool]()

    def over() -> bool:
        asked.append(True)
        database.is_down = len(asked) < 3
        return not made.is_on

    made.watch(0.001, over)
    assert caplog.records[-1].getMessage().startswith("The database answers again")


@pytest.mark.parametrize("has_read", [True, False])
def test_beat_fires_what_it_knows_while_the_database_is_down(
    outage: tuple[Outage, Database], monkeypatch: pytest.MonkeyPatch, has_read: bool
) -> None:
    _, database = outage
    database.is_down = True
    beat, ticks = object.__new__(ElectedScheduler), list[bool]()
    beat._initial_read = not has_read
    monkeypatch.setattr(elected_beat, "database_outage", outage[0])

    def tick(self: DatabaseScheduler) -> float:
        ticks.append(True)
        if self._initial_read:
            raise OperationalError("refused")
        return 0.5

    monkeypatch.setattr(DatabaseScheduler, "tick", tick)
    assert beat._fire() == (0.5 if has_read else 1.0)
    assert beat._fire() == (0.5 if has_read else 1.0)
    assert len(ticks) == (2 if has_read else 1), "what was never read is read when the database answers"
    database.is_down = False
    beat._initial_read = False
    assert beat._fire() == 0.5
    assert not outage[0].is_on


@pytest.mark.django_db(transaction=True)
def test_the_follower_tries_on_without_a_traceback_and_ends_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database()
    database.is_down = True
    monkeypatch.setattr(cluster_follower, "database_outage", Outage(database))
    monkeypatch.setattr(cluster_follower, "_PAUSES_S", (0.01, 0.01))
    tries = list[int]()

    def sync_all(self: ClusterFollower) -> None:
        tries.append(len(tries))
        database()

    monkeypatch.setattr(ClusterFollower, "sync_all", sync_all)
    follower = ClusterFollower(World(tmp_path).memory, Cluster.objects.create(name="test"))
    running = Background(follower.run, 0)
    running.start()
    try:
        wait_until(lambda: database.asked > 5, 30)
        database.is_down = False
        wait_until(lambda: "answers again" in caplog.text, 30)
    finally:
        follower.stop()
        running.stop()
    assert len(tries) == 2, "the first try, and the first that the database answered"
    assert "Traceback" not in caplog.text
    assert caplog.text.count("does not answer") == 1
