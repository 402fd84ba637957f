"""Run the mirror: follow ZooKeeper, and every Pinot cluster, into the database. Of several that run one does."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand

from pinotadmin.celery import mark_ready
from segments import wiring
from segments.errors import PinotAdminError
from segments.mirror.cluster_follower import ClusterFollower
from segments.mirror.cluster_mirrors import ClusterMirrors
from segments.mirror.ingestion.record_source import sessions_followed
from segments.models import Cluster
from segments.processes.interpreter import collect_seldom
from segments.store.records.elected import Elected, elected_here

log = logging.getLogger(__name__)
#: Seconds after which it is asked again who has the role.
_AGAIN_S: Final = 1.0


class Command(BaseCommand):
    """``manage.py run_mirror``."""

    help = "Follow ZooKeeper into the database until stopped; waits while another mirror of the cluster does."
    #: The mirror serves no pages: a fault in a view must not stop it.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Block until SIGTERM or SIGINT."""
        cluster, _ = Cluster.objects.get_or_create(name=settings.CLUSTER_NAME, defaults={"kind": Cluster.Kind.EMBEDDED})
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        role = elected_here(wiring.store(), "mirror")
        # Nothing waits for all tables to be read, which takes minutes with a million segments; pages say how far it is.
        ready = cache(partial(mark_ready, "mirror"))
        collect_seldom()
        while is_turn(role, stopped, ready):
            _follow(cluster, role, stopped)
        with suppress(PinotAdminError):
            role.leave()
        wiring.close()


def is_turn(role: Elected, stopped: threading.Event, ready: Callable[[], None]) -> bool:
    """Wait until no other mirror has the role; False when stopped before. ``ready`` is called when that is known."""
    is_waiting = False
    while not stopped.is_set():
        try:
            is_mine = role.is_mine()
            ready()
            if is_mine:
                return True
            if not is_waiting:
                is_waiting = True
                log.info("The mirror of %s follows; this one takes over when it is gone.", role.holder())
        except PinotAdminError as error:
            log.warning("Whose turn it is cannot be read: %s", error)
        stopped.wait(_AGAIN_S)
    return False


def _follow(cluster: Cluster, role: Elected, stopped: threading.Event) -> None:
    """Until stopped, or until another mirror has the role: this one was out of reach for longer than a session."""
    follower = ClusterFollower(
        wiring.store(), cluster, on_synced=lambda: log.info("All tables of %s are read.", cluster.name)
    )
    mirrors, done = ClusterMirrors(), threading.Event()

    def watch() -> None:
        while not done.wait(_AGAIN_S) and not stopped.is_set():
            with suppress(PinotAdminError):  # not known: nobody else can follow now either
                if not role.is_mine():
                    log.warning("Another mirror took over; this one waits.")
                    break
        follower.stop()

    watching = threading.Thread(target=watch, name="mirror-role", daemon=True)
    watching.start()
    mirrors.start()
    try:
        with sessions_followed(wiring.context(), cluster):
            follower.run()
    finally:
        done.set()
        mirrors.stop()
