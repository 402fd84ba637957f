"""Schedules through the whole installation: what beat and a worker make of a table config, and how soon."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.ingestion.test_sessions import Folder
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

TYPE = "FileIngestionTask"
NEVER = "0 0 0 1 1 ? 2090"
EVERY_SECOND = "* * * * * ?"
#: Within which a change must have its effect.
SOON_S = 10


class Scheduled(Folder):
    """A table with a schedule, whose runs are read where they are decided, not in the mirror."""

    def tasks(self) -> dict[str, str]:
        """{task: state} of its runs."""
        found: dict[str, str] = self.client.call("GET", f"/tasks/{TYPE}/{self.table}_OFFLINE/state").json()
        return found

    def job(self) -> dict[str, Any]:
        """Its row of beat."""
        path = f"/tasks/scheduler/jobDetails?tableName={self.table}_OFFLINE&taskType={TYPE}"
        found: dict[str, Any] = self.client.call("GET", path).json()
        return found

    def changed(self, schedule: str) -> float:
        """Save another schedule; the moment it was saved."""
        self.configure(consistentPushEnabled="true", schedule=schedule)
        return time.monotonic()

    @property
    def is_far(self) -> bool:
        """Is the next run in 2090?"""
        at = self.job()["Triggers"][0]["NextFireTime"]
        return datetime.fromtimestamp(at / 1000, UTC).year == 2090


def test_a_changed_schedule_has_its_effect_within_ten_seconds(
    installation: Installation, client: Client, table: str
) -> None:
    folder = Scheduled(installation, client, table, {"consistentPushEnabled": "true", "schedule": NEVER})
    folder.put("F1", 5)
    poll(lambda: folder.is_far, 30, "the schedule is known")
    assert folder.tasks() == {}, "nothing is due before 2090"
    saved = folder.changed(EVERY_SECOND)
    poll(folder.tasks, 30, "a run has begun")
    assert time.monotonic() - saved <= SOON_S
    poll(lambda: client.counts(table) == {"F1": 5}, 100, "the file's rows are there")
    saved = folder.changed(NEVER)
    poll(lambda: folder.is_far, 30, "nothing is due before 2090 again")
    assert time.monotonic() - saved <= SOON_S
