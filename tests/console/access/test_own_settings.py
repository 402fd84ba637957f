"""What a person chooses for lists and times is theirs, holds in every browser, and opens nothing to them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from segments.models import AuditEvent, PersonSetting
from tests.console.conftest import logged_in
from tests.factories import make_event, make_table

ZONES, OWN = "/console/time-zone/", "/console/settings/"
COLUMNS, SAVE, DELETE = f"{OWN}columns/", f"{OWN}views/save/", f"{OWN}views/delete/"


def test_the_zone_holds_in_every_browser_and_utc_is_one_click_away(viewer: Client) -> None:
    make_event()
    AuditEvent.objects.update(at=datetime(2026, 1, 15, 22, 30, tzinfo=UTC))
    viewer.post(ZONES, {"zone": "Europe/Berlin", "keep": "1"})
    other = Client()
    other.force_login(PersonSetting.objects.get().user)
    assert "2026-01-15 23:30:00" in other.get("/console/audit/").content.decode()
    other.post(ZONES, {"zone": "UTC"})
    text = other.get("/console/audit/").content.decode()
    assert "2026-01-15 22:30:00" in text
    assert "Show times of Europe/Berlin" in text
    assert "2026-01-15 23:30:00" in viewer.get("/console/audit/").content.decode()
    other.post(ZONES, {"zone": "Europe/Berlin"})
    assert "2026-01-15 23:30:00" in other.get("/console/audit/").content.decode()
    viewer.post(ZONES, {"zone": "UTC", "keep": "1"})
    assert "Times are UTC" in viewer.get(OWN).content.decode()


def test_the_zone_is_read_once_a_session(viewer: Client) -> None:
    viewer.post(ZONES, {"zone": "Europe/Berlin"})
    with CaptureQueriesContext(connection) as asked:
        assert "Times are Europe/Berlin" in viewer.get("/console/query/").content.decode()
    assert not any("personsetting" in q["sql"] for q in asked)


def test_columns_of_a_list_are_left_out_and_shown_again(viewer: Client, db: None) -> None:
    make_table("t_OFFLINE")
    back = {"Referer": "http://testserver/?q=t"}
    answer = viewer.post(COLUMNS, {"list": "tables", "shown": ["2", "3"]}, headers=back)
    assert answer["Location"] == "http://testserver/?q=t"
    assert 'class="cards hide-4 hide-5 hide-6 hide-7 hide-8 hide-9"' in viewer.get("/").content.decode()
    assert "hide-4" not in logged_in("other").get("/").content.decode()
    viewer.post(COLUMNS, {"list": "tables", "shown": [str(n) for n in range(2, 10)]})
    assert 'class="cards"' in viewer.get("/").content.decode()


def test_a_view_keeps_filters_under_a_name(viewer: Client) -> None:
    make_table("t_OFFLINE")
    viewer.post(SAVE, {"list": "findings", "name": " mine  only ", "query": "who=me&closed=waiting"})
    text = viewer.get("/console/findings/?who=me&closed=waiting").content.decode()
    assert '<a class="button button-small" href="?who=me&amp;closed=waiting" aria-current="true">mine only</a>' in text
    assert "mine only" not in viewer.get("/console/audit/").content.decode()
    assert "mine only" in viewer.get(OWN).content.decode()
    viewer.post(DELETE, {"list": "findings", "name": "mine only"})
    assert "mine only" not in viewer.get(OWN).content.decode()


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        (COLUMNS, {"list": "nothing"}),
        (SAVE, {"list": "nothing", "name": "a"}),
        (SAVE, {"list": "audit", "name": " "}),
        (SAVE, {"list": "audit", "name": "x" * 61}),
        (SAVE, {"list": "audit", "name": "x", "query": "q" * 2001}),
        (ZONES, {"zone": "Mars/Base", "keep": "1"}),
    ],
)
def test_what_cannot_be_kept_is_refused(viewer: Client, address: str, fields: dict[str, str]) -> None:
    assert viewer.post(address, fields).status_code == 400
    assert not PersonSetting.objects.exists()


def test_nobody_fills_the_database_with_views(viewer: Client) -> None:
    answers = [viewer.post(SAVE, {"list": "audit", "name": f"v{i}", "query": "q=1"}).status_code for i in range(31)]
    assert answers == [302] * 30 + [400]
