"""File ingestion over REST: trigger, dry run, retry, cancel, clear with confirmation, undo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.models import AuditEvent
from segments.services.ingestion.task_settings import switch_off
from segments.services.replacement.checks import check_settings
from segments.services.schedules.schedule_records import set_stopped
from segments.store import paths
from tests.api.cluster import basic
from tests.factories import CLUSTER
from tests.ingestion.ingesting import APPEND, SWAP, SYNC, IngestionWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db
BASE = "/api/v1/tables/t/ingestion"


class Api:
    """A table that ingests a folder, asked as a superuser; its runs are carried out when ``work`` is called."""

    def __init__(self, folder: Path, keys: dict[str, str]) -> None:
        self.world = IngestionWorld(folder, keys)
        self.world.ctx = replace(self.world.ctx, cluster=CLUSTER)
        User.objects.create_superuser("root", password="a long enough secret")
        self.http = Client(headers={"Authorization": basic("root", "a long enough secret")})

    def post(self, path: str, **query: str) -> Any:
        return self.http.post(f"{BASE}/{path}", query_params=query)

    def preview(self) -> Any:
        return self.http.get(f"{BASE}/preview").json()

    @property
    def session(self) -> str:
        return self.world.session.id


@pytest.fixture
def api(tmp_path: Path, request: pytest.FixtureRequest, settings: Any) -> Iterator[Api]:
    settings.INPUT_ROOTS = [str(tmp_path)]
    found = Api(tmp_path, getattr(request, "param", APPEND))
    with wiring.use(found.world.ctx):
        yield found


def test_a_trigger_begins_a_session_and_a_second_one_is_skipped(api: Api) -> None:
    api.world.put("a.csv", 3)
    assert (api.preview()["files"]["read"], api.preview()["toRead"]) == (1, [api.world.uri("a.csv")])
    begun = api.post("trigger")
    assert (begun.status_code, begun.json()["sessionId"]) == (202, api.session)
    skipped = api.post("trigger")
    assert (skipped.status_code, skipped.json()["isBusy"], skipped.json()["sessionId"]) == (200, True, None)
    api.world.work()
    assert api.world.vis == 3
    assert "Nothing changed" in api.post("trigger").json()["why"]


def test_a_retry_reads_the_files_that_failed(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.put("b.csv", 1, bad=True)
    api.world.go()
    api.world.put("b.csv", 4)
    assert api.post(f"sessions/{api.session}/retry").status_code == 202
    api.world.work()
    assert (api.world.vis, api.world.session.retry_count) == (7, 1)


@pytest.mark.parametrize("stopped", [TABLE.typed, "FileIngestionTask"])
def test_a_stop_holds_triggers_and_retries_back_and_says_how_to_resume(api: Api, stopped: str) -> None:
    api.world.put("a.csv", 1, bad=True)
    api.world.go()
    path = "" if stopped == "FileIngestionTask" else f"/{stopped}"
    api.http.put(f"/tasks/FileIngestionTask{path}/stop?reason=disk")
    for action in ("trigger", f"sessions/{api.session}/retry"):
        refused = api.post(action)
        assert (refused.status_code, api.world.session.is_running) == (409, False)
        assert "was stopped by root" in refused.json()["error"]
        assert f"PUT /tasks/FileIngestionTask{path}/resume" in refused.json()["error"]
    api.http.put(f"/tasks/FileIngestionTask{path}/resume")
    assert api.post("trigger").status_code == 202


@pytest.mark.parametrize("action", ["trigger", "retry"])
def test_one_run_passes_a_stop_with_a_reason_that_is_audited(api: Api, action: str) -> None:
    api.world.put("a.csv", 1, bad=True)
    api.world.go()
    set_stopped(api.world.ctx, TABLE.typed, is_stopped=True, actor=ANN)
    path = action if action == "trigger" else f"sessions/{api.session}/retry"
    assert api.post(path, overrideStop="  ").status_code == 409
    assert api.post(path, overrideStop="the report is due").status_code == 202
    event = AuditEvent.objects.get(action="overrideTaskStop")
    assert (event.actor, event.target, event.reason) == ("root", TABLE.typed, "the report is due")
    assert event.detail == {"stopOf": TABLE.typed, "stoppedBy": ANN.name, "stopReason": ANN.reason}
    api.world.work()
    assert api.post("trigger").status_code == 409


def test_a_cancelled_session_leaves_the_table_as_it_was(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.put("b.csv", 1, bad=True)
    api.world.go()
    answer = api.post(f"sessions/{api.session}/cancel").json()
    assert (answer["id"], answer["endReason"]) == (api.session, "CANCELLED")
    assert api.world.vis == 0
    assert api.post(f"sessions/{api.session}/cancel").status_code == 404


def test_only_the_current_session_is_continued_or_cancelled(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.go()
    for action in ("retry", "cancel"):
        refused = api.post(f"sessions/cp_1_x/{action}")
        assert refused.status_code == 409
        assert "'cp_1_x' is not the current session" in refused.json()["error"]


def test_clearing_needs_the_tables_name_and_keeps_what_is_visible(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.go()
    session = api.session
    refused = api.post("clear", confirm="t")
    assert refused.status_code == 400
    assert "confirm=t_OFFLINE" in refused.json()["error"]
    assert api.post("clear", confirm="t_OFFLINE").json() == {"removed": [session]}
    assert api.world.vis == 3
    assert "Nothing changed" in api.post("trigger").json()["why"]


@pytest.mark.parametrize("api", [APPEND, SYNC, SWAP], indirect=True, ids=["append", "sync", "swap"])
def test_undo_takes_the_last_session_back(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.go()
    before = api.world.vis
    api.world.put("a.csv", 5)
    api.world.put("b.csv", 7)
    api.world.go()
    assert api.world.vis > before
    dry = api.post(f"sessions/{api.session}/undo", dryRun="true").json()
    assert len(dry["removed"]) == 2
    assert api.world.vis > before
    assert api.post(f"sessions/{api.session}/undo").status_code == 200
    assert api.world.vis == before
    again = api.post(f"sessions/{api.session}/undo")
    assert again.status_code == 409
    assert "was undone already" in again.json()["error"]
    assert AuditEvent.objects.filter(action="undoIngestionSession", outcome="done").count() == 1


def test_undo_of_an_append_that_the_lineage_forgot_deletes_its_segments(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.go()
    api.world.memory.delete(paths.lineage("t_OFFLINE"))
    done = api.post(f"sessions/{api.session}/undo").json()
    assert (done["byRollback"], len(done["removed"])) == (False, 1)
    assert api.world.vis == 0


def test_files_of_an_undone_append_are_read_again_on_request(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.go()
    undone = api.session
    path = f"sessions/{undone}/readAgain"
    assert api.post(path).status_code == 409, "it is not undone"
    api.post(f"sessions/{undone}/undo")
    api.world.put("b.csv", 4)
    assert api.post(path, dryRun="true").json() == {"files": [api.world.uri("a.csv")], "blockers": []}
    api.world.now += 600_000
    answer = api.post(path)
    assert (answer.status_code, answer.json()["files"]) == (202, [api.world.uri("a.csv")])
    assert "is open" in api.post(path).json()["error"]
    api.world.work()
    assert api.world.vis == 7
    assert "None of its files counts" in api.post(path).json()["error"]
    event = AuditEvent.objects.get(action="readAgain", outcome="done")
    assert event.detail["files"] == [api.world.uri("a.csv")]


def _undone_change(api: Api) -> str:
    """A session that had put five rows in place of three, which are back; its path to read its files again."""
    api.world.put("a.csv", 3)
    api.world.go()
    api.world.put("a.csv", 5)
    api.world.go()
    undone = api.session
    api.post(f"sessions/{undone}/undo")
    assert api.world.vis == 3
    return f"sessions/{undone}/readAgain"


@pytest.mark.parametrize("api", [SYNC, SWAP], indirect=["api"])
def test_files_of_a_table_that_follows_its_folder_need_no_request(api: Api) -> None:
    refused = api.post(_undone_change(api))
    assert (refused.status_code, "The table follows its folder" in refused.json()["error"]) == (409, True)


@pytest.mark.parametrize("api", [{**APPEND, "modifiedFilePolicy": "replace"}], indirect=["api"])
def test_files_that_are_read_again_replace_the_rows_that_came_back(api: Api) -> None:
    path = _undone_change(api)
    api.world.now += 600_000
    assert api.post(path).status_code == 202
    api.world.work()
    assert api.world.vis == 5


def test_a_stopped_task_reads_nothing_again_and_forgets_nothing(api: Api) -> None:
    api.world.put("a.csv", 3)
    api.world.go()
    undone = api.session
    api.post(f"sessions/{undone}/undo")
    set_stopped(api.world.ctx, TABLE.typed, is_stopped=True, actor=ANN)
    assert api.post(f"sessions/{undone}/readAgain").status_code == 409
    assert len(api.post(f"sessions/{undone}/readAgain", dryRun="true").json()["files"]) == 1
    assert api.post(f"sessions/{undone}/readAgain", overrideStop="due").status_code == 202


def test_a_session_that_is_not_done_cannot_be_undone(api: Api) -> None:
    api.world.put("b.csv", 1, bad=True)
    api.world.go()
    refused = api.post(f"sessions/{api.session}/undo")
    assert refused.status_code == 409
    assert "is IN_PROGRESS, so nothing is visible" in refused.json()["error"]


def test_a_session_that_checks_blocked_is_finished_with_a_reason(api: Api) -> None:
    check_settings.write_check_document(
        api.world.ctx, TABLE, {"checks": [{"kind": "uniqueKey", "columns": ["n"]}]}, actor=ANN
    )
    api.world.put("a.csv", 3)
    api.world.go()
    assert api.world.session.blocked
    assert api.post("sessions/cp_1_x/finish").status_code == 409
    assert api.post(f"sessions/{api.session}/finish", overrideChecks="known").status_code == 202
    api.world.work()
    assert (api.world.vis, api.world.session.override) == (3, "known")
    refused = api.post(f"sessions/{api.session}/finish", overrideChecks="known")
    assert refused.status_code == 409
    assert "is not blocked by checks" in refused.json()["error"]


def test_a_table_without_a_task_says_so(api: Api) -> None:
    switch_off(api.world.ctx, TABLE, actor=ANN)
    for answer in (api.post("trigger"), api.http.get(f"{BASE}/preview")):
        assert answer.status_code == 404
        assert "has no FileIngestionTask" in answer.json()["error"]
