"""One of several processes that may do something: it has an ephemeral znode; another takes over when that goes."""

from __future__ import annotations

import os
import socket

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown
from segments.store import paths
from segments.store.base import Store


class Elected:
    """``role`` is what only one does, ``process`` says who this is (pid@host). A process that dies loses its session,
    and with it the role, after the session timeout.
    """

    def __init__(self, store: Store, role: str, process: str) -> None:
        self._store, self._role, self._process = store, role, process

    def is_mine(self) -> bool:
        """Has this process the role now? It is taken when nobody has it. Unavailable when that is not known."""
        path, session = paths.elected(self._role), self._store.session_id()
        found = self._store.get(path)
        if found is None:
            try:
                mine = ZNRecord(self._role, {"PROCESS": self._process, "SESSION_ID": session})
                self._store.create(path, mine, ephemeral=True)
            except (Conflict, OutcomeUnknown):
                return False  # asked again by the caller
            return True
        return found.record is not None and found.record.simple.get("SESSION_ID") == session

    def holder(self) -> str:
        """Who has it (pid@host); empty: nobody."""
        found = self._store.get(paths.elected(self._role))
        return found.record.simple.get("PROCESS", "") if found and found.record else ""

    def leave(self) -> None:
        """Give it up, when it is this process's."""
        if self.is_mine():
            self._store.delete(paths.elected(self._role))


def elected_here(store: Store, role: str) -> Elected:
    """For this process."""
    return Elected(store, role, f"{os.getpid()}@{socket.gethostname()}")
