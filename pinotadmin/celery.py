"""The Celery application: pushes and periodic passes; tells the supervisor when worker and beat are up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import beat_init, worker_ready

from segments.processes.sign_of_life import show_life

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")

app = Celery("pinotadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["segments"])


def mark_ready(name: str) -> None:
    """Touch DATA_DIR/run/NAME.ready, for which the supervisor waits, and go on touching it."""
    folder = os.environ.get("PINOTADMIN_DATA_DIR")
    if folder:
        show_life(Path(folder) / "run" / f"{name}.ready")


@worker_ready.connect
def _worker_is_ready(**_: Any) -> None:
    mark_ready("worker")


@beat_init.connect
def _beat_is_ready(**_: Any) -> None:
    mark_ready("beat")
