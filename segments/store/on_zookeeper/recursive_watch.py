"""Persistent recursive watches (ZooKeeper 3.6+) for kazoo 2.11, which knows one-shot watches only.

One such watch reports every create, write and delete at and below a path, in order and without gaps, until the
connection ends; a watch per znode would cost a read of each. kazoo needs three things added: the request, the request
that ends it, and a reader of events that asks no table of one-shot watches. The server forgets the watch with the
connection: whoever added it adds it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from kazoo.client import KazooClient
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Watch, int_struct, write_string

_PERSISTENT_RECURSIVE = 1
_ANY_WATCHER = 3


@dataclass(frozen=True)
class AddWatch:
    """Request 106: watch ``path`` and all below it."""

    path: str
    type: ClassVar[int] = 106

    def serialize(self) -> bytearray:
        """Wire form: path, mode."""
        return bytearray(write_string(self.path) + int_struct.pack(_PERSISTENT_RECURSIVE))

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> bool:
        """The reply has no body that matters."""
        return True


@dataclass(frozen=True)
class RemoveWatches:
    """Request 18: end every watch of this connection on ``path``."""

    path: str
    type: ClassVar[int] = 18

    def serialize(self) -> bytearray:
        """Wire form: path, kind of watcher."""
        return bytearray(write_string(self.path) + int_struct.pack(_ANY_WATCHER))

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> bool:
        """The reply has no body that matters."""
        return True


class _WatchingConnection(ConnectionHandler):  # type: ignore[misc] # kazoo ships no types
    """kazoo's connection, but every watch event goes to one function; the store sets no one-shot watches."""

    def __init__(self, client: KazooClient, on_event: Callable[[str], None], sasl: dict[str, str] | None) -> None:
        super().__init__(client, client._conn_retry.copy(), logger=client.logger, sasl_options=sasl)
        self._on_event = on_event

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        event, _ = Watch.deserialize(buffer, offset)
        if not self.client._stopped.is_set():
            self._on_event(event.path)


def report_events(client: KazooClient, on_event: Callable[[str], None], sasl: dict[str, str] | None = None) -> None:
    """Call ``on_event`` with the full path of every event, on kazoo's reading thread: hand it over, never block. Before
    ``start``. ``sasl``: options of its login.
    """
    client._connection = _WatchingConnection(client, on_event, sasl)


class Request(Protocol):
    """What kazoo can send: a number, and how it and its reply are encoded."""

    type: ClassVar[int]

    def serialize(self) -> bytearray:
        """Wire form of the request."""

    def deserialize(self, data: bytes, offset: int) -> Any:
        """The reply."""


def submit(client: KazooClient, request: Request) -> Any:
    """Send the request; returns kazoo's asynchronous result."""
    result = client.handler.async_result()
    client._call(request, result)
    return result
