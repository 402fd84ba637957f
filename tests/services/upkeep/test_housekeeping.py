"""The database does not grow for ever: ended sessions go, and records older than they are kept; what is new or
unfinished stays.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from segments.models import AuditEvent, Finding, PassRun, Push
from segments.services.upkeep import housekeeping
from segments.services.upkeep.periodic_passes import DECLARED
from segments.tasks import SCHEDULED

pytestmark = pytest.mark.django_db


def ago(days: float) -> Any:
    return timezone.now() - timedelta(days=days)


def test_sessions_that_have_ended_are_deleted_and_others_are_not() -> None:
    Session.objects.create(session_key="ended", session_data="", expire_date=ago(1))
    Session.objects.create(session_key="open", session_data="", expire_date=ago(-1))
    housekeeping.run()
    assert [s.session_key for s in Session.objects.all()] == ["open"]


def test_records_go_when_they_are_older_than_they_are_kept(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.HISTORY_DAYS = 30
    monkeypatch.setattr(housekeeping, "_AT_ONCE", 2)
    for number in range(5):
        event = AuditEvent.objects.create(actor="ann", action=f"a{number}")
        AuditEvent.objects.filter(pk=event.pk).update(at=ago(31 if number else 29))
    for days in (31, 29):
        PassRun.objects.create(
            cluster="c",
            task="t",
            table_name=str(days),
            started_at=ago(days),
            finished_at=ago(days),
            succeeded=True,
            sentences=[],
        )
        for state in (Push.State.DONE, Push.State.RUNNING):
            Push.objects.create(
                cluster="c", table_name=str(days), spec={}, actor="ann", state=state, finished_at=ago(days)
            )
    assert housekeeping.run() == [
        "Deleted events of the audit older than 30 days: 4.",
        "Deleted runs of passes older than 30 days: 1.",
        "Deleted pushes older than 30 days: 1.",
    ]
    assert [e.action for e in AuditEvent.objects.all()] == ["a0"]
    assert sorted((p.table_name, p.state) for p in Push.objects.all()) == [
        ("29", "DONE"),
        ("29", "RUNNING"),
        ("31", "RUNNING"),
    ]
    settings.HISTORY_DAYS = 0
    AuditEvent.objects.update(at=ago(10_000))
    assert housekeeping.run() == []
    assert AuditEvent.objects.count() == 1
    assert Finding.objects.count() == 0


def test_it_runs_on_a_schedule() -> None:
    keep_house = SCHEDULED["keep_house"]
    assert "Housekeeping" in [one.every.title for one in DECLARED if one.task == "keep_house"]
    Session.objects.create(session_key="ended", session_data="", expire_date=ago(1))
    keep_house()
    assert not Session.objects.exists()
