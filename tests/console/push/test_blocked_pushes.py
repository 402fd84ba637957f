"""A push that its table's checks stopped: its page says why, and who may decides what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from segments.domain.replacement.checks import CheckReport, Level, Outcome
from segments.domain.tables.schema import parse_schema
from segments.models import AuditEvent, Push
from segments.services.jobs import queue
from segments.services.replacement import protocol as replacement
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.checks.check_settings import write_check_document
from segments.store import paths
from tests.factories import make_entry, make_push, make_push_segment, make_segments, make_table
from tests.services.world import ANN, TABLE, World


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pushes that were handed to the workers."""
    found: list[str] = []
    monkeypatch.setattr(queue, "enqueue_push", lambda _, push_id: found.append(push_id) or True)
    return found


@pytest.fixture
def push(world: World, db: None, queued: list[str]) -> Push:
    """a -> b is uploaded and hidden; the checks measured 5 rows where 9 are wanted."""
    world.upload("a")
    entry = replacement.start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    table = make_table("t_OFFLINE")
    make_segments(table, "a", "b")
    make_entry(table, entry, "IN_PROGRESS", segments_from=["a"], segments_to=["b"])
    report(world, entry)
    push = make_push(
        table_name="t",
        state="BLOCKED",
        stage="END",
        entry_id=entry,
        plan={"replaces": True},
        error="The checks refuse it.",
    )
    make_push_segment(push)
    return push


def report(world: World, entry: str, passed: bool = False) -> None:
    outcome = Outcome("rows", "rowCount", Level.BLOCK, passed, "5 rows", "at least 9 rows")
    snapshot_checks._store(world.ctx, TABLE, CheckReport("t_OFFLINE", entry, world.now, 3, 1, (outcome,), actor="ann"))


def address(push: Push, *more: str) -> str:
    return "/".join([f"/console/pushes/{push.pk}", *more, ""])


def test_its_page_shows_the_failed_checks_what_can_be_done_and_its_replacement(operator: Client, push: Push) -> None:
    text = operator.get(address(push)).content.decode()
    for words in (
        "5 rows",
        "at least 9 rows",
        "failed",
        "Your decision is needed",
        "Check again…",
        "Switch anyway…",
        "Cancel this push",
        f"{push.entry_id}%3Ato",
        f"?from=current&amp;to={push.entry_id}",
    ):
        assert words in text
    assert f"/console/tables/t_OFFLINE/lineage/{push.entry_id}/" in text


def test_switching_all_the_same_needs_a_reason_and_the_tables_name(
    operator: Client, push: Push, queued: list[str]
) -> None:
    page = operator.get(address(push, "override")).content.decode()
    assert "rows (rowCount): measured 5 rows, allowed at least 9 rows" in page
    for form in ({"reason": "", "confirm": "t_OFFLINE"}, {"reason": "known to be small", "confirm": "t"}):
        assert operator.post(address(push, "override"), form).status_code == 422
    assert Push.objects.get().state == "BLOCKED"
    answer = operator.post(
        address(push, "override"), {"reason": "known to be small", "confirm": "t_OFFLINE"}, follow=True
    )
    after = Push.objects.get()
    assert (after.state, after.plan["override_checks"], after.plan["override_by"]) == (
        "QUEUED",
        "known to be small",
        "olga",
    )
    assert queued == [str(push.pk)]
    assert f"/lineage/{push.entry_id}/rollback/" in answer.content.decode()
    assert AuditEvent.objects.get(action="finishPush").reason == "known to be small"


def test_who_cancels_it_reads_what_goes_and_is_on_record_as_who_took_it_back(
    push: Push, operator: Client, world: World
) -> None:
    page = operator.get(address(push, "cancel")).content.decode()
    assert "The new snapshot is given up" in page
    assert "The worker stops" not in page, "nobody works on it"
    text = operator.post(address(push, "cancel"), {"reason": "half a file"}, follow=True).content.decode()
    for words in ("Cancelled by olga: half a file", "REMOVED"):
        assert words in text
    for words in ("<h2>Error</h2>", "UPLOADED", "<dt>Worker</dt>"):
        assert words not in text
    taken_back = AuditEvent.objects.filter(action__in=("pushEnd", "revertReplaceSegments"))
    assert {(e.action, e.actor) for e in taken_back} == {("pushEnd", "olga"), ("revertReplaceSegments", "olga")}


def test_a_check_without_a_name_of_its_own_is_named_once(operator: Client, world: World, db: None) -> None:
    assert Outcome("rowCount", "rowCount", Level.BLOCK, False, "5", "9").sentence == "rowCount: measured 5, allowed 9"
    world.memory.create(paths.schema(TABLE.raw), parse_schema({"schemaName": TABLE.raw}).to_record())
    write_check_document(world.ctx, TABLE, {"checks": [{"kind": "rowCount", "minRatio": 0.8}]}, actor=ANN)
    make_table("t_OFFLINE")
    page = operator.get("/console/tables/t_OFFLINE/checks/").content.decode()
    assert '<th scope="row">rowCount</th>' in page


def test_checking_again_overrides_nothing(operator: Client, push: Push, queued: list[str]) -> None:
    assert operator.post(address(push, "finish"), {"reason": "the limit was lowered"}).status_code == 302
    after = Push.objects.get()
    assert (after.state, after.plan["override_checks"]) == ("QUEUED", "")
    assert queued == [str(push.pk)]


def test_a_queue_that_is_unreachable_is_reported(operator: Client, push: Push, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "enqueue_push", lambda *_: False)
    text = operator.post(address(push, "finish"), {"reason": "r"}, follow=True).content.decode()
    assert "The task queue does not answer now" in text


def test_what_is_not_blocked_cannot_be_finished(operator: Client, push: Push, queued: list[str]) -> None:
    Push.objects.update(state="RUNNING")
    assert (
        "only one that is blocked by checks can be finished" in operator.get(address(push, "finish")).content.decode()
    )
    assert operator.post(address(push, "finish"), {"reason": "r"}).status_code == 409
    assert queued == []


def test_without_a_result_nothing_is_overridden_blindly(operator: Client, push: Push, world: World) -> None:
    report(world, push.entry_id, passed=True)
    assert "Check again first" in operator.get(address(push, "override")).content.decode()


@pytest.mark.parametrize("button", ["finish", "override", "cancel"])
def test_who_has_no_right_decides_nothing(viewer: Client, push: Push, queued: list[str], button: str) -> None:
    assert viewer.post(address(push, button), {"reason": "x", "confirm": "t_OFFLINE"}).status_code == 403
    assert Push.objects.get().state == "BLOCKED"
    assert "Finishing it needs the right" in viewer.get(address(push)).content.decode()
    assert AuditEvent.objects.filter(outcome="refused").count() == 1


def test_the_page_reloads_when_its_buttons_become_others(operator: Client, push: Push) -> None:
    def refreshes(seen: str, state: str) -> bool:
        Push.objects.update(state=state)
        return "HX-Refresh" in operator.get(address(push, "progress"), {"seen": seen}).headers

    assert refreshes("RUNNING", "BLOCKED")
    assert refreshes("BLOCKED", "QUEUED")
    assert not refreshes("BLOCKED", "BLOCKED")
    assert not refreshes("QUEUED", "RUNNING")
    assert not refreshes("", "BLOCKED")


def test_a_push_is_repeated_with_its_specification(operator: Client, push: Push, world: World) -> None:
    Push.objects.update(state="CANCELLED")
    text = operator.get(address(push)).content.decode()
    again = f"/console/pushes/new/?again={push.pk}"
    assert again in text
    assert "jobType: SegmentCreationAndMetadataPush" in operator.get(again).content.decode()
    for nonsense in ("1", "00000000-0000-0000-0000-000000000000"):
        assert "jobType" in operator.get("/console/pushes/new/", {"again": nonsense}).content.decode()


def test_records_that_nobody_can_read_are_reported_and_hide_nothing(
    operator: Client, push: Push, monkeypatch: pytest.MonkeyPatch
) -> None:
    from segments.errors import Unavailable

    def away(*_: Any) -> None:
        raise Unavailable("ZooKeeper does not answer.")

    monkeypatch.setattr(snapshot_checks, "read_checks", away)
    answer = operator.get(address(push))
    assert answer.status_code == 200
    assert "ZooKeeper does not answer." in answer.content.decode()
