"""Who gets in, and what a page says to those who may not."""

from __future__ import annotations

import uuid
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from segments.models import AuditEvent
from tests.console.conftest import logged_in
from tests.factories import PASSWORD, make_entry, make_push, make_table, make_user

PAGES = [
    "/",
    "/console/tables/t_OFFLINE/",
    "/console/tables/t_OFFLINE/segments/",
    "/console/tables/t_OFFLINE/lineage/",
    "/console/tables/t_OFFLINE/lineage/entry-1/rollback/",
    "/console/pushes/",
    "/console/pushes/new/",
    "/console/query/",
    "/console/passes/",
    "/console/findings/",
    "/console/audit/",
    "/console/audit/csv/",
    "/console/health/",
]


@pytest.mark.django_db
@pytest.mark.parametrize("address", PAGES)
def test_a_stranger_is_sent_to_the_log_in_page(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 302
    assert answer["Location"] == f"/login/?next={address}"


@pytest.mark.django_db
def test_a_live_part_sends_a_stranger_with_the_whole_page(client: Client) -> None:
    answer = client.get("/console/health/", headers={"HX-Request": "true"})
    assert (answer["HX-Redirect"], answer.content) == ("/login/", b"")


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/login/", "/admin/login/"])
def test_a_wrong_password_is_on_record(client: Client, address: str) -> None:
    make_user("ann")
    client.post(address, {"username": "ann", "password": "wrong"})
    event = AuditEvent.objects.get()
    assert (event.action, event.outcome, event.target, event.detail["user"]) == ("access", "refused", address, "ann")
    assert "wrong" not in str(event.detail).replace("password is wrong", "")


@pytest.mark.django_db
def test_logging_in_leads_to_the_page_that_was_asked_for_and_out_again(client: Client) -> None:
    make_user("ann")
    wrong = client.post("/login/", {"username": "ann", "password": "wrong", "next": "/console/audit/"})
    assert "do not match" in wrong.content.decode()
    assert wrong.status_code == 401
    right = client.post("/login/", {"username": "ann", "password": PASSWORD, "next": "/console/audit/"})
    assert right["Location"] == "/console/audit/"
    assert client.get("/console/audit/").status_code == 200
    client.post("/logout/")
    assert client.get("/console/audit/").status_code == 302


@pytest.mark.parametrize(
    ("address", "action", "target"),
    [
        ("/console/tables/t_OFFLINE/lineage/entry-1/rollback/", "revertReplaceSegments", "t_OFFLINE"),
        ("/console/passes/run/?table=t_OFFLINE", "run RetentionManager", "t_OFFLINE"),
        ("/console/passes/run/", "run RetentionManager", ""),
        ("/console/pushes/new/", "push", ""),
        (f"/console/pushes/{uuid.UUID(int=1)}/cancel/", "cancelPush", "t_OFFLINE"),
    ],
)
def test_a_viewer_who_posts_gets_403_and_leaves_a_record(
    viewer: Client, address: str, action: str, target: str
) -> None:
    table = make_table("t_OFFLINE")
    make_entry(table)
    make_push(id=uuid.UUID(int=1), table_name="t")
    form = {"task": "RetentionManager", "reason": "x", "confirm": "t_OFFLINE"}
    answer = viewer.post(address, form | dict(parse_qsl(urlsplit(address).query)))
    assert answer.status_code == 403
    assert "segments.operate" in answer.content.decode()
    event = AuditEvent.objects.get()
    assert (event.actor, event.action, event.target, event.outcome) == ("vera", action, target, "refused")


def test_a_viewer_sees_the_button_disabled_with_the_reason(viewer: Client) -> None:
    text = viewer.get("/console/pushes/").content.decode()
    assert "disabled>New push" in text
    assert "Needs the right <code>segments.operate</code>" in text


@pytest.mark.django_db
def test_the_right_to_administer_includes_to_operate() -> None:
    assert "disabled" not in logged_in("anna", "administer").get("/console/pushes/").content.decode()


def test_pages_forbid_inline_scripts_and_foreign_sources(viewer: Client) -> None:
    answer = viewer.get("/")
    assert "script-src 'self';" in answer["Content-Security-Policy"]
    assert "no-store" in answer["Cache-Control"]
    text = answer.content.decode()
    assert "<script>" not in text
    assert "style=" not in text


def test_an_unknown_table_is_a_page_that_says_so(viewer: Client) -> None:
    answer = viewer.get("/console/tables/nothing_OFFLINE/", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "Not found" in answer.content.decode()
