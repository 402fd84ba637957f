"""Users at the ports of servers: rights and passwords are those of the web application, as of now."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError

from segments.dataplane.server.http.authorization import Asked
from segments.errors import Forbidden, NotAuthenticated, TooManyRequests, Unavailable
from segments.models import AuditEvent, Grant
from segments.services.access import refusals, server_people, sign_in
from segments.services.access.server_people import ServerPeople
from tests.api.cluster import ApiCluster, basic

PEOPLE = ServerPeople("pinotadmin")


@pytest.fixture(autouse=True)
def connection_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own connection is in a transaction that must not be closed."""
    monkeypatch.setattr(server_people, "close_old_connections", lambda: None)


def asked(name: str, password: str) -> Asked:
    return Asked(basic(name, password), "192.0.2.7", "POST", "/segments/t_OFFLINE/a/upload")


def test_a_right_counts_for_the_very_table_only(cluster: ApiCluster) -> None:
    ann = User.objects.create_user("ann", password="a long enough secret")
    Grant.objects.create(user=ann, cluster="pinotadmin", tables="sales_*", right="operate")
    person = PEOPLE.admit(asked("ann", "a long enough secret"), "operate", "sales_x_OFFLINE")
    assert person.may_read("sales_x_OFFLINE")
    for table in ("other_OFFLINE", None):
        with pytest.raises(Forbidden, match="You may not operate"):
            PEOPLE.admit(asked("ann", "a long enough secret"), "operate", table)


def test_where_reading_is_restricted_it_takes_a_grant_here_too(cluster: ApiCluster, settings: Any) -> None:
    ann = User.objects.create_user("ann", password="a long enough secret")
    Grant.objects.create(user=ann, cluster="pinotadmin", tables="sales", right="read")
    PEOPLE.admit(asked("ann", "a long enough secret"), "read", "other_OFFLINE")
    settings.READ_BY_GRANT = True
    with pytest.raises(Forbidden):
        PEOPLE.admit(asked("ann", "a long enough secret"), "read", "other_OFFLINE")
    person = PEOPLE.admit(asked("ann", "a long enough secret"), None, None)
    assert [t for t in ("sales_OFFLINE", "other_OFFLINE") if person.may_read(t)] == ["sales_OFFLINE"]


def test_a_changed_password_and_a_disabled_user_count_at_once(cluster: ApiCluster) -> None:
    """They were taken for another half a minute."""
    ann = User.objects.create_user("ann", password="the first secret")
    PEOPLE.admit(asked("ann", "the first secret"), "read", "t")
    ann.set_password("the second secret")
    ann.save()
    with pytest.raises(NotAuthenticated):
        PEOPLE.admit(asked("ann", "the first secret"), "read", "t")
    PEOPLE.admit(asked("ann", "the second secret"), "read", "t")
    User.objects.update(is_active=False)
    with pytest.raises(NotAuthenticated):
        PEOPLE.admit(asked("ann", "the second secret"), "read", "t")


def test_refusals_are_on_record(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "_window", refusals.Window())
    User.objects.create_user("ann", password="a long enough secret")
    with pytest.raises(NotAuthenticated):
        PEOPLE.admit(asked("ann", "wrong"), "read", "t")
    with pytest.raises(Forbidden):
        PEOPLE.admit(asked("ann", "a long enough secret"), "operate", "t")
    forbidden, wrong = AuditEvent.objects.filter(outcome="refused", action="access").order_by("-id")[:2]
    assert (wrong.actor, wrong.detail["user"], wrong.target) == ("anonymous", "ann", "/segments/t_OFFLINE/a/upload")
    assert (forbidden.actor, "operate table 't'" in forbidden.detail["error"]) == ("ann", True)


def test_guessing_at_a_servers_port_is_slowed_down_before_a_hash_is_computed(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create_user("ann", password="a long enough secret")
    checks: list[str] = []
    monkeypatch.setattr(User, "check_password", lambda self, raw: bool(checks.append(raw)))

    def guess(number: int) -> type[Exception]:
        with pytest.raises((NotAuthenticated, TooManyRequests)) as caught:
            PEOPLE.admit(asked("ann", f"guess {number}"), "read", "t")
        return caught.type

    outcomes = [guess(number) for number in range(12)]
    assert outcomes[-1] is TooManyRequests
    assert len(checks) == outcomes.count(outcomes[0]) < 12


def test_a_database_that_does_not_answer_is_reported_unreachable(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(sign_in, "user_named", fail)
    with pytest.raises(Unavailable, match="cannot be read now"):
        PEOPLE.admit(asked("ann", "x"), "read", "t")


def test_what_is_no_password_is_refused(cluster: ApiCluster) -> None:
    for header in ("Basic !!", "Digest x", "Bearer x", ""):
        with pytest.raises(NotAuthenticated):
            PEOPLE.admit(Asked(header, "192.0.2.7", "GET", "/tables"), "read", "t")
