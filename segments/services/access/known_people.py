"""People who queried lately, for queries while the database does not answer: who they are and what they may read.

The database is asked, always. Only when it does not answer, what it said last counts, for so long as the setting
``PEOPLE_REMEMBERED_S`` says and for queries alone. Whom this process does not know yet waits for the database.
"""

from __future__ import annotations

import copy
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from django.conf import settings
from django.db import connection

from segments.gateways.timer import TIMER, Timer
from segments.services.core.database_faults import UNREACHABLE, unavailable

log = logging.getLogger(__name__)

#: People that are remembered at most; who asked longest ago is forgotten first.
_MOST: Final = 1_000
#: Seconds for which a database that did not answer is not waited for again by people who are known.
_PAUSE_S: Final = 2.0
_KEY, _MARK = "_asked_with", "_is_remembered"


def _ask_database() -> None:
    """Raises what the database raises when it does not answer. For a thread of its own."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()


class KnownPeople:
    """Safe to use from several threads. ``timer`` gives seconds, ``probe`` raises while the database does not
    answer.
    """

    def __init__(self, timer: Timer = TIMER, probe: Callable[[], None] = _ask_database) -> None:
        self._timer, self._probe = timer, probe
        self._lock = threading.Lock()
        #: What is kept of credentials cannot be tried for a password: the key is this process' alone.
        self._secret = secrets.token_bytes(32)
        self._seen: OrderedDict[bytes, tuple[float, Any]] = OrderedDict()
        self._is_down = self._is_probed = False

    def ask(self, credentials: str, find: Callable[[], Any]) -> Any:
        """The user that ``find`` gives for these credentials; while the database does not answer, the one that was kept
        for them, marked as remembered. Unavailable for people who are not known; what else ``find`` raises is raised,
        and forgets them.
        """
        key = blake2b(credentials.encode("utf-8", "surrogatepass"), digest_size=16, key=self._secret).digest()
        if self._is_down and (known := self._known(key)) is not None:
            return known
        try:
            user = find()
        except UNREACHABLE as error:
            self._watch()
            if (known := self._known(key)) is None:
                raise unavailable() from error
            return known
        except Exception:
            with self._lock:
                self._seen.pop(key, None)
            raise
        setattr(user, _KEY, key)
        return user

    def keep(self, user: Any) -> None:
        """They may query: remember them, with the rights that were read for it."""
        key = getattr(user, _KEY, None)
        if key is None or is_remembered(user):
            return
        with self._lock:
            self._seen[key] = self._timer.seconds(), user
            self._seen.move_to_end(key)
            while len(self._seen) > _MOST:
                self._seen.popitem(last=False)

    def _known(self, key: bytes) -> Any:
        with self._lock:
            at, user = self._seen.get(key, (0.0, None))
        if user is None or self._timer.seconds() - at > float(settings.PEOPLE_REMEMBERED_S):
            return None
        known = copy.copy(user)
        setattr(known, _MARK, True)
        return known

    def _watch(self) -> None:
        """Until it answers, one thread asks the database, so that no query waits for a host that is gone."""
        with self._lock:
            self._is_down = True
            if self._is_probed:
                return
            self._is_probed = True
        threading.Thread(target=self._until_back, name="database-watch", daemon=True).start()

    def _until_back(self) -> None:
        while self._is_down:
            self._timer.pause(_PAUSE_S)
            try:
                self._probe()
            except UNREACHABLE:
                continue
            except Exception:
                log.exception("The database answers, and is asked again.")
            with self._lock:
                self._is_down = self._is_probed = False


def is_remembered(user: Any) -> bool:
    """Is it somebody whom the database was not asked about now?"""
    return bool(getattr(user, _MARK, False))


@lru_cache(maxsize=1)
def known_people() -> KnownPeople:
    """Those of this process."""
    return KnownPeople()
