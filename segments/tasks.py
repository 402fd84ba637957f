"""Celery tasks: each takes names, builds the context, and calls one use case."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from segments import wiring
from segments.errors import StateConflict
from segments.names import TableName, split_table_name
from segments.services import deletion, end_jobs, entry_reaper, passes, realtime_validation
from segments.services.context import SYSTEM, Actor

log = logging.getLogger(__name__)
#: Seconds that one task stays with a background end.
_FOLLOW_S = 20.0

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
    from segments.services import push, push_queue

    sentences = push.resume_lost(wiring.context(), push_queue.enqueue_push)
    for sentence in sentences:
        log.warning("%s", sentence)
    return sentences


@worker_ready.connect
def _warm_spark(**_: Any) -> None:
    """Start Spark in the background, so that a worker's first push finds it running; only where asked for."""
    if os.environ.get("PINOTADMIN_WARM_SPARK") == "1":
        threading.Thread(target=_warm, name="warm-spark", daemon=True).start()


def _warm() -> None:
    from segments.spark import session

    try:
        log.info("Spark is warm after %.1f s.", session.warm(settings.SPARK_MASTER))
    except Exception:
        log.exception("Spark could not be started ahead; the first push will try again.")


# -- replacements


@shared_task(name="segments.tasks.follow_end")
def follow_end(job_id: str) -> str:
    """Carry a background end on for a while; what takes longer is left to ``advance_ends``."""
    job = end_jobs.follow(wiring.context(), job_id, _FOLLOW_S)
    return f"Job {job_id} is {job.state if job else 'gone'}."


@shared_task(name="segments.tasks.advance_ends")
def advance_ends() -> list[str]:
    """One look at every background end."""
    sentences = end_jobs.advance_all(wiring.context())
    for sentence in sentences:
        log.info("%s", sentence)
    return sentences


@shared_task(name="segments.tasks.reap_entries")
def reap_entries() -> list[str]:
    """Give up replacements whose client is gone."""
    sentences = entry_reaper.run_all(wiring.context())
    for sentence in sentences:
        log.warning("%s", sentence)
    return sentences


# -- periodic passes


@shared_task(name="segments.tasks.run_periodic")
def run_periodic(name: str, table: str | None = None, actor: str = "system") -> list[str]:
    """Run one pass by Pinot's name over one table (typed name) or all."""
    raw, kind = split_table_name(table or "")
    return passes.run_pass(wiring.context(), name, TableName(raw, kind) if kind else None, Actor(actor))


@shared_task(name="segments.tasks.run_retention")
def run_retention() -> list[str]:
    """Lineage clean-up, time retention and files of deleted segments, all tables."""
    return passes.run_pass(wiring.context(), "RetentionManager", None, SYSTEM)


@shared_task(name="segments.tasks.run_validation")
def run_validation() -> list[str]:
    """Find what is not as it should be, all tables."""
    return passes.run_pass(wiring.context(), "SegmentStatusChecker", None, SYSTEM)


@shared_task(name="segments.tasks.run_realtime_validation")
def run_realtime_validation() -> list[str]:
    """Repair the consumption of realtime tables and list what can not be repaired."""
    return passes.run_pass(wiring.context(), "RealtimeSegmentValidationManager", None, SYSTEM)


@shared_task(name="segments.tasks.keep_consumption")
def keep_consumption() -> list[str]:
    """See pauses, force commits and planned resumes through; set going what stands still."""
    sentences = realtime_validation.keep_consumption(wiring.context())
    for sentence in sentences:
        log.info("%s", sentence)
    return sentences


@shared_task(name="segments.tasks.sample_lag")
def sample_lag() -> list[str]:
    """Note how far each partition is behind its stream, all tables."""
    return passes.run_pass(wiring.context(), "RealtimeConsumerMonitor", None, SYSTEM)


@shared_task(name="segments.tasks.drain_deletions")
def drain_deletions() -> list[str]:
    """Finish deletions that wait for servers to let go."""
    sentences = deletion.drain_all(wiring.context())
    for sentence in sentences:
        log.info("%s", sentence)
    return sentences
