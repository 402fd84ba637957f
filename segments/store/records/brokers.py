"""Brokers that may answer queries: noted before they are live, struck off when they leave or are lost for too long.

A broker that loses its session goes on answering from what it knew. Its note outlives the session, so that a switch can
wait for it (rule `acknowledged-switch`).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from dataclasses import dataclass

from segments.domain.formats.znrecord import ZNRecord
from segments.store import paths
from segments.store.base import Store
from segments.store.records.instances import is_running
from segments.store.update import update_record


@dataclass(frozen=True)
class NotedBroker:
    """A note: ``process`` is pid@host of the broker, ``version`` that of the note."""

    broker: str
    process: str
    version: int

    @property
    def is_dead(self) -> bool:
        """Did it run on this machine, and does no more? Of other machines nothing is known."""
        pid, _, host = self.process.partition("@")
        return host == socket.gethostname() and pid.isdigit() and not is_running(int(pid))


def note_broker(store: Store, broker: str) -> None:
    """Say that this broker, of this process and session, answers queries from now on. Raises what the store raises."""
    process = f"{os.getpid()}@{socket.gethostname()}"
    record = ZNRecord(broker, {"process": process, "session": store.session_id()})
    update_record(store, paths.broker(broker), lambda found: record)


def strike_off(store: Store, broker: str, version: int | None = None) -> None:
    """It answers no more, or is not waited for any longer. Conflict when it was noted again after ``version``."""
    store.delete(paths.broker(broker), version)


def lost_brokers(store: Store, live: Collection[str], noted: Collection[str]) -> list[NotedBroker]:
    """Those of the ``noted`` brokers that are not ``live``: each lost its session, or its process died."""
    names = [name for name in noted if name not in live]
    nodes = store.get_many([paths.broker(name) for name in names]) if names else []
    return [
        NotedBroker(name, node.record.simple.get("process", ""), node.version)
        for name, node in zip(names, nodes, strict=True)
        if node is not None and node.record is not None
    ]
