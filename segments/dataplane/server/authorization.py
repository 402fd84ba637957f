"""Who may talk to a server: processes with the cluster's secret, and people whose password an outside check accepts."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Callable
from typing import Final

from segments.domain.basic_auth import parse_basic

#: (user, password) -> may this person use the servers? Given from outside: passwords live in the web application.
PasswordCheck = Callable[[str, str], bool]

#: Seconds for which an accepted password is not checked again (a check is slow by design), and how many are remembered.
_REMEMBER_S: Final = 30.0
_REMEMBER_MOST: Final = 1000


class Authorization:
    """Checks ``Authorization`` headers. Without a secret no bearer token is right; without a check no password is."""

    def __init__(self, secret: str, check_password: PasswordCheck | None = None) -> None:
        self._secret = secret.encode()
        self._check_password = check_password
        self._lock = threading.Lock()
        self._accepted: dict[bytes, float] = {}

    def is_cluster(self, header: str) -> bool:
        """Is it the cluster's own secret? Fast."""
        kind, _, token = header.partition(" ")
        return kind.lower() == "bearer" and bool(self._secret) and hmac.compare_digest(token.strip().encode(), self._secret)

    def is_person(self, header: str) -> bool:
        """Is it a right user and password? May be slow; not for the event loop."""
        kind, _, token = header.partition(" ")
        if kind.lower() != "basic" or self._check_password is None:
            return False
        digest = hashlib.sha256(token.strip().encode()).digest()
        if self._is_remembered(digest):
            return True
        found = parse_basic(token)
        if found is None or not self._check_password(*found):
            return False
        with self._lock:
            if len(self._accepted) >= _REMEMBER_MOST:
                self._accepted.clear()
            self._accepted[digest] = time.monotonic() + _REMEMBER_S
        return True

    def _is_remembered(self, digest: bytes) -> bool:
        with self._lock:
            return self._accepted.get(digest, 0.0) > time.monotonic()
