"""Persistent recursive watches (ZooKeeper 3.6+) for kazoo 2.11, which knows one-shot watches only.

One such watch reports every create, write and delete at and below a path, in order and without gaps, until the
connection ends; a watch per znode would cost a read of each. kazoo needs three things added: the request, the request
that ends it, and a reader of events that asks no table of one-shot watches (``connection.py``). The server forgets the
watch with the connection: whoever added it adds it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from kazoo.client import KazooClient
from kazoo.protocol.serialization import int_struct, write_string

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
