"""The audit pages: text found anywhere, parts folded, before and after, links, the request's id."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from segments.models import AuditEvent
from segments.request_ids import current_request, request_of_its_own
from segments.services.core import audit
from segments.services.core.context import Actor
from tests.console.test_tables import FRAME
from tests.factories import make_event, make_finding, make_table
from tests.services.world import World

PAGE = "/console/audit/"
ANN = Actor("ann", "ticket 7")


def shown(client: Client, **query: str) -> str:
    return client.get(PAGE, query).content.decode()


def test_what_one_request_did_is_one_line_with_its_parts(viewer: Client) -> None:
    with request_of_its_own() as request:
        for number in range(3):
            audit.record(ANN, "restoreSegment", target=f"t_OFFLINE/s{number}")
        audit.record(ANN, "restoreSegments", target="t_OFFLINE")
    audit.record(ANN, "alone", target="t_OFFLINE")
    assert current_request() == ""
    text = shown(viewer)
    assert text.count("<tr><td") == 2
    assert "and 3 parts" in text
    assert "t_OFFLINE/s2" in text
    assert shown(viewer, request=request).count("<tr><td") == 1
    assert viewer.get("/api/v1/audit", {"request": request}).json()["events"][0]["request"] == request


def test_text_is_found_in_any_part_of_a_record(viewer: Client) -> None:
    make_event(action="pauseConsumption", target="r_REALTIME", detail={"comment": "Größe 5", "deep": ["needle"]})
    make_event(action="other", reason="nothing")
    for text in ("needle", "Größe", "pausecons", "r_REAL"):
        assert "pauseConsumption" in shown(viewer, q=text), text
        assert ">other<" not in shown(viewer, q=text)
    assert "No record matches" in shown(viewer, q="100%_nowhere")


def test_a_part_that_matches_is_shown_where_the_whole_does_not(viewer: Client) -> None:
    with request_of_its_own():
        audit.record(ANN, "restoreSegment", target="t_OFFLINE/needle")
        audit.record(ANN, "restoreSegments", target="t_OFFLINE")
    assert "restoreSegment<" in shown(viewer, q="needle")


def test_a_record_shows_before_and_after_and_leads_to_its_things(viewer: Client) -> None:
    event = audit.record(
        ANN, "updateTable", target="t_OFFLINE", entry="entry-7",
        before={"replicas": 1, "same": 2}, after={"replicas": 3, "same": 2},
    )  # fmt: skip
    text = viewer.get(f"{PAGE}{event.pk}/").content.decode()
    rows = text.split("Before and after")[1].split("</table>")[0]
    assert ">1<" in rows
    assert ">3<" in rows
    assert "same" not in rows
    assert "/console/tables/t_OFFLINE/lineage/entry-7/" in text


def test_a_click_has_one_id_in_its_answer_and_its_record(world: World, operator: Client) -> None:
    finding = make_finding(table_name=make_table().name)
    answer = operator.post(
        f"/console/tables/flights_OFFLINE/findings/{finding.pk}/assign/", {"person": "", "reason": "x"}
    )
    assert answer.headers["X-Request-Id"] == AuditEvent.objects.get(action="assignFinding").request_id


def test_names_that_are_no_names_do_not_break_a_page(viewer: Client) -> None:
    make_event(target="t_OFFLINE", detail={"entry": "a/b", "push": "no uuid"})
    make_event(target="t_OFFLINE/", detail={"entry": ["x"], "before": None, "after": "y"})
    assert viewer.get(PAGE).status_code == 200
    for event in AuditEvent.objects.all():
        assert viewer.get(f"{PAGE}{event.pk}/").status_code == 200


def test_parts_are_read_at_once_however_many_lines_there_are(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(60):
        with request_of_its_own():
            audit.record(replace(ANN, reason=""), "part")
            audit.record(ANN, "whole")
    with django_assert_max_num_queries(FRAME + 3):
        assert "1 to 50 of 60" in shown(viewer)


@pytest.mark.parametrize("request_id", ["", "nothing", "x" * 40])
def test_an_unknown_request_shows_nothing_or_everything(viewer: Client, request_id: str) -> None:
    make_event()
    assert viewer.get(PAGE, {"request": request_id}).status_code == 200
