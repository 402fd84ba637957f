"""Passes, findings, audit, health: the smaller pages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from segments import wiring
from segments.domain.jobs.workers.pools import PASSES, REPAIRS
from segments.domain.jobs.workers.state import PoolState
from segments.errors import Unavailable
from segments.models import AuditEvent, Grant, PassRun
from tests.console.test_tables import FRAME
from tests.factories import CLUSTER, make_event, make_finding, make_run, make_table
from tests.services.world import World

RUN = "/console/passes/run/"


def test_a_pass_runs_over_one_table_with_a_reason(operator: Client, world: World) -> None:
    make_table("t_OFFLINE")
    answer = operator.post(
        RUN, {"table": "t_OFFLINE", "task": "RetentionManager", "reason": "disk is full"}, follow=True
    )
    assert "RetentionManager ran over t_OFFLINE" in answer.content.decode()
    assert PassRun.objects.get().table_name == "t_OFFLINE"
    event = AuditEvent.objects.get()
    assert (event.actor, event.reason, event.target) == ("olga", "disk is full", "t_OFFLINE")


def test_a_pass_runs_over_all_tables(operator: Client, world: World) -> None:
    answer = operator.post(RUN, {"task": "SegmentStatusChecker", "table": "", "reason": "look"}, follow=True)
    assert "SegmentStatusChecker ran over all tables" in answer.content.decode()
    assert PassRun.objects.count() == 1


@pytest.mark.parametrize("form", [{"task": "RetentionManager", "reason": ""}, {"task": "Nothing", "reason": "r"}])
def test_a_wrong_form_runs_nothing(operator: Client, world: World, form: dict[str, str]) -> None:
    make_table("t_OFFLINE")
    assert operator.post(RUN, {**form, "table": "t_OFFLINE"}).status_code == 422
    assert operator.post(RUN, form).status_code == 422
    assert not PassRun.objects.exists()


def test_runs_are_reported_in_plain_sentences(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_table()
    make_run()
    make_run(task="SegmentStatusChecker", succeeded=False, sentences=[])
    make_finding()
    with django_assert_max_num_queries(FRAME + 3):
        text = viewer.get("/console/passes/").content.decode()
    for words in ("Deleted 2 segments of lineage entry entry-0", "failed", "Nothing to do."):
        assert words in text
    assert "Deleted 2" not in viewer.get("/console/passes/?task=SegmentStatusChecker").content.decode()
    with django_assert_max_num_queries(FRAME + 4):
        assert "1 of 2 replicas" in viewer.get("/console/tables/flights_OFFLINE/passes/").content.decode()


def test_findings_show_errors_first_and_closed_ones_on_demand(viewer: Client) -> None:
    make_finding(message="small")
    make_finding(severity="error", message="large")
    make_finding(message="over", closed_at=timezone.now())
    text = viewer.get("/console/findings/").content.decode().split("<tbody>")[1]
    assert text.index("large") < text.index("small")
    assert "over" not in text
    assert "over" in viewer.get("/console/findings/?closed=1").content.decode().split("<tbody>")[1]
    assert "Nothing matches" in viewer.get("/console/findings/?table=zzz").content.decode()


def test_the_audit_page_filters_and_pages(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(60):
        make_event()
    make_event(actor="bob", action="push", target="sales_OFFLINE", outcome="refused")
    with django_assert_max_num_queries(FRAME + 3):
        assert "1 to 50 of 61" in viewer.get("/console/audit/").content.decode()
    for query in ("actor=bob", "action=push", "target=sales", "outcome=refused"):
        text = viewer.get(f"/console/audit/?{query}").content.decode()
        assert "1 to 1 of 1" in text, query
    assert "No record matches" in viewer.get("/console/audit/?until=2020-01-01T00:00").content.decode()
    later = (timezone.now() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    assert "of 61" in viewer.get(f"/console/audit/?since={later}").content.decode()


def test_the_audit_export_takes_the_same_filter(viewer: Client) -> None:
    make_event(reason="=cmd()")
    make_event(actor="bob")
    lines = viewer.get("/console/audit/csv/?actor=ann").getvalue().decode().splitlines()
    assert len(lines) == 2
    assert "'=cmd()" in lines[1]


def test_one_record_is_shown_in_full(viewer: Client) -> None:
    event = make_event()
    text = viewer.get(f"/console/audit/{event.pk}/").content.decode()
    for words in ("nightly", "127.0.0.1", "entry-1"):
        assert words in text


def test_a_table_shows_only_its_own_records(viewer: Client) -> None:
    make_table("t_OFFLINE")
    make_event(target="t_OFFLINE", reason="mine")
    make_event(target="t2_OFFLINE", reason="theirs")
    text = viewer.get("/console/tables/t_OFFLINE/audit/").content.decode()
    assert "mine" in text
    assert "theirs" not in text


def test_the_health_strip_counts_what_lives(viewer: Client, world: World) -> None:
    text = viewer.get("/console/health/").content.decode()
    assert "1 server" in text
    assert "no broker" in text


def test_the_health_strip_names_a_worker_that_does_not_work(
    viewer: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = [PoolState(PASSES, ""), PoolState(REPAIRS, "It finished nothing for 125 s.")]
    monkeypatch.setattr(wiring, "worker_states", lambda: states)
    text = viewer.get("/console/health/").content.decode()
    assert "worker repairs" in text
    assert "It finished nothing for 125 s." in text
    assert "worker passes" not in text


def test_the_health_strip_says_when_zookeeper_is_unreachable(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object = None) -> None:
        raise Unavailable("ZooKeeper does not answer.")

    monkeypatch.setattr(wiring, "context", away)
    assert "no ZooKeeper" in viewer.get("/console/health/").content.decode()


def test_of_very_many_tables_the_name_is_typed(operator: Client) -> None:
    for i in range(201):
        make_table(f"t{i:03d}_OFFLINE")
    text = operator.get("/console/passes/").content.decode()
    assert '<input type="text" id="id_table" name="table"' in text
    assert text.count('<option value="t') == 200


def test_a_pass_is_offered_for_the_tables_that_the_person_may_operate(viewer: Client, world: World) -> None:
    for name in ("mine_OFFLINE", "others_OFFLINE"):
        make_table(name)
    user_id = viewer.session["_auth_user_id"]
    Grant.objects.create(user_id=user_id, cluster=CLUSTER, tables="mine*", right="operate")
    text = viewer.get("/console/passes/").content.decode()
    assert "<option>mine_OFFLINE</option>" in text
    assert "<option>others_OFFLINE</option>" not in text
    assert "All tables</option>" not in text
    Grant.objects.create(user_id=user_id, cluster=CLUSTER, tables="*", right="operate")
    text = viewer.get("/console/passes/").content.decode()
    assert "<option>others_OFFLINE</option>" in text
    assert "All tables</option>" in text
