"""The buttons of file ingestion: each shows beforehand what it does; pages follow what ZooKeeper and manifests have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from segments import wiring
from segments.mirror.ingestion.record_source import RecordSource
from segments.mirror.ingestion.session_follower import SessionFollower
from segments.models import AuditEvent, Cluster
from segments.services.ingestion import sessions
from segments.services.replacement.checks import check_settings
from segments.services.schedules.schedule_records import set_stopped
from segments.services.tables.table_record import read_table_config
from tests.console.conftest import TYPED, FakeBroker
from tests.factories import CLUSTER, make_table
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db
BASE = f"/console/tables/{TYPED}/ingestion/"


@pytest.fixture
def world(tmp_path: Path, settings: Any, db: None) -> Iterator[IngestionWorld]:
    """A table that ingests a folder."""
    settings.INPUT_ROOTS = [str(tmp_path)]
    found = IngestionWorld(tmp_path, APPEND)
    found.ctx = replace(found.ctx, cluster=CLUSTER)
    make_table(TYPED, config=read_table_config(found.ctx, TABLE).body)
    with wiring.use(found.ctx, FakeBroker()):
        yield found


def page(client: Client, world: IngestionWorld, path: str = "") -> str:
    """The session's page once the mirror has followed."""
    SessionFollower(RecordSource(world.ctx), Cluster.objects.get(name=CLUSTER)).sync_all()
    return client.get(f"{BASE}sessions/{world.session.id}/{path}").content.decode()


def press(client: Client, path: str, **form: str) -> str:
    return client.post(f"{BASE}{path}", {"reason": "because", **form}, follow=True).content.decode()


def test_a_bad_file_is_seen_corrected_retried_and_the_session_undone(operator: Client, world: IngestionWorld) -> None:
    world.put("a.csv", 3)
    world.put("b.csv", 1, bad=True)
    shown = operator.get(f"{BASE}trigger/").content.decode()
    assert "As the folder is now: 2 files are read." in shown
    assert "b.csv" in shown
    assert "The files are being read now." in press(operator, "trigger/")
    world.work()
    failed = page(operator, world)
    assert "1 file of 2 failed" in failed
    assert world.uri("b.csv") in failed
    assert "Retry failed now…" in failed
    assert world.vis == 0
    world.put("b.csv", 4)
    shown = page(operator, world, "retry/")
    assert "1 file is read, 1 file is ready from an earlier run and kept" in shown
    press(operator, f"sessions/{world.session.id}/retry/")
    world.work()
    assert world.vis == 7
    done = page(operator, world)
    assert "Done: queries see the rows of 2 files." in done
    assert "Run 2" in done
    assert "Undo…" in done
    press(operator, f"sessions/{world.session.id}/undo/", confirm=TYPED)
    assert world.vis == 0
    undone = page(operator, world)
    assert "Undone: its rows are not visible any more." in undone
    assert "Undo…" not in undone
    assert "Read its files again…" in undone
    nothing = operator.get(f"{BASE}trigger/").content.decode()
    assert "were ingested before" in nothing
    assert "undone are read with Read its files again" in nothing
    button = f"sessions/{world.session.id}/read-again/"
    assert world.uri("a.csv") in operator.get(f"{BASE}{button}").content.decode()
    assert "This is not the table&#x27;s name" in press(operator, button, confirm="t")
    assert "The files are being read now." in press(operator, button, confirm=TYPED)
    world.work()
    assert world.vis == 7
    assert AuditEvent.objects.get(action="readAgain").reason == "because"


def test_a_session_that_a_limit_ended_early_is_continued(operator: Client, world: IngestionWorld) -> None:
    world.configure(runMaxNumFiles="2")
    for name in ("a", "b", "c"):
        world.put(name, 3)
    shown = operator.get(f"{BASE}trigger/").content.decode()
    assert "2 files are read, 1 file is left to the triggers after it." in shown
    press(operator, "trigger/")
    world.work()
    waits = page(operator, world)
    assert "2 of 3 files built, and its last run read as many as one run may." in waits
    assert "The next trigger goes on with the file that is left, which is no retry." in waits
    assert "1 left for the next trigger" in waits
    assert "Continue now…" in waits
    assert "Retry failed now…" not in waits
    assert "Continue the session now" in page(operator, world, "retry/")
    press(operator, f"sessions/{world.session.id}/retry/")
    world.work()
    assert world.vis == 9
    assert "Done: queries see the rows of 3 files." in page(operator, world)


def test_a_session_that_showed_some_files_says_how_many_are_left(operator: Client, world: IngestionWorld) -> None:
    world.configure(runMaxNumFiles="1", consistentPushEnabled="false")
    world.put("a", 3)
    world.put("b", 3)
    world.go()
    found = page(operator, world)
    assert "Done: queries see the rows of 1 file. It read as many as one run may; 1 file is left." in found
    assert "Continue now…" not in found


def test_a_page_says_that_nothing_is_to_be_done_before_its_button_is_pressed(
    operator: Client, world: IngestionWorld
) -> None:
    world.put("a.csv", 3)
    world.go()
    shown = operator.get(f"{BASE}trigger/").content.decode()
    assert "There is nothing to do." in shown
    assert "Nothing changed in the input folder." in shown


def test_a_stopped_task_is_started_by_hand_only_by_who_says_so(operator: Client, world: IngestionWorld) -> None:
    world.put("a.csv", 3)
    set_stopped(world.ctx, TABLE.typed, is_stopped=True, actor=ANN)
    assert "was stopped by ann (because)" in operator.get(f"{BASE}trigger/").content.decode()
    assert "tick this to start this one run anyway" in press(operator, "trigger/")
    assert sessions.current(world.ctx, TABLE) is None
    assert "The files are being read now." in press(operator, "trigger/", override_stop="on", reason="due")
    assert AuditEvent.objects.get(action="overrideTaskStop").reason == "due"
    set_stopped(world.ctx, TABLE.typed, is_stopped=False, actor=ANN)
    assert "stopped" not in operator.get(f"{BASE}trigger/").content.decode()


def test_a_session_is_cancelled_and_the_state_cleared(operator: Client, world: IngestionWorld) -> None:
    world.put("b.csv", 1, bad=True)
    world.go()
    assert "nothing of it became visible" in press(operator, f"sessions/{world.session.id}/cancel/")
    assert "Cancelled; nothing of it became visible." in page(operator, world)
    session = world.session.id
    assert session in operator.get(f"{BASE}clear/").content.decode()
    assert "This is not the table&#x27;s name" in press(operator, "clear/", confirm="t")
    assert "1 session removed." in press(operator, "clear/", confirm=TYPED)
    SessionFollower(RecordSource(world.ctx), Cluster.objects.get(name=CLUSTER)).sync_all()
    assert "This session is history" in operator.get(f"{BASE}sessions/{session}/").content.decode()


def test_buttons_of_a_session_that_is_over_say_so(operator: Client, world: IngestionWorld) -> None:
    world.put("a.csv", 3)
    world.go()
    for button in ("retry", "cancel"):
        assert "The session is over: DONE." in page(operator, world, f"{button}/")


def test_a_blocked_session_is_switched_by_somebody_with_a_reason(operator: Client, world: IngestionWorld) -> None:
    check_settings.write_check_document(
        world.ctx, TABLE, {"checks": [{"kind": "uniqueKey", "columns": ["n"]}]}, actor=ANN
    )
    world.put("a.csv", 3)
    world.go()
    session = f"sessions/{world.session.id}/"
    blocked = page(operator, world)
    assert "the table&#x27;s checks refuse the switch" in blocked
    assert "Switch anyway…" in blocked
    assert "Retry failed now…" not in blocked
    assert world.session.blocked
    assert "uniqueKey" in operator.get(f"{BASE}{session}override/").content.decode()
    assert "This is not the table&#x27;s name" in press(operator, f"{session}override/", confirm="t")
    assert "Queries are being switched." in press(operator, f"{session}override/", confirm=TYPED)
    world.work()
    assert (world.vis, world.session.override, world.session.override_by) == (3, "because", "olga")
    assert "The session is over: DONE." in page(operator, world, "finish/")


def test_who_may_not_operate_changes_nothing(viewer: Client, world: IngestionWorld) -> None:
    world.put("b.csv", 1, bad=True)
    world.go()
    for button in (
        f"sessions/{world.session.id}/retry/",
        f"sessions/{world.session.id}/cancel/",
        f"sessions/{world.session.id}/read-again/",
        "trigger/",
        "clear/",
        f"sessions/{world.session.id}/override/",
    ):
        assert viewer.post(f"{BASE}{button}", {"reason": "r", "confirm": TYPED}).status_code == 403
    assert world.session.is_open
