"""Run the mirror: follow ZooKeeper, and every Pinot cluster, into the database until stopped."""

from __future__ import annotations

import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from pinotadmin.celery import mark_ready
from segments import wiring
from segments.mirror.cluster_follower import ClusterFollower
from segments.mirror.cluster_mirrors import ClusterMirrors
from segments.mirror.ingestion.record_source import sessions_followed
from segments.models import Cluster


class Command(BaseCommand):
    """``manage.py run_mirror``."""

    help = "Follow ZooKeeper into the database until stopped."
    #: The mirror serves no pages: a fault in a view must not stop it.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Block until SIGTERM or SIGINT."""
        cluster, _ = Cluster.objects.get_or_create(name=settings.CLUSTER_NAME, defaults={"kind": Cluster.Kind.EMBEDDED})
        follower = ClusterFollower(wiring.store(), cluster, on_synced=lambda: mark_ready("mirror"))
        mirrors = ClusterMirrors()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: follower.stop())
        mirrors.start()
        with sessions_followed(wiring.context(), cluster):
            follower.run()
        mirrors.stop()
        wiring.close()
