"""Watches where nobody tells of changes: looks at the stats of a few parents again and again, never at the records themselves.

A ZooKeeper before 3.6 knows no watch that lasts and covers a tree; a controller's REST knows none at all. What is looked at is small: a
number per table for lineage, ideal state, external view, config and schema, and one per table for "a segment's record came or went". That
a record was overwritten in place is not seen this way; whoever follows must look at those again now and then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from segments.errors import PinotAdminError
from segments.store import paths
from segments.store.base import WatchCallback
from segments.store.dispatch import Dispatcher, Subscription

log = logging.getLogger(__name__)

#: {child: a number that is another one after each change}.
Stamps = Mapping[str, int]
#: ``stamps(parent, of_children)``; ``of_children``: what counts is that children of the child come and go.
StampReader = Callable[[str, bool], Stamps]

#: Looked at in each round, and in every ``seldom`` th.
_OFTEN: Final = (paths.LINEAGE, paths.IDEAL_STATES, paths.EXTERNAL_VIEWS)
_SELDOM: Final = (paths.TABLE_CONFIGS, paths.SCHEMAS, paths.SEGMENTS)
#: Who is asked spends at most this part of its time on us; the longest pause in seconds.
_SHARE: Final = 0.1
_LONGEST_S: Final = 30.0


class Poller:
    """Calls watches back for what a round of looks found changed. The thread lives while somebody watches."""

    def __init__(self, name: str, stamps: StampReader, *, every_s: float = 1.0, seldom: int = 1) -> None:
        self._name, self._stamps, self._every_s, self._seldom = name, stamps, every_s, seldom
        self._dispatcher = Dispatcher(f"{name}-watches")
        self._known: dict[str, Stamps] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, prefix: str, callback: WatchCallback) -> Subscription:
        """As ``Store.watch``; changes outside the parents that are looked at are not told. Raises what the first look raises."""
        with self._lock:
            # Looked at before the watcher reads: what changes from here on is told.
            for parent in (*_OFTEN, *_SELDOM):
                if parent not in self._known and _covers(prefix, parent):
                    self._known[parent] = self._stamps(parent, parent == paths.SEGMENTS)
            subscription = self._dispatcher.subscribe(prefix, callback)
            self._dispatcher.doubt(subscription)
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name=f"{self._name}-poll", daemon=True)
                self._thread.start()
        return subscription

    def close(self) -> None:
        """End looks and callbacks."""
        self._stop.set()
        self._dispatcher.close()

    def _run(self) -> None:
        number, pause = 0, self._every_s
        while not self._stop.wait(pause):
            started = time.monotonic()
            try:
                self.look([*_OFTEN, *(_SELDOM if number % self._seldom == 0 else ())])
                number += 1
                pause = min(max(self._every_s, (time.monotonic() - started) / _SHARE), _LONGEST_S)
            except PinotAdminError as error:
                log.info("%s can not be looked at: %s", self._name, error)
                pause = min(max(pause, self._every_s) * 2, _LONGEST_S)
            except Exception:
                log.exception("%s can not be looked at", self._name)
                pause = _LONGEST_S

    def look(self, parents: Sequence[str]) -> None:
        """One round: tell what differs from the last look at each parent that somebody watches."""
        with self._lock:
            watched = self._dispatcher.prefixes()
            for parent in parents:
                if not any(_covers(prefix, parent) for prefix in watched):
                    self._known.pop(parent, None)
                    continue
                found = self._stamps(parent, parent == paths.SEGMENTS)
                for name in sorted(_differing(self._known.get(parent, {}), found)):
                    self._dispatcher.publish(f"{parent}/{name}")
                self._known[parent] = found


def _covers(prefix: str, parent: str) -> bool:
    """Does a watch on ``prefix`` hear of the parent's children, or lie below it?"""
    return prefix in ("/", parent) or parent.startswith(prefix + "/") or prefix.startswith(parent + "/")


def _differing(before: Stamps, now: Stamps) -> set[str]:
    return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
