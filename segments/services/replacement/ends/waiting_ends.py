"""Ends that wait keep the lease of their client, which sends no heartbeats meanwhile: one thread per cluster for all of
them.

To begin is to put down a name: an end that is over within a quarter of the lease costs microseconds and neither a read
nor a write. Whether there is a lease at all is read when a renewal is due, so a client whose first heartbeat comes
while its own end waits is kept alive too.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from segments.errors import PinotAdminError
from segments.gateways.timer import Timer
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.entry_lease import renew_if_leased
from segments.store.base import Store

log = logging.getLogger(__name__)

#: Seconds for which the thread stays when nothing waits: ends that follow one another do not start one each.
_LINGERS_S: Final = 60.0


@contextmanager
def kept_alive(ctx: Context, table: TableName, entry_id: str) -> Iterator[None]:
    """While the block runs, the entry is renewed if its client ever sent a heartbeat: four times in each lease."""
    keeper = _keeper(ctx.store, ctx.timer)
    number = keeper.add(_Waiting(ctx, table, entry_id, ctx.limits.entry_lease_s / 4))
    try:
        yield
    finally:
        keeper.remove(number)


@dataclass
class _Waiting:
    """One end that waits; ``due_at`` is when its entry is read next."""

    ctx: Context
    table: TableName
    entry_id: str
    every_s: float
    due_at: float = 0.0

    def renew(self) -> None:
        try:
            renew_if_leased(self.ctx, self.table, self.entry_id)
        except PinotAdminError as error:
            log.warning(
                "The lease of lineage entry %s of %s could not be renewed: %s", self.entry_id, self.table, error
            )


class _Keeper:
    """Those of one cluster, so that one that hangs holds up no other."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._lock = threading.Condition()
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = itertools.count()
        self._is_running = False
        self._wakes_at = self._every_s = 0.0

    def add(self, one: _Waiting) -> int:
        """Renew it from now on; the number under which it is removed."""
        number, one.due_at = next(self._numbers), self._timer.seconds() + one.every_s
        with self._lock:
            self._waiting[number] = one
            self._every_s = one.every_s
            if not self._is_running:
                self._is_running, self._wakes_at = True, one.due_at
                threading.Thread(target=self._run, name="waiting-ends", daemon=True).start()
            elif (
                one.due_at < self._wakes_at
            ):  # never while all leases are alike: the thread wakes once in each quarter of one
                self._lock.notify()
        return number

    def remove(self, number: int) -> None:
        """It waits no more."""
        with self._lock:
            self._waiting.pop(number, None)

    def _run(self) -> None:
        last = self._timer.seconds()
        while True:
            with self._lock:
                now = self._timer.seconds()
                last = now if self._waiting else last
                if now - last > _LINGERS_S:
                    self._is_running = False
                    return
                self._wakes_at = min([now + self._every_s, *(one.due_at for one in self._waiting.values())])
                self._lock.wait(max(0.0, self._wakes_at - now))
                due = self._take_due()
            for number, one in due:
                if number in self._waiting:
                    one.renew()

    def _take_due(self) -> list[tuple[int, _Waiting]]:
        now = self._timer.seconds()
        due = [(number, one) for number, one in self._waiting.items() if one.due_at <= now]
        for _, one in due:
            one.due_at = now + one.every_s
        return due


_lock = threading.Lock()
_keepers: WeakKeyDictionary[Store, _Keeper] = WeakKeyDictionary()


def _keeper(store: Store, timer: Timer) -> _Keeper:
    with _lock:
        found = _keepers.get(store)
        if found is None:
            found = _keepers[store] = _Keeper(timer)
        return found
