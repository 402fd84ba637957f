"""Celery tasks: each takes names, builds the context, and calls one use case."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from typing import Any

from celery import shared_task
from celery.signals import worker_process_init
from django.conf import settings

from segments import wiring
from segments.errors import StateConflict

log = logging.getLogger(__name__)

# -- pushes


@shared_task(name="segments.tasks.run_push")
def run_push(push_id: str) -> str:
    """Carry a push out, or what is left of it."""
    from segments.services import push_run  # the worker's other processes need none of what building needs

    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    try:
        sentence = push_run.run_push(wiring.context(), push_id, owner, builder=wiring.push_builder())
    except StateConflict as error:
        sentence = str(error)
    log.info("%s", sentence)
    return sentence


@shared_task(name="segments.tasks.resume_lost_pushes")
def resume_lost_pushes() -> list[str]:
    """Hand pushes whose worker was lost to the queue again."""
    from segments.services import push

    sentences = push.resume_lost(wiring.context(), enqueue_push)
    for sentence in sentences:
        log.warning("%s", sentence)
    return sentences


def enqueue_push(push_id: str) -> None:
    """Put a push into the workers' queue. If the broker is away, ``resume_lost_pushes`` does it later."""
    try:
        run_push.delay(push_id)
    except run_push.OperationalError as error:
        log.warning("Push %s could not be queued now and will be later: %s", push_id, error)


@worker_process_init.connect
def _warm_spark(**_: Any) -> None:
    """Start Spark in the background, so that a worker process's first push finds it running; only where pushes are run."""
    if os.environ.get("PINOTADMIN_WARM_SPARK") == "1":
        threading.Thread(target=_warm, name="warm-spark", daemon=True).start()


def _warm() -> None:
    from segments.spark import session

    try:
        log.info("Spark is warm after %.1f s.", session.warm(settings.SPARK_MASTER))
    except Exception:
        log.exception("Spark could not be started ahead; the first push will try again.")
