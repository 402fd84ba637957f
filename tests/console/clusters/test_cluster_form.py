"""Adding, trying, changing and removing a cluster in the console."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments.gateways.pinot import http_controller
from segments.models import AuditEvent, Cluster, Grant
from tests.console.clusters.test_clusters import PROD, page
from tests.console.conftest import logged_in
from tests.pinot_cluster.fake_rest import FakePinot
from tests.services.world import World

SECRET = "the controller's password"
FORM = {
    "name": "prod",
    "controller_urls": "https://controller:9000",
    "auth": "basic",
    "auth_user": "robot",
    "secret": SECRET,
    "reason": "production",
}


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path, world: World) -> FakePinot:
    """A controller whatever the address, and a data directory for secrets."""
    settings.DATA_DIR = tmp_path
    found, before = FakePinot(), http_controller.open_client
    monkeypatch.setattr(
        http_controller, "open_client", lambda c, **more: before(c, **{**more, "transport": found.transport()})
    )
    return found


@pytest.fixture
def admin(db: None) -> Client:
    """May administer the whole installation."""
    return logged_in("anna", "administer")


def test_a_cluster_is_added_checked_changed_and_removed(admin: Client, controller: FakePinot) -> None:
    made = admin.post("/console/clusters/new/", FORM, follow=True)
    assert made.redirect_chain == [(f"{PROD}/cluster/", 302)]
    assert "Cluster prod is added. It answers, version 1.2.0." in made.content.decode()
    assert "What the check found" in admin.post(f"{PROD}/cluster/check/").content.decode()
    change = {**FORM, "secret": "", "broker_url": "https://controller:9000"}
    elsewhere = admin.post("/console/clusters/prod/edit/", {**change, "broker_url": "https://broker:8099"})
    assert (elsewhere.status_code, "is not sent to another host" in elsewhere.content.decode()) == (403, True)
    assert admin.post("/console/clusters/prod/edit/", change).status_code == 302
    row = Cluster.objects.get(name="prod")
    assert (row.broker_url, row.auth_source, row.kind) == ("https://controller:9000", "stored", "pinot")
    assert admin.post("/console/clusters/prod/remove/", {"reason": "gone", "confirm": "prd"}).status_code == 422
    gone = admin.post("/console/clusters/prod/remove/", {"reason": "gone", "confirm": "prod"})
    assert gone["Location"] == "/console/clusters/"
    assert not Cluster.objects.filter(name="prod").exists()
    reasons = dict(AuditEvent.objects.values_list("action", "reason"))
    assert (reasons["addCluster"], reasons["removeCluster"]) == ("production", "gone")


def test_a_secret_is_never_shown_again(admin: Client, controller: FakePinot) -> None:
    pages = [admin.post("/console/clusters/new/", FORM, follow=True).content.decode()]
    pages += [
        page(admin, a)
        for a in (
            "/console/clusters/",
            "/console/clusters/prod/edit/",
            f"{PROD}/cluster/",
            "/console/audit/",
            f"{PROD}/audit/",
        )
    ]
    pages.append(admin.post("/console/clusters/new/", {**FORM, "name": "no spaces"}).content.decode())
    pages += [page(admin, f"{PROD}/audit/{e.pk}/") for e in AuditEvent.objects.all()]
    assert SECRET not in "".join(pages)
    assert "the controller&#x27;s password" not in "".join(pages)
    assert "One is stored" in pages[2]


def test_a_cluster_is_asked_before_it_is_saved_and_what_is_wrong_stands_next_to_what_was_typed(
    admin: Client, controller: FakePinot
) -> None:
    controller.down = {"controller"}
    asked = admin.post("/console/clusters/new/", {**FORM, "broker_url": "http://broker:8099"})
    text = asked.content.decode()
    assert (asked.status_code, Cluster.objects.filter(name="prod").exists()) == (422, False)
    assert "Nothing is saved yet" in text
    assert "Connection refused" in text
    for typed in (
        'value="prod"',
        "https://controller:9000",
        'value="robot"',
        'value="http://broker:8099"',
        'value="production"',
    ):
        assert typed in text, typed
    assert SECRET not in text
    assert "Type it again: it is never sent back to the browser." in text
    assert AuditEvent.objects.count() == 0
    controller.down = set()
    assert admin.post("/console/clusters/new/", {**FORM, "retype": "secret"}).status_code == 302
    assert Cluster.objects.get(name="prod").state == "up"


def test_a_second_button_saves_a_cluster_that_does_not_answer(admin: Client, controller: FakePinot) -> None:
    controller.down = {"controller"}
    assert "Save anyway" not in page(admin, "/console/clusters/new/")
    assert "Save anyway" in admin.post("/console/clusters/new/", FORM).content.decode()
    text = admin.post(
        "/console/clusters/new/", {**FORM, "anyway": "1", "retype": "secret"}, follow=True
    ).content.decode()
    assert "Cluster prod is added. But:" in text
    assert "Cluster prod is down" in text
    assert set(AuditEvent.objects.values_list("action", flat=True)) == {"addCluster", "checkCluster"}


def test_a_change_that_was_tried_leaves_the_cluster_and_its_secret_as_they_were(
    admin: Client, controller: FakePinot
) -> None:
    admin.post("/console/clusters/new/", FORM)
    controller.authorization = "Basic " + base64.b64encode(f"robot:{SECRET}".encode()).decode()
    row = Cluster.objects.get(name="prod")
    edit, before = "/console/clusters/prod/edit/", (row.state, row.state_since, row.configured_at)
    refused = admin.post(edit, {**FORM, "secret": "another"})
    assert (refused.status_code, "does not accept our credentials" in refused.content.decode()) == (422, True)
    row.refresh_from_db()
    assert (row.state, row.state_since, row.configured_at) == before
    # Whoever forgets to type it again does not save the old one unawares.
    again = admin.post(edit, {**FORM, "secret": "", "retype": "secret", "anyway": "1"})
    assert (again.status_code, "what you typed before was not kept" in again.content.decode()) == (422, True)
    assert admin.post(f"{PROD}/cluster/check/").context["found"].is_ok
    assert admin.post(edit, {**FORM, "secret": ""}).status_code == 302


def test_a_name_that_is_taken_is_reported_before_anybody_is_asked(admin: Client, controller: FakePinot) -> None:
    admin.post("/console/clusters/new/", FORM)
    calls = controller.calls.total()
    again = admin.post("/console/clusters/new/", {**FORM, "name": "PROD", "controller_urls": "http://elsewhere:9000"})
    assert (again.status_code, "There is a cluster" in again.content.decode(), controller.calls.total()) == (
        409,
        True,
        calls,
    )


def test_only_who_administers_everything_changes_clusters_and_a_try_is_on_record(
    controller: FakePinot, admin: Client
) -> None:
    admin.post("/console/clusters/new/", FORM)
    olga = logged_in("olga", "operate")
    Grant.objects.create(user=User.objects.get(username="olga"), cluster="prod", tables="*", right="administer")
    assert "disabled" in page(olga, "/console/clusters/new/")
    for address in (
        "/console/clusters/new/",
        "/console/clusters/prod/edit/",
        "/console/clusters/prod/remove/",
        f"{PROD}/cluster/check/",
    ):
        assert olga.post(address, {**FORM, "confirm": "prod"}).status_code == 403, address
    tries = AuditEvent.objects.filter(outcome="refused", actor="olga").values_list("action", flat=True)
    assert set(tries) == {"addCluster", "changeCluster", "removeCluster", "checkCluster"}
