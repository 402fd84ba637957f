"""Slows down guessing: counts attempts to sign in before anything slow is computed, refuses with 429 and puts lockouts
on record.

Counted are real checks of a password and wrong tokens. Who is signed in by a session, whose credentials are remembered
by this process or whose token is right never comes here, so nobody who is in is thrown out by somebody else's guessing.
Attempts from an address that the user signed in from before do not count as attempts from anywhere: an attacker
elsewhere cannot keep a user out there.
"""

from __future__ import annotations

import hashlib
import logging
from typing import Any, Final, NoReturn

from django.conf import settings
from django.contrib.auth import get_user_model

from segments.domain.access.sign_in_limits import (
    ADDRESS,
    KNOWN_ADDRESS_S,
    MINUTE,
    PAIR,
    USER,
    Kind,
    Window,
    address_group,
)
from segments.errors import TooManyRequests
from segments.gateways import attempt_counters
from segments.gateways.attempt_counters import AttemptCounters
from segments.services.core import audit
from segments.services.core.context import Actor

log = logging.getLogger(__name__)
#: Name of a lockout in the audit record.
LOCKED: Final = "signInLocked"
#: So many lockouts are on record in this time: who guesses everywhere does not fill the audit record.
_RECORDED_S: Final = 15 * MINUTE
_RECORDED_MOST: Final = 40
#: In the place of a user's name where a token is guessed.
TOKENS: Final = "\0token"


class SignInThrottle:
    """Limits of all who sign in, over shared counters."""

    def __init__(self, counters: AttemptCounters) -> None:
        self._counters = counters

    def admit(self, user: str, address: str) -> None:
        """Count one attempt, before it is checked. TooManyRequests with ``retry_after_s`` when there were too many.

        A refused attempt does not count: a program that goes on with an old password stops only itself, not its whole
        address.
        """
        counters = [
            (kind, window, _counter(kind, window, key))
            for kind, key in self._keys(user, address)
            for window in kind.windows
        ]
        for kind, window, counter in counters:
            if self._counters.read(counter) >= window.attempts:
                self._refuse(kind, window, counter, user, address)
        for kind, window, counter in counters:
            if self._counters.add(counter, window.seconds) > window.attempts:  # others came at the same moment
                self._refuse(kind, window, counter, user, address)

    def succeeded(self, user: str, address: str) -> None:
        """The attempt was right: it does not count, the pair begins from nothing, and the address is known for this
        user.
        """
        for kind, key in self._keys(user, address):
            for window in kind.windows:
                counter = _counter(kind, window, key)
                if kind is PAIR:
                    self._counters.clear(counter)
                else:
                    self._counters.add(counter, window.seconds, -1)
        known = _known(user, address)
        self._counters.clear(known)
        self._counters.add(known, KNOWN_ADDRESS_S)

    def _keys(self, user: str, address: str) -> list[tuple[Kind, str]]:
        """What the attempt counts for."""
        group = address_group(address)
        found = [(ADDRESS, _hashed(group)), (PAIR, _hashed(user, group))]
        if user != TOKENS and not self._counters.read(_known(user, address)):
            found.append((USER, _hashed(user)))
        return found

    def _refuse(self, kind: Kind, window: Window, counter: str, user: str, address: str) -> NoReturn:
        wait_s = self._counters.ends_in_s(counter)
        self._record(kind, window, counter, user, address, wait_s)
        again = f"Try again in {wait_s} second{'s' if wait_s != 1 else ''}."
        raise TooManyRequests("There were too many attempts to sign in.", remedy=again, retry_after_s=wait_s)

    def _record(self, kind: Kind, window: Window, counter: str, user: str, address: str, wait_s: int) -> None:
        """Each lockout once, and of all of them only so many: a record for each attempt would be a way to fill the
        disk.
        """
        if (
            self._counters.add(f"recorded {counter}", window.seconds) > 1
            or self._counters.add("recorded", _RECORDED_S) > _RECORDED_MOST
        ):
            return
        try:
            who = "a token" if user == TOKENS else _name_of_user(user)
            detail: dict[str, Any] = {"by": kind.name, "attempts": window.attempts, "withinSeconds": window.seconds}
            audit.record(
                Actor("anonymous", "", address),
                LOCKED,
                target=who,
                outcome="refused",
                **detail,
                user=who,
                retryAfterSeconds=wait_s,
            )
        except Exception:
            log.exception("A lockout could not be recorded.")


def throttle() -> SignInThrottle:
    """The one of this installation: its processes count together."""
    return SignInThrottle(attempt_counters.shared(settings.REDIS_URL))


def _counter(kind: Kind, window: Window, key: str) -> str:
    return f"{kind.name} {window.seconds} {key}"


def _known(user: str, address: str) -> str:
    return f"known {_hashed(user, address_group(address))}"


def _hashed(*parts: str) -> str:
    """People type passwords into the field of the name: what was typed is not kept."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return hashlib.sha256(b"".join(len(part).to_bytes(4, "big") + part for part in encoded)).hexdigest()[:32]


def _name_of_user(name: str) -> str:
    """The name when it is one of a user, else nothing, for the same reason."""
    typed = name[:150]
    return typed if get_user_model().objects.filter(username=typed).exists() else ""
