"""Schedules of tables' tasks: rows of beat keep in step with table configs, and what is due is started once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from django_celery_beat.models import PeriodicTask, PeriodicTasks
from django_celery_beat.schedulers import DatabaseScheduler, ModelEntry

from pinotadmin.celery import app
from segments import tasks, wiring
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict, Unavailable
from segments.models import Cluster, Table
from segments.services.ingestion import sessions
from segments.services.jobs.queue import FIRE_SCHEDULE
from segments.services.schedules import beat_rows, task_start
from segments.services.schedules.schedule_records import read_schedule, set_stopped, take_up
from segments.services.tables.table_record import read_table_config
from tests.factories import CLUSTER
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

EVERY = {"schedule": "0 */30 * * * ?"}


@pytest.fixture
def world(tmp_path: Path, settings: Any) -> Iterator[IngestionWorld]:
    """A table that ingests a folder every 30 minutes, mirrored."""
    settings.INPUT_ROOTS = [str(tmp_path)]
    world = IngestionWorld(tmp_path, {**APPEND, **EVERY})
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    mirror(world)
    with wiring.use(world.ctx):
        yield world


def mirror(world: IngestionWorld) -> None:
    """Copy the table's config into the database, as the mirror does."""
    config: TableConfig = read_table_config(world.ctx, TABLE)
    Table.objects.update_or_create(
        cluster=Cluster.objects.get_or_create(name=world.ctx.cluster)[0], name=TABLE.typed,
        defaults={"raw_name": TABLE.raw, "type": TABLE.type, "config": config.body},
    )  # fmt: skip


def row() -> PeriodicTask:
    return PeriodicTask.objects.get(task=FIRE_SCHEDULE)


def arguments() -> dict[str, Any]:
    return dict(json.loads(row().kwargs))


def make_due(world: IngestionWorld) -> int:
    """As if half an hour had gone by: what is due is the last half hour."""
    now = datetime.fromtimestamp(world.now / 1000, UTC)
    due = now.replace(minute=now.minute // 30 * 30, second=0, microsecond=0)
    one = row()
    one.start_time = due
    one.kwargs = json.dumps({**arguments(), "due_ms": int(due.timestamp() * 1000)})
    one.save()
    return int(due.timestamp() * 1000)


def begun(world: IngestionWorld) -> int:
    return len(sessions.history(world.ctx, TABLE))


# -- rows


def test_a_table_with_a_schedule_gets_a_row_that_says_what_it_is_for(world: IngestionWorld) -> None:
    now = datetime(2026, 11, 23, 10, 10, tzinfo=UTC)
    (sentence,) = beat_rows.keep_in_step(now)
    assert "next at 2026-11-23 10:30:00 UTC" in sentence
    assert row().start_time == datetime(2026, 11, 23, 10, 30, tzinfo=UTC)
    assert row().description == "every 30 minutes (UTC): 0 */30 * * * ?"
    assert arguments()["table"] == TABLE.typed
    assert beat_rows.keep_in_step(now) == []


def test_a_changed_schedule_moves_the_row_and_a_removed_one_removes_it(world: IngestionWorld) -> None:
    now = datetime(2026, 11, 23, 10, 10, tzinfo=UTC)
    beat_rows.keep_in_step(now)
    world.configure(schedule="0 0 2 * * ?", scheduleTimeZone="Europe/Berlin")
    mirror(world)
    beat_rows.keep_in_step(now)
    assert row().start_time == datetime(2026, 11, 24, 1, 0, tzinfo=UTC)
    world.configure(schedule="")
    mirror(world)
    assert beat_rows.keep_in_step(now) == [f"{beat_row_name(world)}: it has no schedule any more."]
    assert not PeriodicTask.objects.filter(task=FIRE_SCHEDULE).exists()


def beat_row_name(world: IngestionWorld) -> str:
    return f"File ingestion of {TABLE.typed} on {world.ctx.cluster}"


@pytest.mark.parametrize("keys", [{"schedule": "0 0 0 * * ? 1999"}, {"schedule": "never"}, {"inputDirURI": ""}])
def test_a_schedule_that_cannot_run_has_no_row(world: IngestionWorld, keys: dict[str, str]) -> None:
    beat_rows.keep_in_step()
    world.configure(**keys)
    mirror(world)
    beat_rows.keep_in_step()
    assert not PeriodicTask.objects.filter(task=FIRE_SCHEDULE).exists()


def test_what_an_operator_switched_off_stays_off(world: IngestionWorld) -> None:
    beat_rows.keep_in_step()
    PeriodicTask.objects.filter(task=FIRE_SCHEDULE).update(enabled=False)
    world.configure(schedule="0 0 2 * * ?")
    mirror(world)
    beat_rows.keep_in_step()
    assert (row().enabled, row().description) == (False, "at 02:00 (UTC): 0 0 2 * * ?")
    assert beat_rows.jobs(world.ctx.cluster)[0].next_ms is None


def test_a_dropped_table_loses_its_row(world: IngestionWorld) -> None:
    beat_rows.keep_in_step()
    Table.objects.all().delete()
    beat_rows.keep_in_step()
    assert not PeriodicTask.objects.filter(task=FIRE_SCHEDULE).exists()


def test_beat_fires_a_row_from_its_start_time_on_and_again_until_it_moves(world: IngestionWorld) -> None:
    beat_rows.keep_in_step()
    assert not ModelEntry(row(), app=app).is_due().is_due
    PeriodicTask.objects.filter(task=FIRE_SCHEDULE).update(
        start_time=timezone.now() - timedelta(seconds=60), last_run_at=timezone.now() - timedelta(seconds=60)
    )
    entry = ModelEntry(row(), app=app)
    assert entry.is_due().is_due
    fired = next(entry)
    assert not fired.is_due().is_due
    assert fired.is_due().next <= 10


def test_beat_reads_rows_again_within_five_seconds_of_a_change(
    world: IngestionWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_celery_beat.schedulers.close_old_connections", lambda: None)  # this is the test's own
    PeriodicTasks.update_changed()
    beat = DatabaseScheduler(app=app, lazy=True)
    assert beat.max_interval == 5
    assert not beat.schedule_changed()
    beat_rows.keep_in_step()
    assert beat.schedule_changed()


def test_beat_sends_what_is_due_with_its_moment_and_nothing_once_the_row_has_moved(
    world: IngestionWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_celery_beat.schedulers.close_old_connections", lambda: None)  # this is the test's own
    monkeypatch.setattr(DatabaseScheduler, "producer", None)
    sent: list[tuple[str, dict[str, Any]]] = []
    beat = DatabaseScheduler(app=app, lazy=True)
    monkeypatch.setattr(beat, "apply_async", lambda entry, **_: sent.append((entry.task, dict(entry.kwargs))))
    PeriodicTask.objects.all().delete()
    world.put("F1", 3)
    beat_rows.keep_in_step()
    assert beat.tick() > 0
    assert sent == []
    due = make_due(world)
    beat._initial_read, beat._heap = True, None
    beat.tick()
    assert sent == [(FIRE_SCHEDULE, {"cluster": CLUSTER, "table": TABLE.typed, "due_ms": due})]
    tasks.fire_schedule(**sent[0][1])
    beat._initial_read, beat._heap = True, None
    for _ in range(3):
        beat.tick()
    assert len(sent) == 1


# -- starts


def test_what_is_due_starts_a_session_and_the_row_goes_on(world: IngestionWorld) -> None:
    world.put("F1", 3)
    beat_rows.keep_in_step()
    due = make_due(world)
    assert "was started" in tasks.fire_schedule(**arguments())
    assert (begun(world), world.session.triggered_by) == (1, "schedule")
    assert arguments()["due_ms"] > due
    assert row().start_time > timezone.now()
    assert read_schedule(world.ctx, TABLE.typed).started == (world.now,)


def test_several_beats_that_fire_the_same_moment_start_it_once(world: IngestionWorld) -> None:
    world.put("F1", 3)
    beat_rows.keep_in_step()
    make_due(world)
    fired = arguments()
    said = [tasks.fire_schedule(**fired) for _ in range(3)]
    assert ["was started." in one for one in said] == [True, False, False]
    assert begun(world) == 1


def test_of_many_who_take_a_moment_up_at_once_one_gets_it(world: IngestionWorld) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda _: take_up(world.ctx, TABLE, 1_000), range(8)))
    assert won.count(True) == 1


def test_missed_runs_do_not_pile_up(world: IngestionWorld) -> None:
    """Ten hours without beat: one start, and then the next half hour."""
    world.put("F1", 3)
    beat_rows.keep_in_step()
    make_due(world)
    world.now += 10 * 3_600_000
    fired = arguments()
    assert "was started" in tasks.fire_schedule(**fired)
    assert "started before" in tasks.fire_schedule(**fired)
    assert begun(world) == 1
    assert row().start_time > timezone.now()


def test_a_row_of_a_schedule_that_was_changed_meanwhile_starts_nothing(world: IngestionWorld) -> None:
    world.put("F1", 3)
    beat_rows.keep_in_step()
    make_due(world)
    world.configure(schedule="17 17 17 * * ?")
    assert "has changed" in tasks.fire_schedule(**arguments())
    assert begun(world) == 0


def test_what_could_not_be_started_fires_again(world: IngestionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put("F1", 3)
    beat_rows.keep_in_step()
    due = make_due(world)

    def fails(*_: Any, **__: Any) -> None:
        raise Unavailable("The input does not answer.")

    with monkeypatch.context() as patched:
        patched.setattr(sessions, "trigger", fails)
        assert "waits" in tasks.fire_schedule(**arguments())
    assert arguments()["due_ms"] == due
    assert "was started" in tasks.fire_schedule(**arguments())
    assert read_schedule(world.ctx, TABLE.typed).failed[0][1].startswith("The input does not answer.")


def test_a_stopped_task_starts_neither_on_schedule_nor_by_hand(world: IngestionWorld) -> None:
    world.put("F1", 3)
    beat_rows.keep_in_step()
    for name in (TABLE.typed, "FileIngestionTask"):
        set_stopped(world.ctx, name, is_stopped=True, actor=ANN)
        make_due(world)
        assert "was stopped by ann (because)" in tasks.fire_schedule(**arguments())
        with pytest.raises(StateConflict, match="Resume"):
            task_start.start_now(world.ctx, TABLE, ANN)
        set_stopped(world.ctx, name, is_stopped=False, actor=ANN)
        world.now += 1_800_000
    assert begun(world) == 0
    assert task_start.start_now(world.ctx, TABLE, ANN).session_id
