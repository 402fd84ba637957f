"""The inbox of findings: kinds in words, where each leads, what was done about it; filtered and sorted
in the database.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from segments import wiring
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, Finding, FindingSnooze, Grant, PassRun
from segments.services.realtime.realtime_validation import repair_consumption
from tests.console.conftest import TYPED, logged_in
from tests.console.test_tables import FRAME
from tests.factories import CLUSTER, make_finding, make_run
from tests.services.realtime_world import TABLE as REALTIME_TABLE
from tests.services.realtime_world import RealtimeWorld
from tests.services.world import World

PAGE = "/console/findings/"
SEGMENT = "r__0__3__20240101T0000Z"


def ran_over(finding: Finding, *sentences: str) -> PassRun:
    """A pass during which the finding was last seen."""
    around = timedelta(seconds=1)
    return make_run(
        table_name=finding.table_name,
        started_at=finding.last_seen - around,
        finished_at=finding.last_seen + around,
        sentences=[*sentences],
    )


def rows(client: Client, **query: str) -> str:
    text = client.get(PAGE, query).content.decode()
    return text.split("<tbody>")[1] if "<tbody>" in text else ""


def test_findings_of_consumption_read_well_and_lead_to_what_they_are_about(viewer: Client) -> None:
    realtime = {"table_name": "r_REALTIME", "severity": "error"}
    make_finding(
        code="consumption-data-loss",
        subject="0:100:250",
        message="Partition 0: rows from 100 to 250 had left.",
        **realtime,
    )
    make_finding(
        code="consumption-no-copy", subject=SEGMENT, message=f"Segment {SEGMENT} is only on servers.", **realtime
    )
    make_finding(code="stale-push", subject="entry-7", message="Replacement entry-7 is unfinished.")
    make_finding(code="few-servers", subject="", message="The table wants 3 copies.")
    text = rows(viewer)
    for words in (
        "Stream data lost", "Copy missing in the deep store", "Replacement unfinished", "Too few servers",
        "/console/tables/r_REALTIME/consumption/", f"/console/tables/r_REALTIME/segments/{SEGMENT}/",
        "/console/tables/flights_OFFLINE/lineage/entry-7/", "/console/servers/",
    ):  # fmt: skip
        assert words in text


def test_an_unknown_kind_is_shown_all_the_same(viewer: Client) -> None:
    make_finding(code="something-new", subject="x")
    assert "Something new" in rows(viewer)


def test_what_the_pass_did_about_a_finding_stands_next_to_it(viewer: Client) -> None:
    stuck = make_finding(
        code="consumption-stuck", subject="2", table_name="r_REALTIME", message="Partition 2 stands still."
    )
    ran_over(stuck, "Partition 2 got a new consuming segment.", "Partition 20 is fine.", "Partition 2 stands still.")
    ran_over(make_finding(table_name="other_OFFLINE", subject="x"), "Partition 2 of another table.")
    text = rows(viewer, table="r_REALTIME")
    assert text.count("Partition 2 got a new consuming segment.") == 1
    assert text.count("Partition 2 stands still.") == 1
    assert "Partition 20" not in text
    assert "another table" not in text


def test_closed_findings_report_what_closed_them(viewer: Client) -> None:
    closed = make_finding(subject="new_1", closed_at=timezone.now() - timedelta(hours=1))
    Finding.objects.filter(pk=closed.pk).update(last_seen=closed.closed_at)
    closed.refresh_from_db()
    ran_over(closed, "Segment new_1 was loaded again.")
    assert "Segment new_1 was loaded again." in rows(viewer, closed="1")
    assert rows(viewer) == ""


def test_it_is_filtered_sorted_and_paged_with_few_queries(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        ran_over(
            make_finding(table_name=f"t{number:02}_OFFLINE", subject=f"s{number}", message=f"finding {number}"), "x"
        )
    make_finding(code="no-file", severity="error", message="gone", table_name="zz_OFFLINE")
    with django_assert_max_num_queries(FRAME + 7):
        text = viewer.get(PAGE).content.decode()
    assert "1 to 50 of 61" in text
    assert text.index("gone") < text.index("finding 0")
    assert "finding 59" in rows(viewer, page="2")
    assert rows(viewer, sort="-first").index("gone") < rows(viewer, sort="-first").index("finding 59")
    assert "finding 1" not in rows(viewer, code="no-file")
    assert "gone" not in rows(viewer, severity="warning")
    assert "finding 0" in rows(viewer, sort="nonsense")


def half_commit(world: RealtimeWorld) -> Finding:
    """A finding about which something can be done."""
    world.done(world.consuming[0], "7")
    repair_consumption(world.ctx, REALTIME_TABLE)
    return Finding.objects.get(code="consumption-half-commit")


@pytest.fixture
def realtime(tmp_path: Path, db: None) -> Iterator[RealtimeWorld]:
    """A realtime table, mirrored."""
    world = RealtimeWorld(tmp_path, partitions=1)
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    cluster, _ = Cluster.objects.get_or_create(name=CLUSTER)
    ClusterFollower(world.memory, cluster).sync_all()
    with wiring.use(world.ctx, None):
        yield world


def test_fix_it_shows_every_write_and_does_it_for_a_reason(realtime: RealtimeWorld) -> None:
    operator, finding = logged_in("olga", "operate"), half_commit(realtime)
    address = f"/console/tables/{REALTIME_TABLE.typed}/findings/{finding.pk}/fix/"
    assert address in rows(operator)
    before, text = realtime.ideal, operator.get(address).content.decode()
    assert f"Changes /IDEALSTATES/{REALTIME_TABLE.typed}" in text
    assert "Creates /PROPERTYSTORE/SEGMENTS/" in text
    assert realtime.ideal == before
    assert operator.post(address, {"reason": ""}).status_code == 422
    assert operator.post(address, {"reason": "ticket 7"}).status_code == 302
    assert realtime.ideal != before
    assert "nothing to write" in operator.get(address).content.decode()


def test_who_may_not_operate_sees_no_buttons(realtime: RealtimeWorld, viewer: Client) -> None:
    finding = half_commit(realtime)
    assert "Fix it" not in rows(viewer)
    address = f"/console/tables/{REALTIME_TABLE.typed}/findings/{finding.pk}"
    assert viewer.post(f"{address}/fix/", {"reason": "x"}).status_code == 403
    assert viewer.post(f"{address}/snooze/", {"reason": "x", "hours": "8"}).status_code == 403
    assert viewer.get(f"{address}/fix/").status_code == 200


def test_a_snooze_is_seen_with_reason_and_end_and_can_be_lifted(realtime: RealtimeWorld) -> None:
    operator, finding = logged_in("olga", "operate"), half_commit(realtime)
    address = f"/console/tables/{REALTIME_TABLE.typed}/findings/{finding.pk}"
    assert operator.post(f"{address}/snooze/", {"reason": "on it", "hours": "nonsense"}).status_code == 422
    assert operator.post(f"{address}/snooze/", {"reason": "on <b>it", "hours": "8"}).status_code == 302
    for query in ({}, {"closed": "snoozed"}):
        text = rows(operator, **query)
        assert "Snoozed by olga" in text
        assert "on &lt;b&gt;it" in text
    assert operator.post(f"{address}/lift/", {"reason": "done"}).status_code == 302
    assert "Snoozed by" not in rows(operator)
    assert rows(operator, closed="snoozed") == ""


def test_each_kind_leads_to_the_page_that_mends_it(operator: Client) -> None:
    make_finding(code="push-blocked", subject="5b1c1de8-0000-4000-8000-000000000001", severity="error")
    make_finding(code="push-failed", subject="5b1c1de8-0000-4000-8000-000000000002", severity="error")
    make_finding(code="session-failed", subject="cp_1_0a0b0c0d")
    make_finding(code="pause-pressure", subject="", table_name="r_REALTIME")
    make_finding(code="stale-push", subject="entry-7")
    make_finding(code="pass-failed", subject="RetentionManager", table_name="s_OFFLINE")
    make_finding(code="pass-failed", subject="OfOldTimes", table_name="s_OFFLINE")
    make_finding(code="few-servers", subject="")
    text = rows(operator)
    for address in (
        "/console/pushes/5b1c1de8-0000-4000-8000-000000000001/", "?again=5b1c1de8-0000-4000-8000-000000000002",
        "/ingestion/sessions/cp_1_0a0b0c0d/retry/", "/r_REALTIME/consumption/resume/", "/lineage/entry-7/rollback/",
        "/console/passes/run/?table=s_OFFLINE&amp;task=RetentionManager", "/console/tables/s_OFFLINE/passes/",
    ):  # fmt: skip
        assert f'{address}">' in text
    assert text.count('id="fix-') == 7


def test_a_finding_is_assigned_to_who_may_read_its_table_and_found_by_name(world: World, operator: Client) -> None:
    ClusterFollower(world.memory, Cluster.objects.get_or_create(name=CLUSTER)[0]).sync_all()
    finding = make_finding(table_name=TYPED)
    address = f"/console/tables/{TYPED}/findings/{finding.pk}/assign/"
    assert 'value="olga"' in operator.get(address).content.decode()
    nobody = operator.post(address, {"person": "nemo", "reason": "x"})
    assert nobody.status_code == 400
    assert "Nobody named" in nobody.content.decode()
    assert operator.post(address, {"person": "olga", "reason": "ticket 7"}).status_code == 302
    assert "olga takes care of it." in rows(operator, who="me")
    assert rows(operator, who="nobody") == ""
    event = AuditEvent.objects.get(action="assignFinding", outcome="done")
    assert (event.reason, event.detail["before"], event.detail["after"]) == ("ticket 7", "", "olga")


def test_what_concerns_no_table_is_assigned_and_snoozed_by_who_operates_the_cluster(
    world: World, operator: Client, viewer: Client
) -> None:
    finding = make_finding(table_name="", code="task-failed", subject="sample_lag")
    base = f"/console/findings/{finding.pk}"
    assert base not in rows(viewer)
    assert f"{base}/assign/" in rows(operator)
    assert viewer.post(f"{base}/assign/", {"person": "olga", "reason": "x"}).status_code == 403
    assert operator.post(f"{base}/assign/", {"person": "olga", "reason": "ticket 7"}).status_code == 302
    done = operator.post(f"{base}/snooze/", {"hours": "8", "reason": "known"}, follow=True).content.decode()
    assert f'<a href="{base}/lift/">Lift</a>' in done
    assert "olga takes care of it." in rows(operator, closed="snoozed")
    assert operator.post(f"{base}/lift/", {"reason": "over"}, follow=True).status_code == 200
    assert not FindingSnooze.objects.exists()
    of_table = make_finding(table_name=TYPED)
    assert operator.get(f"/console/findings/{of_table.pk}/snooze/").status_code == 404


def test_the_bell_counts_what_waits_of_tables_that_the_person_may_read(viewer: Client, settings: Any) -> None:
    assert "nothing waits" in viewer.get(PAGE).content.decode()
    for number in range(3):
        make_finding(subject=f"s{number}")
    make_finding(subject="closed", closed_at=timezone.now())
    snoozed = make_finding(subject="snoozed")
    FindingSnooze.objects.create(
        cluster=CLUSTER, table_name=snoozed.table_name, code=snoozed.code, subject="snoozed", actor="olga",
        until=timezone.now() + timedelta(hours=1), reason="known",
    )  # fmt: skip
    assert "Inbox: 3 waiting" in viewer.get(PAGE).content.decode()
    settings.READ_BY_GRANT = True
    assert "nothing waits" in viewer.get("/console/tokens/").content.decode()


def test_buttons_stand_only_at_findings_of_tables_that_the_person_may_operate(viewer: Client) -> None:
    mine, other, of_all = (
        make_finding(code="pause-long", table_name=name) for name in ("mine_REALTIME", "others_REALTIME", "")
    )
    user_id = viewer.session["_auth_user_id"]
    Grant.objects.create(user_id=user_id, cluster=CLUSTER, tables="mine*", right="operate")
    text = rows(viewer)
    for button in ("fix", "assign", "snooze"):
        assert f'id="{button}-{mine.pk}"' in text
        assert f'id="{button}-{other.pk}"' not in text
        assert f'id="{button}-{of_all.pk}"' not in text
    Grant.objects.create(user_id=user_id, cluster=CLUSTER, tables="*", right="operate")
    assert f'id="assign-{of_all.pk}"' in rows(viewer)
