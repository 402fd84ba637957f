"""Hands watch events to callbacks, in order, on one thread that belongs to the store."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from segments.store.base import WatchCallback

log = logging.getLogger(__name__)


class Subscription:
    """One running watch; ``close`` may be called from anywhere, also from the callback itself."""

    def __init__(self, prefix: str, callback: WatchCallback, on_close: Callable[[Subscription], None]) -> None:
        self.prefix = prefix
        self.callback = callback
        self.closed = False
        self._on_close = on_close

    def close(self) -> None:
        """Stop calling back. A call that is running at this moment ends normally."""
        if not self.closed:
            self.closed = True
            self._on_close(self)

    def covers(self, path: str) -> bool:
        """True when ``path`` is the prefix or below it."""
        return path == self.prefix or self.prefix == "/" or path.startswith(self.prefix + "/")


class Dispatcher:
    """Keeps the subscriptions and calls them one after another; a callback that raises is logged and
    keeps its watch.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._subscriptions: list[Subscription] = []
        self._events: queue.SimpleQueue[tuple[Subscription, str | None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def subscribe(
        self, prefix: str, callback: WatchCallback, on_close: Callable[[Subscription], None] = lambda _: None
    ) -> Subscription:
        """Add a watch; nothing is called until something is published."""

        def closed(subscription: Subscription) -> None:
            with self._lock:
                self._subscriptions.remove(subscription)
            on_close(subscription)

        subscription = Subscription(prefix, callback, closed)
        with self._lock:
            self._subscriptions.append(subscription)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return subscription

    def prefixes(self) -> set[str]:
        """Every prefix that somebody watches."""
        with self._lock:
            return {s.prefix for s in self._subscriptions}

    def publish(self, path: str) -> None:
        """Something happened at ``path``: queue it for everyone whose prefix covers it."""
        with self._lock:
            for subscription in self._subscriptions:
                if subscription.covers(path):
                    self._events.put((subscription, path))

    def publish_doubt(self, prefix: str | None = None) -> None:
        """Anything may have changed: queue None for the watches of ``prefix``, or for all."""
        with self._lock:
            for subscription in self._subscriptions:
                if prefix is None or subscription.prefix == prefix:
                    self._events.put((subscription, None))

    def doubt(self, subscription: Subscription) -> None:
        """As ``publish_doubt`` for one watch: how a new watch gets its first call."""
        self._events.put((subscription, None))

    def close(self) -> None:
        """End the thread after the queued events."""
        self._events.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    def _run(self) -> None:
        while (event := self._events.get()) is not None:
            subscription, path = event
            if subscription.closed:
                continue
            try:
                subscription.callback(path)
            except Exception:
                log.exception("A watch callback for %s failed at %s", subscription.prefix, path)
