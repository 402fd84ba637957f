"""Secrets of a table's config in console and admin: masked on every page, shown once for a reason to those who
administer the table.
"""

from __future__ import annotations

import pytest
from django.test import Client

from segments.models import AuditEvent, Table
from segments.secret_texts import MASK
from segments.store import paths
from tests.console.conftest import TYPED, logged_in
from tests.factories import make_event, make_push, make_table
from tests.services.world import World

PATH = f"/console/tables/{TYPED}/config/secrets/"


@pytest.fixture
def secret(world: World, db: None) -> None:
    """Table ``t`` with a secret in ZooKeeper, masked in its row."""
    node = world.memory.get(paths.table_config(TYPED))
    assert node is not None
    assert node.record is not None
    task = '{"taskTypeConfigsMap":{"X":{"push.authToken":"xyzzy-1"}}}'
    world.memory.replace(paths.table_config(TYPED), node.record.with_simple_items({"task": task}), node.version)
    make_table(TYPED, config={"tableName": TYPED, "task": {"taskTypeConfigsMap": {"X": {"push.authToken": MASK}}}})


def test_the_config_page_shows_the_mask_and_the_button_to_administrators_only(secret: None, viewer: Client) -> None:
    text = viewer.get(f"/console/tables/{TYPED}/config/").content.decode()
    assert MASK in text
    assert PATH not in text
    assert PATH in logged_in("adam", "administer").get(f"/console/tables/{TYPED}/config/").content.decode()


def test_a_row_that_still_holds_a_secret_is_masked_on_its_page(viewer: Client) -> None:
    make_table("u_OFFLINE", config={"tableName": "u", "x": {"secretKey": "xyzzy-1"}})
    assert b"xyzzy-1" not in viewer.get("/console/tables/u_OFFLINE/config/").content


def test_secrets_are_shown_once_for_a_reason_and_on_record(secret: None, viewer: Client, operator: Client) -> None:
    adam = logged_in("adam", "administer")
    given = {"reason": "the broker moved", "confirm": TYPED}
    for client in (viewer, operator):
        assert client.post(PATH, given).status_code == 403
    assert b"xyzzy-1" not in adam.get(PATH).content
    for lacking in ({"reason": "why"}, {"confirm": TYPED}):
        answer = adam.post(PATH, lacking)
        assert answer.status_code == 422
        assert b"xyzzy-1" not in answer.content
    assert not AuditEvent.objects.filter(action="revealSecrets", outcome="done").exists()
    answer = adam.post(PATH, given)
    assert answer.status_code == 200
    assert b"xyzzy-1" in answer.content
    assert "no-store" in answer["Cache-Control"]
    event = AuditEvent.objects.get(action="revealSecrets", outcome="done")
    assert (event.actor, event.target, event.reason) == ("adam", TYPED, "the broker moved")
    assert event.detail == {"paths": ["task.taskTypeConfigsMap.X.push.authToken"]}
    for page in (f"/console/tables/{TYPED}/config/", f"/console/audit/{event.pk}/", PATH):
        assert b"xyzzy-1" not in adam.get(page).content


def test_a_push_asked_for_again_begins_with_the_masked_specification(world: World, operator: Client) -> None:
    push = make_push(spec={"tableSpec": {"tableName": "t"}, "pinotFSSpecs": [{"configs": {"secretKey": MASK}}]})
    assert MASK in operator.get(f"/console/pushes/new/?again={push.pk}").content.decode()


def test_rows_made_before_lose_their_secrets_with_the_migration(db: None) -> None:
    from importlib import import_module

    from django.apps import apps

    make_table("u_OFFLINE", config={"tableName": "u", "x": {"secretKey": "xyzzy-1"}})
    push = make_push(spec={"secretKey": "xyzzy-1"}, plan={"config": {"secretKey": "xyzzy-1"}, "files": [1]})
    make_event()
    import_module("segments.migrations.0010_masked_secrets")._mask(apps, None)
    push.refresh_from_db()
    assert Table.objects.get(name="u_OFFLINE").config == {"tableName": "u", "x": {"secretKey": MASK}}
    assert (push.spec, push.plan) == ({"secretKey": MASK}, {"config": {"secretKey": MASK}, "files": [1]})
