"""Changes of users, groups, permissions, grants and passwords are on record: who, when, what before and after, and
never a password.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client

from segments.models import AuditEvent, Grant
from segments.services.access import people_audit
from segments.services.core.context import Actor
from tests.factories import make_user

SECRET = "a very long secret"


@pytest.fixture
def boss(db: None) -> Client:
    client = Client(REMOTE_ADDR="192.0.2.3")
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    return client


def last(action: str) -> AuditEvent:
    found = AuditEvent.objects.filter(action=action).latest("id")
    assert not any(
        stored in str(found.detail) for stored in User.objects.exclude(password="").values_list("password", flat=True)
    )
    assert SECRET not in str(found.detail)
    return found


def user_form(**more: Any) -> dict[str, Any]:
    return {
        "username": "ann",
        "first_name": "",
        "last_name": "",
        "email": "",
        "is_active": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "10:00:00",
        "last_login_0": "",
        "last_login_1": "",
        **more,
    }


def test_what_the_admin_changes_is_on_record_with_before_and_after(boss: Client) -> None:
    made = {"username": "ann", "password1": SECRET, "password2": SECRET, "usable_password": "true"}
    assert boss.post("/admin/auth/user/add/", made).status_code == 302
    event = last("addUser")
    assert (event.actor, event.address, event.target) == ("boss", "192.0.2.3", "user ann")
    assert event.detail["after"]["username"] == "ann"
    ann, team = User.objects.get(username="ann"), Group.objects.create(name="sales")
    right = Permission.objects.get(codename="operate")
    form = user_form(is_superuser="on", groups=[team.pk], user_permissions=[right.pk])
    assert boss.post(f"/admin/auth/user/{ann.pk}/change/", form).status_code == 302
    changes = [e.detail for e in AuditEvent.objects.filter(action="changeUser", target="user ann").order_by("id")]
    assert {"before": {"is_superuser": False}, "after": {"is_superuser": True}} in changes
    assert {"groups": {"added": ["sales"]}} in changes
    assert any(
        "operate" in str(c.get("permissions", {}).get("added", "")) or "push" in str(c.get("permissions", ""))
        for c in changes
    )
    assert boss.post(f"/admin/auth/user/{ann.pk}/change/", user_form()).status_code == 302
    assert last("changeUser").actor == "boss"
    assert {"groups": {"removed": ["sales"]}} in [e.detail for e in AuditEvent.objects.filter(action="changeUser")]
    assert boss.post(f"/admin/auth/user/{ann.pk}/delete/", {"post": "yes"}).status_code == 302
    assert last("removeUser").detail["before"]["username"] == "ann"


def test_a_changed_password_is_on_record_without_it(boss: Client) -> None:
    ann = make_user("ann")
    form = {"password1": SECRET, "password2": SECRET, "usable_password": "true"}
    assert boss.post(f"/admin/auth/user/{ann.pk}/password/", form).status_code == 302
    event = last("changePassword")
    assert (event.actor, event.target, event.detail) == ("boss", "user ann", {})


def test_groups_and_their_permissions_are_on_record(boss: Client) -> None:
    right = Permission.objects.get(codename="administer")
    assert boss.post("/admin/auth/group/add/", {"name": "sales", "permissions": [right.pk]}).status_code == 302
    assert last("addGroup").target == "group sales"
    assert "create, change and delete" in str(last("changeGroup").detail["permissions"]["added"])
    group = Group.objects.get()
    assert (
        boss.post(f"/admin/auth/group/{group.pk}/change/", {"name": "sales eu", "permissions": []}).status_code == 302
    )
    details = [e.detail for e in AuditEvent.objects.filter(action="changeGroup")]
    assert {"before": {"name": "sales"}, "after": {"name": "sales eu"}} in details
    assert boss.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}).status_code == 302
    assert last("removeGroup").actor == "boss"


def test_grants_are_on_record_also_those_that_go_with_their_user(boss: Client) -> None:
    ann = make_user("ann")
    form = {"user": ann.pk, "cluster": "*", "tables": "sales_*", "right": "operate"}
    assert boss.post("/admin/segments/grant/add/", form).status_code == 302
    grant = Grant.objects.get()
    assert last("addGrant").detail["after"]["right"] == "operate"
    assert boss.post(f"/admin/segments/grant/{grant.pk}/change/", {**form, "right": "administer"}).status_code == 302
    assert last("changeGrant").detail["before"] == {"right": "operate"}
    assert boss.post(f"/admin/auth/user/{ann.pk}/delete/", {"post": "yes"}).status_code == 302
    assert (last("removeGrant").actor, last("removeGrant").target) == ("boss", "sales_*")


def test_commands_are_on_record_with_the_systems_user(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people_audit, "outside", lambda: Actor("olaf", "manage.py createsuperuser"))
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", SECRET)
    call_command("createsuperuser", username="chief", email="c@example.org", interactive=False, verbosity=0)
    event = last("addUser")
    assert (event.actor, event.reason, event.target) == ("olaf", "manage.py createsuperuser", "user chief")
    assert event.detail["after"]["is_superuser"] is True


def test_outside_of_requests_it_is_the_systems_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("sys.argv", ["/somewhere/manage.py", "changepassword", "ann"])
    found = people_audit.outside()
    assert found is not None
    assert (bool(found.name), found.reason) == (True, "manage.py changepassword")


def test_a_login_and_a_stronger_hash_of_the_same_password_are_no_change(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_audit, "outside", lambda: Actor("x"))
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher",
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    ]
    user = make_user("ann")
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
    ]
    AuditEvent.objects.all().delete()
    client = Client()
    from tests.factories import PASSWORD

    assert client.post("/login/", {"username": "ann", "password": PASSWORD}).status_code == 302
    assert User.objects.get(pk=user.pk).password.startswith("pbkdf2")
    assert list(AuditEvent.objects.all()) == []
    user.refresh_from_db()
    user.set_password(SECRET)
    user.save()
    assert last("changePassword").actor == "x"
