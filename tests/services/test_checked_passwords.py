"""The slow check of a password happens once for all who ask at the same moment, and again only after it was not used
for long.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from segments.services.access.checked_passwords import CheckedPasswords


class Check:
    """A check that counts; accepts ``right`` and leaves ``stored_after`` as the user's hash."""

    def __init__(self, right: str = "right", stored_after: str = "hash") -> None:
        self.right, self.stored_after, self.count = right, stored_after, 0

    def ask(self, passwords: CheckedPasswords, password: str = "right", stored: str = "hash") -> bool:
        def check() -> str | None:
            self.count += 1
            return self.stored_after if password == self.right else None

        return passwords.is_right("ann", password, stored, check)


class Clock:
    """Seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_readers_that_come_at_once_cost_one_check() -> None:
    passwords, entered, go_on = CheckedPasswords(), threading.Event(), threading.Event()
    checks: list[str] = []

    def slow() -> str:
        checks.append("check")
        entered.set()
        assert go_on.wait(30)
        return "hash"

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(passwords.is_right, "ann", "right", "hash", slow)
        assert entered.wait(30)
        others = [pool.submit(passwords.is_right, "ann", "right", "hash", slow) for _ in range(7)]
        go_on.set()
        assert [f.result(30) for f in (first, *others)] == [True] * 8
    assert checks == ["check"]


def test_what_is_in_use_is_not_checked_again_and_what_was_not_used_for_long_is(clock: Clock) -> None:
    passwords, check = CheckedPasswords(unused_s=600, clock=clock), Check()
    for _ in range(10):
        assert check.ask(passwords)
        clock.now += 599
    assert check.count == 1
    clock.now += 2
    assert check.ask(passwords)
    assert check.count == 2


def test_a_changed_password_counts_at_once() -> None:
    passwords, check = CheckedPasswords(), Check()
    assert check.ask(passwords)
    check.right = "another"
    assert not check.ask(passwords, stored="hash of another")
    assert check.count == 2


def test_a_wrong_password_is_checked_every_time_and_not_kept() -> None:
    passwords, check = CheckedPasswords(), Check()
    assert not check.ask(passwords, "wrong")
    assert not check.ask(passwords, "wrong")
    assert (check.count, len(passwords)) == (2, 0)


def test_a_hash_that_the_check_upgrades_is_remembered_old_and_new() -> None:
    passwords, check = CheckedPasswords(), Check(stored_after="stronger hash")
    assert check.ask(passwords)
    assert check.ask(passwords, stored="stronger hash")
    assert check.ask(passwords), "one that waited while the first was checked asks with the old hash"
    assert check.count == 1


def test_what_is_remembered_stays_bounded(clock: Clock) -> None:
    passwords = CheckedPasswords(clock=clock)
    for number in range(2500):
        passwords.is_right("ann", f"p{number}", "hash", lambda: "hash")
    assert len(passwords) <= 1000
