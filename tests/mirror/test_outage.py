"""What the mirror's log says of a database that does not answer."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import OperationalError

from segments.mirror import cluster_follower
from segments.mirror.cluster_follower import ClusterFollower
from segments.mirror.outage import Outage
from segments.models import Cluster
from tests.background import Background
from tests.services.world import World
from tests.waiting import wait_until


class Database:
    """Answers, or not."""

    is_away, asked = False, 0

    def __call__(self) -> None:
        self.asked += 1
        if self.is_away:
            raise OperationalError("connection refused\n")


def test_an_outage_is_one_line_and_its_end_another_however_often_it_is_tried(caplog: pytest.LogCaptureFixture) -> None:
    database, seconds = Database(), iter([10.0, 52.0])
    outage = Outage(database, lambda: next(seconds))
    caplog.set_level(logging.INFO)
    outage.check()
    assert database.asked == 0, "a database that answered last is not asked beforehand"
    database.is_away = True
    for _ in range(20):
        outage.note(OperationalError("connection refused\n"))
        with suppress(OperationalError):
            outage.check()
    database.is_away = False
    for _ in range(3):
        outage.check()
    assert [record.getMessage() for record in caplog.records] == [
        "The database does not answer, and the mirror waits for it: connection refused",
        "The database answers again after 42 s.",
    ]


@pytest.mark.django_db(transaction=True)
def test_the_follower_tries_on_without_a_traceback_and_ends_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database()
    database.is_away = True
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
        database.is_away = False
        wait_until(lambda: "answers again" in caplog.text, 30)
    finally:
        follower.stop()
        running.stop()
    assert len(tries) == 2, "the first try, and the first that the database answered"
    assert "Traceback" not in caplog.text
    assert caplog.text.count("does not answer") == 1
