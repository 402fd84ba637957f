"""Who may change users in the admin, but is not a superuser, cannot become more: not by a form, and not by another's
password.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from segments.models import Grant

NEW = "quite another long secret"


@pytest.fixture
def clerk(db: None) -> Client:
    """Staff with all of Django's permissions on users and groups."""
    user = User.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="auth"))
    client = Client()
    client.force_login(user)
    return client


def above() -> list[User]:
    """People who can do what the clerk cannot."""
    granted = User.objects.create_user("granted")
    Grant.objects.create(user=granted, cluster="*", tables="*", right="administer")
    permitted = User.objects.create_user("permitted")
    permitted.user_permissions.set(Permission.objects.filter(codename="administer"))
    return [User.objects.create_superuser("root"), User.objects.create_user("staff", is_staff=True), granted, permitted]


def form_of(client: Client, user: User, **changed: Any) -> dict[str, Any]:
    page = client.get(f"/admin/auth/user/{user.pk}/change/")
    assert page.status_code == 200
    form = page.context["adminform"].form
    given = {k: v for k in form.fields if (v := form.initial.get(k)) not in (None, False, [])}
    joined = user.date_joined
    return {
        **given,
        "date_joined_0": f"{joined:%Y-%m-%d}",
        "date_joined_1": f"{joined:%H:%M:%S}",
        "is_active": "on",
        **changed,
    }


def test_nobody_is_given_rights_by_one_who_is_no_superuser(clerk: Client) -> None:
    me, other = User.objects.get(username="clerk"), User.objects.create_user("plain")
    group = Group.objects.create(name="operators")
    rights = {
        "is_superuser": "on",
        "is_staff": "on",
        "groups": [group.pk],
        "user_permissions": [Permission.objects.get(codename="administer").pk],
    }
    for user in (me, other):
        assert (
            clerk.post(
                f"/admin/auth/user/{user.pk}/change/", form_of(clerk, user, first_name="Ann", **rights)
            ).status_code
            == 302
        )
        user.refresh_from_db()
        assert user.first_name == "Ann"
        assert not user.is_superuser
        assert not user.groups.exists()
        assert not user.has_perm("segments.administer")
    assert not other.is_staff
    answer = clerk.post(
        f"/admin/auth/group/{group.pk}/change/", {"name": "renamed", "permissions": rights["user_permissions"]}
    )
    assert answer.status_code == 302
    assert not group.permissions.exists()


def test_a_password_of_somebody_with_more_rights_is_not_changed(clerk: Client) -> None:
    new = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    for user in above():
        before = user.password
        assert clerk.post(f"/admin/auth/user/{user.pk}/password/", new).status_code == 403
        assert clerk.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"}).status_code == 403
        clerk.post("/admin/auth/user/", {"action": "delete_selected", "_selected_action": [user.pk], "post": "yes"})
        user.refresh_from_db()
        assert user.password == before
    plain = User.objects.create_user("plain")
    assert clerk.post(f"/admin/auth/user/{plain.pk}/password/", new).status_code == 302
    plain.refresh_from_db()
    assert plain.check_password(NEW)
