"""Django's admin: rows of mirrors and records are shown, never written; buttons that lead to the console's pages."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from segments.admin import long_lists
from segments.models import AuditEvent, Cluster, Grant, LineageEntry, Table
from segments.services.access.rights import has_right
from tests.console.conftest import logged_in
from tests.factories import (
    make_entry,
    make_event,
    make_finding,
    make_push,
    make_push_segment,
    make_run,
    make_segments,
    make_table,
    make_user,
)

MODELS = ["cluster", "table", "segment", "lineageentry", "push", "pushsegment", "auditevent", "finding", "passrun"]


@pytest.fixture
def root(db: None) -> Client:
    """A superuser, with one row of everything there."""
    table = make_table()
    make_segments(table, "s")
    make_entry(table)
    make_push_segment(make_push())
    make_event()
    make_finding()
    make_run()
    return logged_in("root", is_superuser=True)


@pytest.mark.parametrize("model", MODELS)
def test_rows_can_be_listed_searched_and_opened_but_not_added(root: Client, model: str) -> None:
    from django.apps import apps

    base = f"/admin/segments/{model}/"
    assert root.get(base).status_code == 200
    assert root.get(f"{base}?q=zzz").status_code in (200, 302)
    row = apps.get_model("segments", model).objects.first()
    assert root.get(f"{base}{row.pk}/change/").status_code == 200
    assert root.get(f"{base}add/").status_code == 403


def test_moments_are_written_as_in_the_console(root: Client) -> None:
    event = make_event(target="t_OFFLINE")
    assert f"{event.at:%Y-%m-%d %H:%M:%S}" in root.get("/admin/segments/auditevent/").content.decode()


def test_not_even_a_superuser_deletes_an_audit_record(root: Client) -> None:
    event = AuditEvent.objects.get()
    assert root.post(f"/admin/segments/auditevent/{event.pk}/delete/", {"post": "yes"}).status_code == 403
    assert AuditEvent.objects.count() == 1


@pytest.mark.parametrize(
    ("model", "action", "leads_to"),
    [
        ("table", "console", "/console/tables/flights_OFFLINE/"),
    ],
)
def test_buttons_lead_to_the_console(root: Client, model: str, action: str, leads_to: str) -> None:
    pk = (LineageEntry if model == "lineageentry" else Table).objects.get().pk
    page = root.get(f"/admin/segments/{model}/{pk}/change/").content.decode()
    address = f"/admin/segments/{model}/{pk}/{action}/"
    assert address in page
    assert root.get(address)["Location"] == leads_to


def test_people_and_groups_have_pages(root: Client) -> None:
    for address in (
        "/admin/auth/user/",
        "/admin/auth/user/add/",
        "/admin/auth/group/add/",
        "/admin/django_celery_beat/periodictask/",
    ):
        assert root.get(address).status_code == 200, address


def test_buttons_of_another_cluster_lead_to_its_pages(root: Client) -> None:
    row = Cluster.objects.create(name="prod", kind="pinot")
    table = make_table("t_OFFLINE", cluster=row)
    push = make_push(cluster="prod")
    leads = {
        f"/admin/segments/table/{table.pk}/console/": "/console/c/prod/tables/t_OFFLINE/",
        f"/admin/segments/push/{push.pk}/console/": f"/console/c/prod/pushes/{push.pk}/",
        f"/admin/segments/cluster/{row.pk}/console/": "/console/c/prod/cluster/",
    }
    assert {a: root.get(a)["Location"] for a in leads} == leads


def test_grants_are_given_and_taken_on_record(root: Client) -> None:
    ann = make_user("ann")
    base = "/admin/segments/grant/"
    assert (
        root.post(f"{base}add/", {"user": ann.pk, "cluster": "*", "tables": "sales_*", "right": "operate"}).status_code
        == 302
    )
    grant = Grant.objects.get()
    assert has_right(ann, "operate", "pinotadmin", "sales_eu")
    assert root.get(base).status_code == 200
    assert root.post(f"{base}{grant.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Grant.objects.exists()
    events = AuditEvent.objects.filter(action__endswith="Grant").order_by("id")
    assert [(e.action, e.actor, e.target) for e in events] == [
        ("addGrant", "root", "sales_*"),
        ("removeGrant", "root", "sales_*"),
    ]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"user": "", "group": ""}, "Choose a user or a group"),
        ({"cluster": "nothing"}, "There is no cluster"),
        ({"tables": "a, b"}, "One pattern"),
    ],
)
def test_a_grant_that_means_nothing_is_refused(root: Client, values: dict[str, str], complaint: str) -> None:
    given = {"user": make_user("ann").pk, "cluster": "*", "tables": "*", "right": "operate", **values}
    answer = root.post("/admin/segments/grant/add/", given)
    assert answer.status_code == 200
    assert complaint in answer.content.decode()
    assert not Grant.objects.exists()


def test_staff_without_the_permission_gives_no_grants(db: None) -> None:
    sam = Client()
    sam.force_login(make_user("sam", "operate", is_staff=True))
    assert sam.get("/admin/segments/grant/add/").status_code == 403


def test_a_search_goes_through_the_rows_once_and_its_pages_have_every_match(root: Client) -> None:
    make_segments(Table.objects.get(), *(f"found_{i:02d}" for i in range(30)))
    address, listed = "/admin/segments/segment/?q=found_", []
    for page in (1, 2, 3):
        with CaptureQueriesContext(connection) as captured:
            text = root.get(f"{address}&p={page}").content.decode()
        assert "30 segments" in text
        searching = [q["sql"] for q in captured if "LIKE" in q["sql"].upper() and '"id" IN (' not in q["sql"]]
        assert len(searching) == 1
        listed += sorted(set(re.findall(r"found_\d\d", text)))
    assert listed == [f"found_{i:02d}" for i in range(30)]


def test_a_search_with_more_matches_than_are_kept_is_counted_and_turned_as_any(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_lists, "_KEPT", 20)
    make_segments(Table.objects.get(), *(f"found_{i:02d}" for i in range(30)))
    text = root.get("/admin/segments/segment/?q=found_&p=3").content.decode()
    assert "30 segments" in text
    assert sorted(set(re.findall(r"found_\d\d", text))) == [f"found_{i:02d}" for i in range(24, 30)]


@pytest.mark.parametrize(
    ("model", "field", "values"),
    [("segment", "status", ["UPLOADED", "COMMITTING"]), ("auditevent", "outcome", ["done", "refused"])],
)
def test_values_to_filter_by_are_not_read_from_all_rows(
    root: Client, model: str, field: str, values: list[str]
) -> None:
    with CaptureQueriesContext(connection) as captured:
        text = root.get(f"/admin/segments/{model}/").content.decode()
    assert not [q["sql"] for q in captured if "DISTINCT" in q["sql"] and f'."{field}"' in q["sql"]]
    assert all(f"?{field}={value}" in text for value in values)
    there, missing = (root.get(f"/admin/segments/{model}/?{field}={value}").content.decode() for value in values)
    assert ("1 " in there, "0 " in missing) == (True, True)
    assert ("/change/" in there, "/change/" in missing) == (True, False)
