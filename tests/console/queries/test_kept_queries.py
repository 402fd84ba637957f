"""History and saved queries: one's own, bounded, shown by a link to who may read their tables."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments.models import Grant, KeptQuery
from segments.services.queries import kept
from tests.console.conftest import FakeBroker, logged_in
from tests.factories import CLUSTER

HTMX = {"HX-Request": "true"}


def test_what_ran_is_in_ones_own_history_newest_first_and_once(viewer: Client, broker: FakeBroker) -> None:
    for sql in ("select 1", "select 2", "select 1"):
        assert viewer.post("/console/query/", {"sql": sql}, headers=HTMX)["HX-Trigger"] == "query-ran"
    assert [q.sql for q in KeptQuery.objects.filter(name="")] == ["select 1", "select 2"]
    assert "select 2" in viewer.get("/console/query/kept/", headers=HTMX).content.decode()
    assert "select 2" not in logged_in("other").get("/console/query/").content.decode()


def test_a_query_is_saved_replaced_opened_by_its_link_and_deleted(viewer: Client, broker: FakeBroker) -> None:
    for sql in ("select 1 from t", "select 2 from t"):
        text = viewer.post("/console/query/save/", {"name": " mine ", "sql": sql}, headers=HTMX).content.decode()
        assert "mine" in text
    saved = KeptQuery.objects.get()
    assert (saved.name, saved.sql) == ("mine", "select 2 from t")
    assert (
        "select 2 from t</textarea>" in logged_in("other").get(f"/console/query/?saved={saved.link}").content.decode()
    )
    logged_in("third").post(f"/console/query/kept/{saved.link}/delete/")
    assert KeptQuery.objects.exists()
    assert viewer.post(f"/console/query/kept/{saved.link}/delete/").status_code == 302
    assert not KeptQuery.objects.exists()
    for link in (saved.link, uuid.uuid4(), "nonsense"):
        assert viewer.get(f"/console/query/?saved={link}").status_code == 404


def test_a_link_shows_nothing_to_who_may_not_read_every_table(
    viewer: Client, broker: FakeBroker, settings: Any
) -> None:
    links = {}
    for name, sql in (("one", "select * from t"), ("join", "select 1 from t a, hidden b"), ("odd", "selec hidden")):
        viewer.post("/console/query/save/", {"name": name, "sql": sql})
        links[name] = KeptQuery.objects.get(name=name).link
    settings.READ_BY_GRANT = True
    reader = logged_in("rita")
    Grant.objects.create(user=User.objects.get(username="rita"), right="read", cluster=CLUSTER, tables="t")
    found = {name: reader.get(f"/console/query/?saved={link}").status_code for name, link in links.items()}
    assert found == {"one": 200, "join": 404, "odd": 404}
    assert viewer.get(f"/console/query/?saved={links['join']}").status_code == 200


def test_nobody_fills_the_database(viewer: Client, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_RUNS", 3)
    monkeypatch.setattr(kept, "MOST_SAVED", 2)
    for i in range(6):
        viewer.post("/console/query/", {"sql": f"select {i}"})
    assert [q.sql for q in KeptQuery.objects.filter(name="")] == ["select 5", "select 4", "select 3"]
    viewer.post("/console/query/", {"sql": "x" * (kept.MOST_CHARACTERS + 1)})
    assert KeptQuery.objects.filter(name="").count() == 3
    for name in "abc":
        answer = viewer.post("/console/query/save/", {"name": name, "sql": "select 1"})
    assert answer.status_code == 409
    assert viewer.post("/console/query/save/", {"name": "a", "sql": "select 3"}).status_code == 302
    assert viewer.post("/console/query/save/", {"name": "", "sql": "select 3"}).status_code == 400
    long = {"name": "a", "sql": "x" * (kept.MOST_CHARACTERS + 1)}
    assert viewer.post("/console/query/save/", long).status_code == 400
    assert (
        "A saved query has a name" in viewer.post("/console/query/save/", {"sql": "q"}, headers=HTMX).content.decode()
    )
