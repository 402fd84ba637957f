"""Guessing passwords is slowed down before anything slow is computed, and never throws out somebody who is in."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from limits.storage import MemoryStorage
from redis import ConnectionError as RedisConnectionError

from segments.domain.access.sign_in_limits import ADDRESS, PAIR, USER, address_group
from segments.errors import TooManyRequests
from segments.gateways.attempt_counters import AttemptCounters
from segments.models import AuditEvent
from segments.services.access.sign_in_throttle import TOKENS, SignInThrottle
from tests.api.cluster import ApiCluster, basic

RIGHT = "a long enough secret"
MOST = PAIR.windows[0].attempts
HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every password that was really hashed."""
    hashed: list[str] = []
    check, make = User.check_password, User.set_password
    monkeypatch.setattr(User, "check_password", lambda user, raw: hashed.append(raw) or check(user, raw))
    monkeypatch.setattr(User, "set_password", lambda user, raw: hashed.append(raw) or make(user, raw))
    return hashed


def ask(name: str, password: str, address: str = HERE, path: str = "/tables") -> Any:
    return Client(headers={"Authorization": basic(name, password)}, REMOTE_ADDR=address).get(path)


def form(path: str, name: str, password: str, address: str = HERE) -> Any:
    return Client(REMOTE_ADDR=address).post(path, {"username": name, "password": password})


@pytest.mark.parametrize("name", ["ann", "nobody of this name"])
def test_after_some_wrong_passwords_the_next_is_refused_unchecked_and_says_when_to_come_back(
    cluster: ApiCluster, checks: list[str], name: str
) -> None:
    cluster.as_user("ann")
    checks.clear()
    assert [ask(name, f"wrong {n}").status_code for n in range(MOST)] == [401] * MOST
    assert len(checks) == MOST
    refused = ask(name, RIGHT)
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 61
    assert "too many attempts" in refused.json()["error"].lower()
    assert len(checks) == MOST, "nothing slow was computed"


@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
def test_the_forms_of_console_and_admin_are_slowed_down_by_the_same_counters(
    cluster: ApiCluster, checks: list[str], path: str
) -> None:
    cluster.as_user("ann")
    checks.clear()
    for number in range(MOST - 1):
        ask("ann", f"wrong {number}")
    form(path, "ann", "wrong")
    refused = form(path, "ann", RIGHT)
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 61
    assert "Try again in" in refused.content.decode()
    assert len(checks) == MOST


def test_one_who_is_in_stays_in_while_others_guess(cluster: ApiCluster) -> None:
    cluster.as_user("ann")
    browser = Client(REMOTE_ADDR=HERE)
    assert browser.login(username="ann", password=RIGHT)
    assert ask("ann", RIGHT, HERE).status_code == 200
    for number in range(MOST + 3):
        last = ask("ann", f"wrong {number}", HERE)
    assert last.status_code == 429
    assert ask("ann", RIGHT, HERE).status_code == 200, "this process remembers that it is right"
    assert browser.get("/tables").status_code == 200


def test_who_guesses_from_many_places_does_not_lock_out_a_user_where_that_user_was_before(
    cluster: ApiCluster, attempts: AttemptCounters
) -> None:
    throttle = SignInThrottle(attempts)
    throttle.admit("ann", HERE)
    throttle.succeeded("ann", HERE)
    with pytest.raises(TooManyRequests):
        for number in range(USER.windows[0].attempts + 1):
            throttle.admit("ann", f"203.0.113.{number}")
    throttle.admit("ann", HERE)
    with pytest.raises(TooManyRequests):
        throttle.admit("ann", ELSEWHERE)
    throttle.admit("ben", ELSEWHERE)


def test_one_address_cannot_try_many_users(attempts: AttemptCounters, db: None) -> None:
    throttle = SignInThrottle(attempts)
    for number in range(ADDRESS.windows[0].attempts):
        throttle.admit(f"user {number}", HERE)
    with pytest.raises(TooManyRequests):
        throttle.admit("one more", HERE)
    throttle.admit("one more", ELSEWHERE)


def test_one_program_with_an_old_password_does_not_stop_its_whole_address(attempts: AttemptCounters, db: None) -> None:
    throttle = SignInThrottle(attempts)
    for _ in range(10 * ADDRESS.windows[0].attempts):
        try:
            throttle.admit("old", HERE)
        except TooManyRequests:
            continue
    throttle.admit("ann", HERE)


def test_right_passwords_do_not_use_up_attempts(attempts: AttemptCounters) -> None:
    throttle = SignInThrottle(attempts)
    for _ in range(10 * ADDRESS.windows[0].attempts):
        throttle.admit("ann", HERE)
        throttle.succeeded("ann", HERE)


def test_the_wait_grows_but_never_beyond_an_hour(
    attempts: AttemptCounters, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    throttle, waits, now = SignInThrottle(attempts), [], [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    for _ in range(200):
        try:
            throttle.admit("ann", HERE)
        except TooManyRequests as refused:
            waits.append(refused.data["retry_after_s"])
            now[0] += refused.data["retry_after_s"]
    assert waits[0] <= 61
    assert max(waits[:10]) > 600
    assert max(waits) <= 3601


def test_an_ipv6_network_of_one_customer_counts_as_one_address() -> None:
    assert address_group("2001:db8:1:2::5") == address_group("2001:db8:1:2:ffff::9")
    assert address_group("2001:db8:1:2::5") != address_group("2001:db8:1:3::5")
    assert address_group("::ffff:192.0.2.1") == address_group("192.0.2.1") == "192.0.2.1"
    assert address_group("testclient") == "testclient"


def test_a_lockout_is_on_record_once_and_many_lockouts_do_not_fill_the_record(
    cluster: ApiCluster, attempts: AttemptCounters
) -> None:
    cluster.as_user("ann")
    for number in range(MOST + 10):
        ask("ann", f"wrong {number}", ELSEWHERE)
    event = AuditEvent.objects.get(action="signInLocked")
    assert (event.target, event.address, event.outcome) == ("ann", ELSEWHERE, "refused")
    assert event.detail["by"] == "user and address"
    throttle = SignInThrottle(attempts)
    for place in range(100):
        for _ in range(MOST + 1):
            try:
                throttle.admit(f"a secret in the wrong field {place}", f"203.0.113.{place}")
            except TooManyRequests:
                continue
    locked = AuditEvent.objects.filter(action="signInLocked")
    assert locked.count() <= 40
    assert "secret" not in "".join(e.target + str(e.detail) for e in locked)


def test_tokens_are_counted_by_address_and_not_by_user(attempts: AttemptCounters, db: None) -> None:
    throttle = SignInThrottle(attempts)
    with pytest.raises(TooManyRequests):
        for _ in range(MOST + 1):
            throttle.admit(TOKENS, HERE)
    throttle.admit(TOKENS, ELSEWHERE)


def test_without_redis_each_process_counts_alone_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = AttemptCounters("redis://127.0.0.1:1/0")
    assert [counters.add("k", 60) for _ in range(3)] == [1, 2, 3]
    assert counters.read("k") == 3
    assert 1 <= counters.ends_in_s("k") <= 61
    counters.clear("k")
    assert counters.read("k") == 0


class Flaky(MemoryStorage):
    """A Redis that can be down."""

    def __init__(self, uri: str = "", **_: Any) -> None:
        super().__init__()
        self.is_down, self.asked = False, 0

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        self.asked += 1
        if self.is_down:
            raise RedisConnectionError("down")
        return super().incr(key, expiry, amount)


def test_a_redis_that_goes_down_is_left_alone_for_a_while_and_used_again_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flaky, now = Flaky(), [0.0]
    monkeypatch.setattr("segments.gateways.attempt_counters.RedisStorage", lambda *_, **__: flaky)
    counters = AttemptCounters("redis://somewhere", clock=lambda: now[0])
    assert counters.add("k", 60) == 1
    flaky.is_down = True
    assert [counters.add("k", 60), counters.add("k", 60)] == [1, 2], "never open: this process goes on counting"
    assert flaky.asked == 2, "it is not asked, and waited for, each time"
    flaky.is_down, now[0] = False, 6.0
    assert counters.add("k", 60) == 2


def test_guessing_the_old_password_of_an_own_session_is_slowed_down_too(cluster: ApiCluster, checks: list[str]) -> None:
    cluster.as_user("ann")
    User.objects.filter(username="ann").update(is_staff=True)
    client = Client(REMOTE_ADDR=HERE)
    client.force_login(User.objects.get(username="ann"))
    checks.clear()

    def change(old: str) -> Any:
        new = "quite another long secret"
        return client.post("/admin/password_change/", {"old_password": old, "new_password1": new, "new_password2": new})

    assert client.get("/admin/password_change/").status_code == 200
    assert [change(f"wrong {n}").status_code for n in range(MOST)] == [200] * MOST
    assert (change(RIGHT).status_code, len(checks)) == (429, MOST)
    assert AuditEvent.objects.filter(action="signInLocked").count() == 1
    assert ask("ann", RIGHT).status_code == 429, "the same counters as everywhere"
    other = Client(REMOTE_ADDR=ELSEWHERE)
    other.force_login(User.objects.get(username="ann"))
    new = {"new_password1": "quite another long secret", "new_password2": "quite another long secret"}
    assert (
        other.post("/admin/password_change/", {"old_password": RIGHT, **new}).headers["Location"]
        == "/admin/password_change/done/"
    )


def test_the_page_of_ones_own_password_is_for_staff(cluster: ApiCluster) -> None:
    cluster.as_user("ann")
    client = Client()
    client.force_login(User.objects.get(username="ann"))
    assert client.get("/admin/password_change/").headers["Location"].startswith("/admin/login/")
