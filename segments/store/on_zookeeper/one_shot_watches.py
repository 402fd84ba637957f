"""Watches on a ZooKeeper before 3.6, which knows only such as are used up by the first event: each is set again, and
nothing is missed.

One lies on every document of a table (config, schema, lineage, ideal state, external view), one on each parent of them
for tables that come and go. What is reported is not the event itself but that the stat which setting the watch again
brought back is another one: so a write between the event and the new watch is reported as well.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError

from segments.errors import Unavailable
from segments.store.base import WatchCallback
from segments.store.dispatch import Dispatcher, Subscription
from segments.store.on_zookeeper.replies import LOST, settle
from segments.store.paths import covers, parent_of

log = logging.getLogger(__name__)

#: Requests that are sent before their replies are awaited.
_TOGETHER: Final = 500
#: The number of the last write of what is not there.
_MISSING: Final = -1
#: Polls of a parent that comes and goes.
_TRIES: Final = 3


class OneShotWatches:
    """Of one session with ``client``; ``parents``: whose children are documents; ``full`` makes a path ZooKeeper's.

    ``happened`` is given every event, on kazoo's reading thread, where nothing may block."""

    def __init__(self, name: str, client: KazooClient, parents: Sequence[str], full: Callable[[str], str]) -> None:
        self._client, self._parents, self._full = client, parents, full
        self._dispatcher = Dispatcher(f"{name}-watches")
        self._lock = threading.Lock()
        self._known: dict[str, int] = {}
        self._is_set: set[str] = set()
        self._is_closed = False

    def watch(self, prefix: str, callback: WatchCallback) -> Subscription:
        """As ``Store.watch``; while the connection is lost it begins when that is back."""
        subscription = self._dispatcher.subscribe(prefix, callback)
        try:
            self._set(parent for parent in self._parents if covers(prefix, parent) and parent not in self._is_set)
        except LOST:
            log.info("The watches on %s begin when ZooKeeper is back.", prefix)
            return subscription
        except KazooException as error:
            subscription.close()
            raise Unavailable(
                f"ZooKeeper refused to watch {prefix}: {type(error).__name__}.", remedy="See ZooKeeper's log."
            ) from error
        self._dispatcher.doubt(subscription)
        return subscription

    def close(self) -> None:
        """End callbacks."""
        self._is_closed = True
        self._dispatcher.close()

    def reconnected(self) -> None:
        """The server knows no watch any more: set all again, then have every watcher read everything. On
        kazoo's thread.
        """
        self._is_set.clear()
        if self._dispatcher.prefixes():
            threading.Thread(target=self._set_again, name="one-shot-watches", daemon=True).start()

    def happened(self, path: str) -> None:
        """A watch on ``path`` was used up."""
        if self._is_closed:
            return
        if self._is_watched(parent_of(path)):
            self._ask(path)
        if self._is_watched(path):
            self._list(path)

    def _is_watched(self, parent: str) -> bool:
        """Does anybody watch it? If not, what is used up stays so."""
        if parent in self._parents and any(covers(prefix, parent) for prefix in self._dispatcher.prefixes()):
            return True
        self._is_set.discard(parent)
        return False

    def _ask(self, path: str) -> None:
        self._client.exists_async(self._full(path), watch=_used_up).rawlink(partial(self._on_stat, path))

    def _list(self, parent: str) -> None:
        self._client.get_children_async(self._full(parent), watch=_used_up).rawlink(partial(self._listed, parent))

    def _listed(self, parent: str, reply: Any) -> None:
        """Tables that came. Those that went are reported by the watch on their document."""
        if isinstance(reply.exception, NoNodeError):
            self._client.exists_async(self._full(parent), watch=_used_up)
        elif reply.successful():
            with self._lock:
                new = [path for name in reply.value if (path := f"{parent}/{name}") not in self._known]
            for path in new:
                self._ask(path)

    def _on_stat(self, path: str, reply: Any) -> None:
        # Without success the connection is gone: all are set again when it is back.
        if reply.successful() and self._note(path, reply.value):
            self._dispatcher.publish(path)

    def _note(self, path: str, stat: Any) -> bool:
        """Remember the stat; is it another one?"""
        now = _MISSING if stat is None else int(stat.mzxid)
        with self._lock:
            before = self._known.get(path, _MISSING)
            if stat is None:
                self._known.pop(path, None)
            else:
                self._known[path] = now
        return now != before

    def _set(self, parents: Iterable[str]) -> None:
        """Set the watches of these parents and of all that is below them, and remember how it stands; some requests at
        a time.
        """
        for parent in parents:
            below = [f"{parent}/{name}" for name in self._children(parent)]
            for start in range(0, len(below), _TOGETHER):
                asked = below[start : start + _TOGETHER]
                stats = settle([self._client.exists_async(self._full(path), watch=_used_up) for path in asked])
                for path, stat in zip(asked, stats, strict=True):
                    self._note(path, stat)
            self._is_set.add(parent)

    def _children(self, parent: str) -> list[str]:
        """Of a parent that is not there yet only its own coming can be watched."""
        for _ in range(_TRIES):
            (names,) = settle([self._client.get_children_async(self._full(parent), watch=_used_up)], NoNodeError)
            if names is not None:
                return list(names)
            (stat,) = settle([self._client.exists_async(self._full(parent), watch=_used_up)])
            if stat is None:
                break
        return []

    def _set_again(self) -> None:
        prefixes = self._dispatcher.prefixes()
        try:
            self._set([parent for parent in self._parents if any(covers(prefix, parent) for prefix in prefixes)])
        except LOST:
            return  # they are set when the connection is back once more
        except KazooException as error:
            log.warning(
                "Watches could not be set again: %s", type(error).__name__
            )  # whoever reads now meets the reason
        self._dispatcher.publish_doubt()


def _used_up(event: Any) -> None:
    """For kazoo, which keeps a function per watch; events come to ``happened``."""
