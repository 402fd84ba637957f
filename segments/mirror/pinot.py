"""The mirror of one Pinot cluster, next to the others: it is connected, checked, followed, and waited for when it is
unreachable, each time reported.

Two threads: one follows tables, one asks the controller how it is. What either meets is in the cluster's row; neither
ends but by ``stop``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from django.db import connections

from segments import wiring
from segments.clusters.pinot.connected_engine import controller
from segments.errors import NotFound, PinotAdminError
from segments.gateways.pinot import PinotController, PinotRefused
from segments.gateways.pinot.refusals import REFUSED, UNEXPECTED, UP, WRONG_CLUSTER
from segments.mirror.cluster_follower import ClusterFollower
from segments.mirror.ingestion.record_source import sessions_followed
from segments.models import Cluster
from segments.services.clusters import clusters
from segments.services.clusters.cluster_state import note_mirror, note_state
from segments.services.core.context import Context
from segments.services.core.database_faults import UNREACHABLE
from segments.services.core.database_outage import database_outage
from segments.store import paths

log = logging.getLogger(__name__)

#: Seconds between two questions to the controller; between two checks that ZooKeeper is still the controller's.
HEALTH_S: Final = 5.0
#: Checks of the controller between two of what is read through it, which costs it one more request.
_STORE_EVERY: Final = 2
_CHECK_S: Final = 600.0
#: Seconds between two tries to begin: the first pause and the longest.
_PAUSES_S: Final = (1.0, 30.0)
_FORBIDDEN: Final = (401, 403)


class PinotMirror:
    """One cluster's mirror. ``health_s`` is there for tests."""

    def __init__(self, name: str, *, health_s: float = HEALTH_S) -> None:
        self._name, self._health_s = name, health_s
        self._stop = threading.Event()
        self._follower: ClusterFollower | None = None
        self._lock = threading.Lock()
        self._trouble: str | None = None
        self._calls: deque[tuple[float, int]] = deque()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), name=f"mirror-{name}-{kind}", daemon=True)
            for kind, work in (("tables", self._follow), ("health", self._ask_how_it_is))
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End within seconds; returns when it did, or at once when asked by its own threads."""
        self._stop.set()
        with self._lock:
            if self._follower is not None:
                self._follower.stop()
        for thread in self._threads:
            if thread is not threading.current_thread() and thread.is_alive():
                thread.join(timeout=10.0)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            log.exception("The mirror of %s ended.", self._name)
        finally:
            connections.close_all()

    # Tables

    def _follow(self) -> None:
        pause = _PAUSES_S[0]
        while not self._stop.is_set():
            started = time.monotonic()
            try:
                database_outage.before_use()
                self._follow_once()
            except NotFound:
                return  # it was removed; whoever keeps the mirrors ends this one
            except PinotAdminError as error:
                self._report(str(error))
            except UNREACHABLE as error:
                database_outage.note(error)
            except Exception as error:
                log.exception("Cluster %s cannot be mirrored now.", self._name)
                self._report(f"{type(error).__name__}; see the mirror's log.")
            pause = _PAUSES_S[0] if time.monotonic() - started > _PAUSES_S[1] else min(pause * 2, _PAUSES_S[1])
            self._stop.wait(pause)

    def _follow_once(self) -> None:
        """Check, then follow until stopped, or until something makes it start over."""
        row = Cluster.objects.filter(name=self._name).first()
        if row is None:
            raise NotFound(f"Cluster '{self._name}' was removed.")
        self._require_the_right_one(clusters.check_cluster(self._name))
        ctx = wiring.context(self._name)
        follower = ClusterFollower(ctx.store, row, report=self._report)
        with self._lock:
            if self._stop.is_set():
                return
            self._follower = follower
        with sessions_followed(ctx, row):
            follower.run()

    def _require_the_right_one(self, found: clusters.ClusterCheck) -> None:
        """What is wrong with the addresses is in the row already; a ZooKeeper of another cluster must not be followed
        at all.
        """
        wrong = next((step for step in found.steps if step.ok is False and step.name == "zookeeper"), None)
        if found.state == WRONG_CLUSTER or wrong is not None:
            raise PinotAdminError(
                wrong.message if wrong else "Its controller belongs to another Pinot cluster.",
                remedy=wrong.remedy if wrong else "",
            )

    def _report(self, error: str) -> None:
        """Write it down when it changed; that all is well is written now and then by the other thread."""
        if error != self._trouble and not self._stop.is_set():
            if error:
                log.warning("Cluster %s cannot be mirrored now: %s", self._name, error)
            self._trouble = error
            note_mirror(self._name, error)

    # How it is

    def _ask_how_it_is(self) -> None:
        checked, number = time.monotonic(), 0
        while not self._stop.wait(self._health_s):
            try:
                database_outage.before_use()
                ctx = wiring.context(self._name)
                self._note_controller(ctx)
                number += 1
                if number % _STORE_EVERY == 0 or not getattr(ctx.store, "is_costly", False):
                    self._note_store(ctx)
                if time.monotonic() - checked > _CHECK_S:
                    checked = time.monotonic()
                    self._check_again()
            except NotFound:
                return
            except UNREACHABLE as error:
                database_outage.note(error)
            except Exception:
                log.exception("How cluster %s is could not be noted.", self._name)

    def _note_controller(self, ctx: Context) -> None:
        row = Cluster.objects.filter(name=self._name).only("state", "mirror_error").first()
        if row is not None and row.state == WRONG_CLUSTER and row.mirror_error:
            return  # only a full check can show that it is right again; the other thread makes it
        state, error, version = how_it_is(controller(ctx))
        note_state(self._name, state, error, version=version)

    def _note_store(self, ctx: Context) -> None:
        """That nothing changes and that nothing is heard must not be confused."""
        try:
            ctx.store.exists(paths.IDEAL_STATES)
        except PinotAdminError as error:
            note_mirror(self._name, str(error))
            return
        if self._trouble == "":
            note_mirror(self._name, "", calls_per_minute=self._per_minute(ctx))

    def _per_minute(self, ctx: Context) -> int:
        now = time.monotonic()
        self._calls.append((now, controller(ctx).calls()))
        while len(self._calls) > 2 and now - self._calls[1][0] >= 60.0:
            self._calls.popleft()
        (then, before), (_, after) = self._calls[0], self._calls[-1]
        return max(0, round((after - before) * 60 / (now - then))) if now > then else 0

    def _check_again(self) -> None:
        """Was ZooKeeper, or the controller, exchanged for that of another cluster? Then nothing of it is followed any
        more.
        """
        try:
            self._require_the_right_one(clusters.check_cluster(self._name))
        except PinotAdminError as error:
            log.warning("Cluster %s is no longer followed: %s", self._name, error)
            with self._lock:
                if self._follower is not None:
                    self._follower.stop()


def how_it_is(controller: PinotController) -> tuple[str, str, str]:
    """(state, why not, version) of a controller, asked now."""
    try:
        controller.get("/cluster/info", timeout=5.0)
        return UP, "", controller.version()
    except PinotRefused as error:
        return REFUSED if error.pinot_status in _FORBIDDEN else UNEXPECTED, str(error), ""
    except PinotAdminError as error:
        circuit = controller.circuit()
        return (
            (circuit.state, circuit.error, "")
            if circuit.is_open
            else (UP, "", "")
            if error.data.get("silent")
            else (UNEXPECTED, str(error), "")
        )
