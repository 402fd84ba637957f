"""Watches where nothing reports changes: polls the stats of a few parents, never the records
themselves.

A controller's REST knows no watches; of a ZooKeeper before 3.6 the parents of segments are polled this way. What is
polled is small: a number per table for lineage, ideal state, external view, config and schema, and one per table for
"a segment's record came or went". That a record was overwritten in place is seen by ``RefreshedSegments`` in tables of
moderate size; a follower must read those of others again now and then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import PinotAdminError
from segments.store import paths
from segments.store.base import WatchCallback
from segments.store.dispatch import Dispatcher, Subscription
from segments.store.on_pinot.poll_interval import PollInterval, Terms
from segments.store.on_pinot.refreshed_segments import RefreshedSegments, Stat, StatReader

log = logging.getLogger(__name__)

#: {child: a number that is another one after each change}.
Stamps = Mapping[str, int]

#: Parents by how often they are polled: in each round, and in every so many rounds.
DOCUMENTS: Final = (paths.LINEAGE, paths.IDEAL_STATES, paths.EXTERNAL_VIEWS)
DEFINITIONS: Final = (paths.TABLE_CONFIGS, paths.SCHEMAS)


@dataclass(frozen=True)
class Plan:
    """What is polled: {parent: every how many rounds}; and every how many rounds for records that were written in
    place.
    """

    parents: Mapping[str, int]
    overwritten: int = 3


class Poller:
    """Calls watches back for what a round of polls found changed. The thread lives while somebody watches. ``stats``
    and ``read`` ask the source that is polled; ``clock`` and ``used`` (seconds of processor time of this process) are
    there for tests.
    """

    def __init__(
        self,
        name: str,
        stats: StatReader,
        read: Callable[[str], ZNRecord | None],
        plan: Plan,
        terms: Terms,
        *,
        clock: Callable[[], float] = time.monotonic,
        used: Callable[[], float] = time.process_time,
    ) -> None:
        self._name, self._reader, self._plan, self._clock, self._used = name, stats, plan, clock, used
        self._dispatcher = Dispatcher(f"{name}-watches")
        self._pace, self._terms = PollInterval(terms), terms
        self._refreshed = RefreshedSegments(self._stats, read)
        self._known: dict[str, Mapping[str, Stat]] = {}
        self._requests = self._round = 0
        self._rested_at = 0.0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, prefix: str, callback: WatchCallback) -> Subscription:
        """As ``Store.watch``; changes outside the parents that are polled are not reported. Raises what the first poll
        raises.
        """
        with self._lock:
            # Polled before the watcher reads: what changes from here on is reported.
            for parent in self._plan.parents:
                if parent not in self._known and paths.covers(prefix, parent):
                    self._known[parent] = self._stats(parent)
                    self._refreshed.begin(self._known[parent].values())
            subscription = self._dispatcher.subscribe(prefix, callback)
            self._dispatcher.doubt(subscription)
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name=f"{self._name}-poll", daemon=True)
                self._thread.start()
        return subscription

    def close(self) -> None:
        """End polls and callbacks."""
        self._stop.set()
        self._dispatcher.close()

    def _run(self) -> None:
        pause = self._terms.idle_s
        while not self._stop.wait(pause):
            try:
                pause = self.round()
            except PinotAdminError as error:
                log.info("%s cannot be polled: %s", self._name, error)
                pause = self._pace.failed()
            except Exception:
                log.exception("%s cannot be polled", self._name)
                pause = self._pace.failed()

    def round(self) -> float:
        """Poll what is due; seconds until the next round. The polls of tables, which take longer, have pauses of
        their own.
        """
        began, requests = self._clock(), self._requests
        due = [parent for parent, every in self._plan.parents.items() if self._round % every == 0]
        found, cost = self._measured(lambda: self.poll(due))
        is_due = self._refreshed.is_waiting or self._round % self._plan.overwritten == 0
        if is_due and self._clock() >= self._rested_at and not self._pace.is_spent:
            more, took = self._measured(self._poll_refreshed)
            found += more
            self._rested_at = self._clock() + min(took / self._terms.share, self._terms.longest_s)
        self._round += 1
        now = self._clock()
        is_changed = bool(found) or self._refreshed.is_waiting
        return self._pace.polled(
            now, requests=self._requests - requests, took_s=now - began, cost_s=cost, is_changed=is_changed
        )

    def _measured(self, poll: Callable[[], int]) -> tuple[int, float]:
        """(what a poll found, seconds that it cost the source): what our own work took meanwhile is no cost
        to him.
        """
        began, used = self._clock(), self._used()
        found = poll()
        return found, max(0.0, self._clock() - began - (self._used() - used))

    def poll(self, parents: Sequence[str]) -> int:
        """Report what differs from the last poll of each of these parents that somebody watches, at once; how much that
        was.
        """
        reported = 0
        with self._lock:
            watched = self._dispatcher.prefixes()
            for parent in parents:
                if not any(paths.covers(prefix, parent) for prefix in watched):
                    self._known.pop(parent, None)
                    continue
                found = self._stats(parent)
                before, now = _stamps(parent, self._known.get(parent, {})), _stamps(parent, found)
                for name in sorted(_differing(before, now)):
                    self._dispatcher.publish(f"{parent}/{name}")
                    reported += 1
                self._known[parent] = found
        return reported

    def _poll_refreshed(self) -> int:
        with self._lock:
            segments = self._known.get(paths.SEGMENTS)
            if not segments:
                return 0
            reported = 0
            for path in self._refreshed.poll(segments):
                self._dispatcher.publish(path)
                reported += 1
            return reported

    def _stats(self, parent: str) -> Mapping[str, Stat]:
        self._requests += 1
        return self._reader(parent)


def _stamps(parent: str, stats: Mapping[str, Stat]) -> Stamps:
    """What counts of segments' parents is that children come and go, of others that they are written."""
    return {name: stat.pzxid if parent == paths.SEGMENTS else stat.mzxid for name, stat in stats.items()}


def _differing(before: Stamps, now: Stamps) -> set[str]:
    return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
