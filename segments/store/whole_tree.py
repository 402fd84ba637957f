"""Reads many znodes as they were at one moment, while others write: all of them once, then what changed meanwhile,
until nothing did.

A client hears of a change before ZooKeeper gives it anything newer. So when no change is reported between the last
read and an answer that came after it, what was read is the tree of that moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Unavailable
from segments.gateways.timer import TIMER, Timer
from segments.store.base import Store

#: Nothing is ever there: to watch it asks the server for an answer that comes after all events before.
_NOWHERE: Final = "/PINOTADMIN/BACKUP_BARRIER"
_ANSWER_S: Final = 15.0
#: Records that are decoded together.
_TOGETHER: Final = 2000


class WholeTree:
    """``is_wanted``: which paths; ``has_children``: which of them may have some; ``keep`` makes of each record what is
    remembered of it. Ephemeral znodes belong to a process and are left out.
    """

    def __init__(
        self,
        store: Store,
        is_wanted: Callable[[str], bool],
        has_children: Callable[[str], bool],
        keep: Callable[[str, ZNRecord | None], bytes],
    ) -> None:
        self._store, self._is_wanted, self._has_children, self._keep = store, is_wanted, has_children, keep
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._in_doubt = False

    def read(self, patience_s: float = 60.0, timer: Timer = TIMER) -> dict[str, bytes]:
        """{path: what was kept of it}, parents before children. Unavailable when the tree did not stand still for a
        moment within ``patience_s``.
        """
        watch = self._store.watch("/", self._note)
        try:
            while True:
                self._begin()
                found = self._below("/", {})
                deadline = timer.seconds() + patience_s
                while (changed := self._pending()) and timer.seconds() < deadline:
                    self._read_these(sorted(changed), found)  # each creation and deletion has an event of its own
                if changed:
                    raise Unavailable(
                        f"ZooKeeper's records did not stand still for a moment within {patience_s:g} s.",
                        remedy="Try again when less is written.",
                    )
                if changed is not None:
                    return dict(sorted(found.items()))
        finally:
            watch.close()

    def _note(self, path: str | None) -> None:
        with self._lock:
            if path is None:
                self._in_doubt = True
            elif self._is_wanted(path):
                self._changed.add(path)

    def _begin(self) -> None:
        self._barrier()
        with self._lock:
            self._changed, self._in_doubt = set(), False

    def _pending(self) -> set[str] | None:
        """What changed up to now, and is to be read again; None: the connection was lost, anything may have changed."""
        self._barrier()
        with self._lock:
            changed, self._changed = self._changed, set()
            return None if self._in_doubt else changed

    def _barrier(self) -> None:
        """Wait until every event before now was noted."""
        arrived = threading.Event()
        watch = self._store.watch(_NOWHERE, lambda _: arrived.set())
        try:
            if not arrived.wait(_ANSWER_S):
                raise Unavailable("ZooKeeper did not answer.", remedy="Check that it runs; then try again.")
        finally:
            watch.close()

    def _below(self, top: str, found: dict[str, bytes]) -> dict[str, bytes]:
        """``top`` and all below it, added to ``found``."""
        level = [top]
        while level:
            there: list[str] = []
            for start in range(0, len(level), _TOGETHER):
                there += self._read_these(level[start : start + _TOGETHER], found)
            level = [child for path in there for child in self._children(path)]
        return found

    def _read_these(self, paths: list[str], found: dict[str, bytes]) -> Iterable[str]:
        """Add those that are there; their paths."""
        there = []
        for path, node in zip(paths, self._store.get_many(paths), strict=True):
            if node is None or node.owner:
                found.pop(path, None)
            else:
                found[path] = self._keep(path, node.record)
                there.append(path)
        return there

    def _children(self, path: str) -> list[str]:
        if not self._has_children(path):
            return []
        below = [f"{path.rstrip('/')}/{name}" for name in self._store.children(path)]
        return [child for child in below if self._is_wanted(child)]
