"""Remembers which passwords were right, so that the slow check of one happens once for all who ask with it at the same
moment.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Callable
from typing import Final

from segments.gateways.timer import TIMER

#: Seconds without use after which a password is checked again. What is remembered is bound to the user's password hash,
#: which is read on every request: a changed password does not wait for this.
_UNUSED_S: Final = 600.0
_MOST: Final = 1000
_TURNS: Final = 64


class CheckedPasswords:
    """Right passwords as HMACs under a secret of this process, each with the stored hash it was right for. Wrong ones
    are never kept.
    """

    def __init__(self, unused_s: float = _UNUSED_S, clock: Callable[[], float] = TIMER.seconds) -> None:
        self._unused_s, self._clock = unused_s, clock
        self._secret = os.urandom(32)
        self._lock = threading.Lock()
        self._until: dict[bytes, float] = {}
        self._turns = [threading.Lock() for _ in range(_TURNS)]

    def is_right(self, user: str, password: str, stored: str, check: Callable[[], str | None]) -> bool:
        """Is it remembered for this stored hash, or does ``check`` accept it? ``check`` returns the stored hash
        afterwards, which it may have upgraded, or None. Of several who ask the same at once one checks and the others
        wait for it: PBKDF2 takes 100 ms of a core and more by design, and with all readers of a dashboard at once their
        queries would stand still.
        """
        key = self._key(user, password, stored)
        if self._is_remembered(key):
            return True
        with self._turns[key[0] % _TURNS]:
            if self._is_remembered(key):
                return True
            now_stored = check()
            if now_stored is None:
                return False
            self._remember(key, self._key(user, password, now_stored))
        return True

    def __len__(self) -> int:
        """How many are remembered, those among them that were not used for too long."""
        return len(self._until)

    def _is_remembered(self, key: bytes) -> bool:
        with self._lock:
            now = self._clock()
            if self._until.get(key, 0.0) <= now:
                return False
            self._until[key] = now + self._unused_s
            return True

    def _remember(self, *keys: bytes) -> None:
        with self._lock:
            now = self._clock()
            if len(self._until) >= _MOST:
                self._until = {k: u for k, u in self._until.items() if u > now}
            if len(self._until) >= _MOST:
                self._until.clear()
            self._until.update(dict.fromkeys(keys, now + self._unused_s))

    def _key(self, user: str, password: str, stored: str) -> bytes:
        parts = (user.encode(), password.encode(), stored.encode())
        message = b"".join(len(p).to_bytes(4, "big") + p for p in parts)
        return hmac.new(self._secret, message, hashlib.sha256).digest()
