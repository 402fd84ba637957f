"""Schedules over REST: in words, run once, switched on and off, on record; for administrators of the installation."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from django_celery_beat.models import IntervalSchedule, PeriodicTask

from segments import wiring
from segments.models import AuditEvent
from segments.services.jobs.queue import FIRE_SCHEDULE
from segments.services.upkeep.periodic_passes import DECLARED
from segments.services.upkeep.schedules import ensure_schedules
from tests.api.cluster import ApiCluster

JSON = "application/json"
PATH = "/api/v1/schedules"


def retention() -> PeriodicTask:
    ensure_schedules(DECLARED)
    row: PeriodicTask = PeriodicTask.objects.get(name="Retention")
    return row


def test_schedules_are_read_in_words_without_what_is_celerys(cluster: ApiCluster) -> None:
    row = retention()
    PeriodicTask.objects.create(name="z", task="celery.backend_cleanup", interval=row.interval)
    listed = cluster.http.get(PATH).json()["schedules"]
    assert [one["name"] for one in listed] == sorted(one["name"] for one in listed)
    assert "celery" not in str(listed)
    found = next(one for one in listed if one["id"] == row.pk)
    assert (found["runs"], found["enabled"], found["lastResult"]) == ("every 6 hours", True, "not run yet")
    assert len(found["nextRuns"]) == 5
    assert cluster.http.get(f"{PATH}/{row.pk}").json()["name"] == "Retention"


def test_one_is_switched_off_and_on_on_record(cluster: ApiCluster) -> None:
    row = retention()
    why = {"X-Reason": "moving the store"}
    off = cluster.http.put(f"{PATH}/{row.pk}", {"enabled": False}, JSON, headers=why).json()
    assert (off["enabled"], off["nextRuns"]) == (False, [])
    assert cluster.http.put(f"{PATH}/{row.pk}", {"enabled": True}, JSON, headers=why).json()["enabled"]
    events = AuditEvent.objects.filter(target="Retention").order_by("pk").values_list("action", "reason")
    assert list(events) == [("disableSchedule", "moving the store"), ("enableSchedule", "moving the store")]
    assert cluster.http.put(f"{PATH}/{row.pk}", {}, JSON).status_code == 400
    assert cluster.http.put(f"{PATH}/{row.pk}", {"enabled": True, "task": "x"}, JSON).status_code == 400


def test_one_is_run_once_besides_its_schedule(cluster: ApiCluster) -> None:
    row, sent = retention(), list[str]()
    queue = SimpleNamespace(cluster=None, send=lambda task, *_, **__: sent.append(task))
    with wiring.use(replace(cluster.ctx, queue=queue), None):
        answer = cluster.http.post(f"{PATH}/{row.pk}/run", headers={"X-Reason": "disk is full"})
        assert (answer.status_code, sent) == (202, ["segments.tasks.run_retention"])
        every = IntervalSchedule.objects.get(pk=row.interval_id)
        of_table = PeriodicTask.objects.create(name="t", task=FIRE_SCHEDULE, interval=every)
        assert cluster.http.post(f"{PATH}/{of_table.pk}/run").status_code == 409
    assert len(sent) == 1
    assert AuditEvent.objects.get(action="runSchedule", outcome="done").reason == "disk is full"


def test_what_is_no_schedule_is_not_found(cluster: ApiCluster) -> None:
    row = retention()
    hidden = PeriodicTask.objects.create(name="z", task="celery.backend_cleanup", interval=row.interval)
    for number in (hidden.pk, 99_999_999, 10**30):
        assert cluster.http.get(f"{PATH}/{number}").status_code == 404
        assert cluster.http.post(f"{PATH}/{number}/run").status_code == 404
