"""Pushes: list, progress, new, cancel."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from segments.console.presenters.pushes import progress
from segments.errors import StateConflict
from segments.models import Push
from segments.services.jobs import queue
from segments.services.push import pushes
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.replacement.rollback import roll_back
from tests.console.test_tables import FRAME
from tests.factories import make_entry, make_push, make_push_segment, make_table
from tests.services.world import ANN, TABLE, World


class Calls(list[Any]):
    """What the page asked the services for."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, world: World) -> Calls:
    """``create_push`` makes a row, the queue takes it."""
    calls = Calls()

    def create(ctx: Any, spec: str, actor: Any, *, roots: Any, **_: bool) -> Push:
        calls.append((ctx, spec, actor))
        return make_push(state="QUEUED", stage="LIST")

    monkeypatch.setattr(pushes, "create_push", create)
    monkeypatch.setattr(queue, "enqueue_push", lambda _, push_id: calls.append(push_id) or True)
    return calls


def test_the_list_shows_state_and_progress_and_updates_while_something_runs(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_push()
    make_push(table_name="sales", state="DONE", stage="END")
    with django_assert_max_num_queries(FRAME + 2):
        text = viewer.get("/console/pushes/").content.decode()
    for words in ("RUNNING", "DONE", "building segments", "<progress", "every 2s"):
        assert words in text
    assert "every 2s" not in viewer.get("/console/pushes/?state=DONE").content.decode()
    assert "sales" not in viewer.get("/console/pushes/?table=flights").content.decode()


def test_a_running_push_shows_numbers_and_asks_again_every_second(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    push = make_push()
    make_push_segment(push)
    with django_assert_max_num_queries(FRAME + 4):
        text = viewer.get(f"/console/pushes/{push.pk}/").content.decode()
    for words in ("126,000", "rows/s", "Listing files", "0.4 s", "attempt 1", "flights_0", "every 1s", "nightly"):
        assert words in text


@pytest.mark.parametrize("state", ["DONE", "FAILED", "CANCELLED"])
def test_the_live_part_stops_asking_when_the_push_is_over(viewer: Client, world: World, state: str) -> None:
    push = make_push(state=state, error="Line 1\nline 2 <b>")
    answer = viewer.get(f"/console/pushes/{push.pk}/progress/")
    text = answer.content.decode()
    assert answer["HX-Refresh"] == "true"
    assert "hx-trigger" not in text
    assert "line 2 &lt;b&gt;" in text


def test_a_push_that_was_taken_back_reports_in_which_stage_it_failed(viewer: Client) -> None:
    push = make_push(state="FAILED", stage="REVERT", error="Input file 'a.csv' line 7: bad.")
    text = viewer.get(f"/console/pushes/{push.pk}/progress/").content.decode()
    assert "Failed while building segments." in text
    assert [s.status for s in progress(push).stages] == ["done", "failed", "pending", "pending", "pending", "done"]


@pytest.fixture
def pushed(world: World) -> tuple[World, Push, str]:
    """A push that replaced snapshot a by b, done."""
    world.upload("a")
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    push = make_push(state="DONE", stage="END", table_name=TABLE.raw, entry_id=entry, plan={"replaces": True})
    make_push_segment(push, "b")
    return world, push, entry


def test_a_push_that_is_done_says_what_queries_see_of_it_now(viewer: Client, pushed: tuple[World, Push, str]) -> None:
    world, push, entry = pushed

    def told() -> str:
        return viewer.get(f"/console/pushes/{push.pk}/").content.decode()

    assert "Queries see the new snapshot." in told()
    later = start_replace(world.ctx, TABLE, ["b"], ["c"], actor=ANN)
    world.upload("c")
    end_replace(world.ctx, TABLE, later, actor=ANN)
    assert "queries see none of its segments any more: they were replaced or removed since." in told()
    roll_back(world.ctx, TABLE, entry, actor=ANN)
    assert "It was done and taken back since: queries do not see its rows." in told()
    assert "Queries see the new snapshot." not in told()


def test_a_page_of_a_push_links_only_to_pages_that_are_there(viewer: Client, pushed: tuple[World, Push, str]) -> None:
    """A push may fail before its table or its replacement is there; retention drops entries."""
    _, push, entry = pushed
    address = f"/console/pushes/{push.pk}/"
    failed = make_push(
        state="FAILED", stage="START", table_name="nothing", entry_id="never-started", plan={"replaces": True}
    )
    for page in (address, f"/console/pushes/{failed.pk}/"):
        assert "/console/tables/" not in viewer.get(page).content.decode()
    make_entry(make_table(TABLE.typed), entry)
    text = viewer.get(address).content.decode()
    for link in (f"/console/tables/{TABLE.typed}/", f"/console/tables/{TABLE.typed}/lineage/{entry}/"):
        assert f'href="{link}"' in text
        assert viewer.get(link).status_code == 200


def test_a_lost_worker_is_reported(viewer: Client) -> None:
    push = make_push(lease_until="2020-01-01T00:00:00Z")
    assert "The worker has not been heard of" in viewer.get(f"/console/pushes/{push.pk}/progress/").content.decode()


def test_a_new_push_goes_to_the_service_and_the_queue(operator: Client, calls: Calls, world: World) -> None:
    answer = operator.post("/console/pushes/new/", {"spec": "jobType: x\n", "reason": "ticket 7"})
    (ctx, spec, actor), queued = calls
    assert (ctx, spec, actor.name, actor.reason) == (world.ctx, "jobType: x\n", "olga", "ticket 7")
    assert answer["Location"] == f"/console/pushes/{queued}/"


def test_a_file_wins_over_the_text(operator: Client, calls: Calls) -> None:
    file = SimpleUploadedFile("job.yaml", b"jobType: y")
    operator.post("/console/pushes/new/", {"spec": "jobType: x", "reason": "r", "file": file})
    assert calls[0][1] == "jobType: y"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"spec": "", "reason": "r"}, "Paste a job specification"),
        ({"spec": "a: b", "reason": ""}, "Say why"),
        ({"spec": "a: b", "reason": "r", "file": SimpleUploadedFile("x.bin", b"\xff\xfe\x00")}, "is not UTF-8 text"),
    ],
)
def test_a_wrong_form_starts_nothing(operator: Client, calls: Calls, form: dict[str, Any], words: str) -> None:
    answer = operator.post("/console/pushes/new/", form)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert calls == []


def test_a_mistake_in_the_specification_is_shown_at_its_field(operator: Client, world: World) -> None:
    answer = operator.post("/console/pushes/new/", {"spec": "jobTypo: SegmentCreationAndTarPush\n", "reason": "r"})
    assert answer.status_code == 400
    text = answer.content.decode()
    assert "&#x27;jobTypo&#x27; is not a key" in text
    assert 'aria-invalid="true"' in text
    assert "jobTypo: SegmentCreationAndTarPush" in text


def test_an_unreachable_queue_is_reported_but_loses_nothing(
    operator: Client, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "enqueue_push", lambda *_: False)
    text = operator.post("/console/pushes/new/", {"spec": "a: b", "reason": "r"}, follow=True).content.decode()
    assert "the task queue does not answer" in text
    assert Push.objects.count() == 1


def test_the_sample_names_the_table_that_one_came_from(operator: Client) -> None:
    assert "tableName: flights\n" in operator.get("/console/pushes/new/?table=flights_OFFLINE").content.decode()


def test_cancelling_needs_a_reason_and_calls_the_service(
    operator: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    push, seen = make_push(), []
    monkeypatch.setattr(pushes, "cancel_push", lambda ctx, push_id, actor: seen.append((push_id, actor.reason)))
    address = f"/console/pushes/{push.pk}/cancel/"
    assert operator.post(address, {"reason": ""}).status_code == 422
    assert operator.post(address, {"reason": "wrong file"}).status_code == 302
    assert seen == [(str(push.pk), "wrong file")]


def test_a_push_that_cannot_be_cancelled_says_why(
    operator: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = make_push()

    def refuse(*_: object) -> None:
        raise StateConflict("It is switching.", remedy="Revert its lineage entry instead.")

    monkeypatch.setattr(pushes, "cancel_push", refuse)
    answer = operator.post(f"/console/pushes/{push.pk}/cancel/", {"reason": "r"})
    assert answer.status_code == 409
    assert "Revert its lineage entry instead." in answer.content.decode()


def test_another_refusal_is_shown_above_the_form(
    operator: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StateConflict("Another push replaces it.", remedy="Wait.")

    monkeypatch.setattr(pushes, "create_push", refuse)
    answer = operator.post("/console/pushes/new/", {"spec": "a: b", "reason": "r"})
    assert answer.status_code == 409
    assert 'role="alert"' in answer.content.decode()


def test_an_uploaded_file_has_the_name_that_its_sender_gave_it(viewer: Client) -> None:
    folder = "/data/in/.uploads/.0a1b/.0123456789abcdef0123456789abcdef"
    push = make_push(
        state="FAILED",
        error=f"{folder}/flights.csv, line 3: 'x' is not an INT.",
        spec={"jobType": "SegmentCreationAndMetadataPush", "inputDirURI": folder, "overwriteOutput": True},
        plan={"files": [{"path": f"{folder}/flights.csv"}]},
    )
    make_push_segment(push, source=f"{folder}/flights.csv rows 1-2, {folder}/flights.csv rows 3-4")
    text = viewer.get(f"/console/pushes/{push.pk}/").content.decode()
    assert ".uploads" not in text
    assert "flights.csv rows 1-2, flights.csv rows 3-4" in text
    assert "inputDirURI: flights.csv (sent)\noverwriteOutput: true\n" in text
    assert "flights.csv, line 3" in text


def test_a_file_that_nobody_sent_has_its_whole_path(viewer: Client) -> None:
    push = make_push(spec={"inputDirURI": "/data/in"}, plan={"files": [{"path": "/data/in/a.csv"}]})
    make_push_segment(push, source="/data/in/a.csv")
    text = viewer.get(f"/console/pushes/{push.pk}/").content.decode()
    assert ">/data/in/a.csv<" in text
    assert "inputDirURI: /data/in\n" in text
