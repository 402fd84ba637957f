"""While the database does not answer: queries of people who are known go on, everything else is 503 and never 500."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DataError, OperationalError
from django.test import Client

from segments.gateways.timer import Timer
from segments.services.access import known_people as module
from segments.services.access.known_people import KnownPeople
from tests.api.cluster import ApiCluster, basic

QUERY = "/query/sql?sql=select+1+from+t"


class Away:
    """A database that is there until ``go``, and a clock."""

    def __init__(self) -> None:
        self.is_away, self.now = False, 0.0
        self.back = threading.Event()
        self.people = KnownPeople(Timer(lambda: self.now, lambda _: self.back.wait() and None), self._probe)

    def _probe(self) -> None:
        self.is_away = False

    def fail(self, *_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Away()
    monkeypatch.setattr("segments.api.authentication.known_people", lambda: made.people)
    monkeypatch.setattr("segments.api.permissions.known_people", lambda: made.people)
    yield made
    made.back.set()


@pytest.fixture
def go(away: Away, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def gone() -> None:
        away.is_away = True
        for name in ("user_named", "find_token_user"):
            monkeypatch.setattr(f"segments.services.access.sign_in.{name}", away.fail)
        monkeypatch.setattr("segments.services.access.rights.Grant.objects.filter", away.fail)

    return gone


@pytest.fixture
def ann(cluster: ApiCluster) -> Client:
    User.objects.create_user("ann", password="a long enough secret")
    return Client(headers={"Authorization": basic("ann", "a long enough secret")}, raise_request_exception=False)


def test_queries_of_people_who_are_known_go_on(
    cluster: ApiCluster, ann: Client, go: Callable[[], None], settings: Any
) -> None:
    assert ann.get(QUERY).status_code == 200
    go()
    assert [ann.get(QUERY).status_code for _ in range(3)] == [200] * 3
    stranger = Client(headers={"Authorization": basic("ann", "another secret")})
    for answer in (ann.get("/tables"), ann.get("/schemas"), stranger.get(QUERY)):
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "database does not answer" in answer.json()["error"]


def test_they_are_known_for_a_bounded_time(
    cluster: ApiCluster, ann: Client, away: Away, go: Callable[[], None], settings: Any
) -> None:
    settings.PEOPLE_REMEMBERED_S = 60
    assert ann.get(QUERY).status_code == 200
    go()
    away.now = 61.0
    assert ann.get(QUERY).status_code == 503


def test_who_never_queried_is_not_known(cluster: ApiCluster, ann: Client, go: Callable[[], None]) -> None:
    assert ann.get("/tables").status_code == 200
    go()
    assert ann.get(QUERY).status_code == 503


def test_a_wrong_password_forgets_nobody_else_and_is_never_known(
    cluster: ApiCluster, ann: Client, go: Callable[[], None]
) -> None:
    assert ann.get(QUERY).status_code == 200
    wrong = Client(headers={"Authorization": basic("ann", "a wrong secret")})
    assert wrong.get(QUERY).status_code == 401
    go()
    assert (ann.get(QUERY).status_code, wrong.get(QUERY).status_code) == (200, 503)


def test_whoever_lost_the_right_is_forgotten(cluster: ApiCluster, ann: Client, go: Callable[[], None]) -> None:
    assert ann.get(QUERY).status_code == 200
    User.objects.filter(username="ann").update(is_active=False)
    assert ann.get(QUERY).status_code == 401
    go()
    assert ann.get(QUERY).status_code == 503


def test_the_grants_of_a_query_are_remembered_with_it(
    cluster: ApiCluster, ann: Client, go: Callable[[], None], settings: Any
) -> None:
    from segments.models import Grant

    settings.READ_BY_GRANT = True
    Grant.objects.create(user=User.objects.get(username="ann"), cluster="pinotadmin", tables="t", right="read")
    assert ann.get(QUERY).status_code == 200
    go()
    assert ann.get(QUERY).status_code == 200
    assert ann.get("/query/sql?sql=select+1+from+other").status_code == 403


def test_the_database_is_asked_again_once_it_answers(
    cluster: ApiCluster, ann: Client, away: Away, go: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ann.get(QUERY).status_code == 200
    go()
    assert ann.get(QUERY).status_code == 200
    monkeypatch.undo()
    away.back.set()
    assert ann.get("/tables").status_code == 200


def test_a_page_says_so_too_and_a_value_that_cannot_be_kept_is_400(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.ROOT_URLCONF = "pinotadmin.urls"
    browser = Client(headers={"Accept": "text/html"}, raise_request_exception=False)
    for error, status, words in (
        (OperationalError("gone"), 503, "The database does not answer now."),
        (DataError("too long"), 400, "holds a value that cannot be kept"),
    ):

        def fail(*_: Any, raised: Exception = error, **__: Any) -> None:
            raise raised

        monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", fail)
        browser.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
        answer = browser.get("/console/pushes/")
        assert answer.status_code == status
        assert words in answer.content.decode()


def test_nobody_is_known_by_another_key() -> None:
    assert module.known_people() is module.known_people()
