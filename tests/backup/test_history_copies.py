"""Audit records and ended pushes survive the loss of the database."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from segments.errors import Forbidden, InvalidInput
from segments.gateways.deep_store.deepstore import HISTORY
from segments.models import AuditEvent, Push
from segments.services.backup import history_copies
from segments.services.backup.history_copies import restore_history, run
from segments.services.segments.upload_files import check_place
from tests.factories import make_event, make_push
from tests.services.world import TABLE, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store")


def ended_push() -> Push:
    return make_push(state=Push.State.DONE, finished_at=timezone.now(), plan={"files": ["a"]})


def history() -> set[tuple[object, ...]]:
    return {(e.at, e.actor, e.action, e.target, str(e.detail)) for e in AuditEvent.objects.all()}


def new_database() -> None:
    """Empty, counting from 1 again, and made at another moment."""
    AuditEvent.objects.all().delete()
    Push.objects.all().delete()
    first = MigrationRecorder(connection).migration_qs.filter(app="segments").order_by("applied").first()
    MigrationRecorder(connection).migration_qs.filter(pk=first.pk).update(applied=first.applied - timedelta(days=1))


def test_records_and_pushes_come_back_into_a_new_database_and_only_once(world: World) -> None:
    for n in range(3):
        make_event(action=f"a{n}", detail={"n": n})
    push, waiting = ended_push(), make_push(state=Push.State.QUEUED)
    assert run(world.ctx) == ["Copied 3 audit records into the deep store.", "Copied 1 pushes into the deep store."]
    before = history()
    new_database()
    make_event(action="after the loss")
    assert restore_history(world.ctx.deep_store) == {"audit records": 3, "pushes": 1}
    assert history() > before
    found = Push.objects.get()
    assert (found.pk, found.state, found.created_at, found.plan) == (push.pk, "DONE", push.created_at, {})
    assert found.pk != waiting.pk
    assert restore_history(world.ctx.deep_store) == {"audit records": 0, "pushes": 0}


def test_a_new_database_overwrites_no_copy_of_the_one_before(world: World) -> None:
    make_event(action="old")
    run(world.ctx)
    new_database()
    make_event(action="new")
    run(world.ctx)
    assert len(world.ctx.deep_store.folders(HISTORY)) == 2
    AuditEvent.objects.all().delete()
    restore_history(world.ctx.deep_store)
    assert set(AuditEvent.objects.values_list("action", flat=True)) == {"old", "new"}


def test_a_run_copies_only_what_is_new_and_goes_on_where_the_last_one_ended(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_copies, "_IN_FILE", 2)
    monkeypatch.setattr(history_copies, "_FILES_A_RUN", 2)
    for n in range(7):
        make_event(action=f"a{n}")
    copied = []
    while said := run(world.ctx):
        copied += said
    assert sum(int(line.split()[1]) for line in copied) == 7
    assert len(copied) >= 2
    make_event(action="later")
    assert run(world.ctx) == ["Copied 1 audit records into the deep store."]
    before = history()
    AuditEvent.objects.all().delete()
    restore_history(world.ctx.deep_store)
    assert history() == before


def test_copies_go_when_records_are_no_longer_kept(world: World, settings) -> None:
    make_event()
    run(world.ctx)
    world.now = int(timezone.now().timestamp() * 1000) + 3 * 86_400_000
    settings.HISTORY_DAYS = 2
    assert run(world.ctx)[-1].endswith("copies of old records from the deep store.")
    assert restore_history(world.ctx.deep_store) == {"audit records": 0, "pushes": 0}


def test_a_copy_that_was_changed_is_refused_and_no_table_can_take_one(world: World) -> None:
    make_event()
    run(world.ctx)
    (generation,) = world.ctx.deep_store.folders(HISTORY)
    (name,) = (f.name for f in world.ctx.deep_store.files(f"{HISTORY}/{generation}") if f.name.startswith("audit"))
    path = f"{HISTORY}/{generation}/{name}"
    with pytest.raises(Forbidden):
        check_place(world.ctx, TABLE, world.ctx.deep_store.uri(path))
    world.ctx.deep_store.write(path, world.ctx.deep_store.read(path)[:-30])
    with pytest.raises(InvalidInput):
        restore_history(world.ctx.deep_store)
