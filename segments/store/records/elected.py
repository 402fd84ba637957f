"""One of several processes that may do something: it has an ephemeral znode; another takes over when that goes."""

from __future__ import annotations

import os
import socket

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.records.instances import is_running


class Elected:
    """``role`` is what only one does, ``process`` says who this is (pid@host). A process that dies loses its session,
    and with it the role, after the session timeout; to another one of its host at once.
    """

    def __init__(self, store: Store, role: str, process: str) -> None:
        self._store, self._role, self._process = store, role, process

    def is_mine(self) -> bool:
        """Has this process the role now? It is taken when nobody has it. Unavailable when that is not known."""
        path, session = paths.elected(self._role), self._store.session_id()
        found = self._store.get(path)
        if found is not None and found.record is not None and found.record.simple.get("SESSION_ID") == session:
            return True
        if found is not None and not self._is_over(found):
            return False
        try:
            if found is not None:
                self._store.delete(path, found.version)
            fields = {"PROCESS": self._process, "SESSION_ID": session, "NAMESPACE": _namespace()}
            self._store.create(path, ZNRecord(self._role, fields), ephemeral=True)
        except (Conflict, OutcomeUnknown):
            return False  # asked again by the caller
        return True

    def _is_over(self, found: Versioned) -> bool:
        """Was it a process of this host that is gone, or this one itself? Its session need not be waited for. When a
        session ends while the znode is made, it is made in the next session and names the one before: nobody's, for as
        long as this process lives.
        """
        simple = found.record.simple if found.record else {}
        is_own = simple.get("PROCESS") == self._process and simple.get("NAMESPACE") == _namespace()
        return is_own or _is_dead(found)

    def holder(self) -> str:
        """Who has it (pid@host); empty: nobody."""
        found = self._store.get(paths.elected(self._role))
        return found.record.simple.get("PROCESS", "") if found and found.record else ""

    def leave(self) -> None:
        """Give it up, when it is this process's."""
        if self.is_mine():
            self._store.delete(paths.elected(self._role))


def _is_dead(found: Versioned) -> bool:
    """Was it a process of this host that is gone?"""
    simple = found.record.simple if found.record else {}
    pid, _, host = simple.get("PROCESS", "").partition("@")
    is_here = host == socket.gethostname() and simple.get("NAMESPACE") == _namespace()
    return is_here and pid.isdigit() and not is_running(int(pid))


def _namespace() -> str:
    """In which pids are counted: containers of one host name may have several."""
    try:
        return str(os.readlink("/proc/self/ns/pid"))
    except OSError:
        return f"none of {os.getpid()}"  # never another one's: nothing is known of other processes


def elected_here(store: Store, role: str) -> Elected:
    """For this process."""
    return Elected(store, role, f"{os.getpid()}@{socket.gethostname()}")
