"""The Store protocol: versioned reads, conditional writes, transactions, watches, ephemeral nodes.

Paths are relative to the cluster's root and begin with ``/`` (``/IDEALSTATES/t_OFFLINE``); `segments.store.paths`
writes each once. Every implementation passes ``tests/contract/test_store.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from segments.domain.formats.znrecord import ZNRecord


@dataclass(frozen=True)
class Versioned:
    """A record as read, with the version every later write must name.

    ``record`` is None for a znode without data. ``version`` counts writes from 0. ``modified_ms`` is the znode's mtime;
    ``mzxid`` orders all writes of the ensemble; ``owner`` is the session of an ephemeral node, else 0.
    """

    record: ZNRecord | None
    version: int
    modified_ms: int = 0
    mzxid: int = 0
    owner: int = 0


@dataclass(frozen=True)
class Create:
    """Must not exist. Parents are made as empty nodes (outside a transaction's atomicity)."""

    path: str
    record: ZNRecord | None


@dataclass(frozen=True)
class Replace:
    """Must exist at exactly this version."""

    path: str
    record: ZNRecord
    version: int


@dataclass(frozen=True)
class Delete:
    """Must exist, without children, at exactly this version (None: at any)."""

    path: str
    version: int | None = None


@dataclass(frozen=True)
class Check:
    """Must exist at exactly this version; writes nothing."""

    path: str
    version: int


Write = Create | Replace | Delete | Check

#: Called with the changed path, or with None when anything may have changed (connection was lost): read everything
#: again. Runs on the store's own thread: hand the work over, never block in it, never call the store from it.
WatchCallback = Callable[[str | None], None]


class Watch(Protocol):
    """A running watch."""

    def close(self) -> None:
        """Stop calling back."""


class Store(Protocol):
    """State of one cluster. All writes are conditional; see ``segments.store.update`` for the one compare-and-set loop.

    Every call raises ``Unavailable`` when ZooKeeper cannot be reached before anything was sent, and a write raises
    ``OutcomeUnknown`` when the reply was lost.
    """

    def get(self, path: str) -> Versioned | None:
        """The znode, or None when there is none. RecordCorrupt when its bytes are no record."""

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        """As ``get`` for many paths at once (pipelined); same order."""

    def children(self, path: str) -> list[str]:
        """Sorted names of the children; [] when the znode is missing."""

    def children_many(self, paths: Sequence[str]) -> list[list[str]]:
        """As ``children`` for several paths, read in this order without waiting in between."""

    def exists(self, path: str) -> int | None:
        """The version of the znode, or None."""

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        """Make a znode that must not exist, and its parents. Conflict when it does."""

    def replace(self, path: str, record: ZNRecord, version: int) -> Versioned:
        """Write on exactly this version. Conflict when the version differs or the znode is missing."""

    def delete(self, path: str, version: int | None = None) -> bool:
        """Remove a znode without children on this version (None: any). False when it was missing; Conflict on another
        version.
        """

    def delete_tree(self, path: str) -> None:
        """Remove a znode and all below it; missing is fine."""

    def transaction(self, writes: Sequence[Write]) -> None:
        """All writes or none. Conflict names the first write that did not fit."""

    def watch(self, prefix: str, callback: WatchCallback) -> Watch:
        """Call back for every znode at or below ``prefix`` that is created, written or deleted, and with None on doubt.

        Calls back once with None at once, so that a follower needs one code path only.
        """

    def session_id(self) -> str:
        """The hex session id that Helix writes (no 0x); the owner of our ephemeral nodes."""

    def on_session(self, callback: Callable[[], None]) -> None:
        """Call back (on a thread of its own) when a new session replaced a lost one: make ephemeral nodes again."""

    def close(self) -> None:
        """End the session; ephemeral nodes go at once."""
