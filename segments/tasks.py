"""Celery tasks: each takes names, builds the context, and calls one use case; on every cluster where it makes sense
there.

Which worker does a task, and for how long at most, is in ``domain.workers.pools``. None overlaps itself: a run that
finds the one before still at work leaves it at that. What is scheduled is done on the own cluster in the task itself,
and handed to the workers for each Pinot cluster: one that is slow keeps two slots at most, and never the own cluster's
tasks.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.utils import timezone

from segments import wiring
from segments.domain.jobs.workers.pools import PINOT_SLOTS, TASKS
from segments.errors import NotFound, StateConflict, Unavailable
from segments.models import Cluster, Push
from segments.names import TableName, split_table_name
from segments.services.alerts import delivery, events, sources
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.jobs.queue import enqueue_on_cluster
from segments.services.jobs.table_passes import one_of, turn_of_task
from segments.services.jobs.time_limit import TimeIsUp, within
from segments.services.push import push_session
from segments.services.realtime import realtime_validation
from segments.services.replacement import entry_reaper
from segments.services.replacement.ends import end_jobs
from segments.services.segments import deletion
from segments.services.upkeep import housekeeping, passes

log = logging.getLogger(__name__)
_PREFIX: Final = "segments.tasks."
#: Seconds that one task stays with a background end.
_FOLLOW_S = 20.0


def _own(name: str, work: Callable[[Context], list[str]], level: int = logging.INFO) -> list[str]:
    """Do it on the own cluster, unless it is being done, and log what it says."""
    ctx = wiring.context()
    with turn_of_task(ctx, _PREFIX + name) as is_free:
        sentences = work(ctx) if is_free else []
    for sentence in sentences:
        log.log(level, "%s", sentence)
    return sentences


# -- other clusters

#: What is done on Pinot clusters too, by name. Retention, deletions and repairs of consumption are not: Pinot does them
#: itself.
_ON_PINOT: Final[dict[str, Callable[[Context], list[str]]]] = {
    "resume_lost_pushes": lambda ctx: _resume(ctx),
    "advance_ends": end_jobs.advance_all,
    "reap_entries": entry_reaper.run_all,
    "run_validation": lambda ctx: passes.run_pass(ctx, "SegmentStatusChecker", None, SYSTEM),
    "keep_consumption": realtime_validation.keep_consumption,
    "sample_lag": lambda ctx: passes.run_pass(ctx, "RealtimeConsumerMonitor", None, SYSTEM),
}


def _elsewhere(work: str) -> None:
    """Have the same done on every Pinot cluster that is up; what can not be handed over now is left to
    the next time.
    """
    usable = (Cluster.State.UP, Cluster.State.UNKNOWN)
    for name in Cluster.objects.filter(kind=Cluster.Kind.PINOT, state__in=usable).values_list("name", flat=True):
        if not enqueue_on_cluster(wiring.queue(), name, work):
            return


@shared_task(name="segments.tasks.on_cluster")
def on_cluster(name: str, work: str) -> list[str]:
    """Do one of the scheduled things on a Pinot cluster; nothing when it is being done there, or too much else is."""
    own = wiring.context()
    with ExitStack() as held:
        for turn in (
            one_of(own, f"{work} on {name}", 1),
            one_of(own, "pinot", PINOT_SLOTS),
            turn_of_task(own, on_cluster.name, alone=False),
        ):
            if not held.enter_context(turn):
                return []
        try:
            sentences = _ON_PINOT[work](wiring.context(name))
        except (NotFound, Unavailable) as error:
            log.info("%s on cluster %s: %s", work, name, error)  # the cluster's row tells it already
            return []
    for sentence in sentences:
        log.info("%s: %s", name, sentence)
    return sentences


# -- pushes


@shared_task(name="segments.tasks.run_push")
def run_push(push_id: str) -> str:
    """Carry a push out, or what is left of it. An attempt that takes longer than the limit is left behind, and others
    go on.
    """
    from segments.services.push import push_run  # the worker's other processes need none of what building needs

    owner, limit_s = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}", TASKS[run_push.name].limit_s
    ctx = _context_of(push_id)
    try:
        sentence = within(
            limit_s,
            lambda: push_run.run_push(ctx, push_id, owner, builder=wiring.push_builder()),
            name=f"push-{push_id}",
        )
    except StateConflict as error:
        sentence = str(error)
    except TimeIsUp:
        sentence = push_session.take_away(
            ctx, push_id, owner, f"An attempt took longer than {limit_s / 3600:g} h and was given up."
        )
    log.info("%s", sentence)
    return sentence


@shared_task(name="segments.tasks.resume_lost_pushes")
def resume_lost_pushes() -> list[str]:
    """Hand pushes whose worker was lost to the queue again."""
    _elsewhere("resume_lost_pushes")
    return _own("resume_lost_pushes", _resume, logging.WARNING)


def _resume(ctx: Context) -> list[str]:
    from segments.services.push import pushes as push  # the worker's other processes need none of what building needs

    return push.resume_lost(ctx)


def _context_of(push_id: str) -> Context:
    cluster = Push.objects.filter(pk=push_id).values_list("cluster", flat=True).first()
    return wiring.context(cluster or None)


@worker_ready.connect
def _warm_spark(**_: Any) -> None:
    """Start Spark in the background, so that a worker's first push finds it running; only where asked for."""
    if os.environ.get("PINOTADMIN_WARM_SPARK") == "1":
        threading.Thread(target=_warm, name="warm-spark", daemon=True).start()


def _warm() -> None:
    from segments.spark import session  # heavy: PySpark, for the worker of pushes alone

    try:
        log.info("Spark is warm after %.1f s.", session.warm(settings.SPARK_MASTER))
    except Exception:
        log.exception("Spark could not be started ahead; the first push will try again.")


# -- replacements


@shared_task(name="segments.tasks.follow_end")
def follow_end(job_id: str, cluster: str | None = None) -> str:
    """Carry a background end on for a while; what takes longer is left to ``advance_ends``, which has its turn in any
    case.
    """
    with (
        one_of(wiring.context(), "follow", 1) as is_free,
        turn_of_task(wiring.context(), follow_end.name, alone=False) as may_run,
    ):
        if not (is_free and may_run):
            return f"Job {job_id} is left to the schedule."
        job = end_jobs.follow(wiring.context(cluster), job_id, _FOLLOW_S)
    return f"Job {job_id} is {job.state if job else 'gone'}."


@shared_task(name="segments.tasks.advance_ends")
def advance_ends() -> list[str]:
    """One look at every background end."""
    _elsewhere("advance_ends")
    return _own("advance_ends", end_jobs.advance_all)


@shared_task(name="segments.tasks.reap_entries")
def reap_entries() -> list[str]:
    """Give up replacements whose client is gone."""
    _elsewhere("reap_entries")
    return _own("reap_entries", entry_reaper.run_all, logging.WARNING)


# -- periodic passes


def _pass(name: str, pass_name: str) -> list[str]:
    """Run a pass over all tables of the own cluster; its sentences are on record with each table."""
    ctx = wiring.context()
    with turn_of_task(ctx, _PREFIX + name) as is_free:
        return passes.run_pass(ctx, pass_name, None, SYSTEM) if is_free else []


@shared_task(name="segments.tasks.run_periodic")
def run_periodic(name: str, table: str | None = None, actor: str = "system", cluster: str | None = None) -> list[str]:
    """Run one pass by Pinot's name over one table (typed name) or all."""
    raw, kind = split_table_name(table or "")
    return passes.run_pass(wiring.context(cluster), name, TableName(raw, kind) if kind else None, Actor(actor))


@shared_task(name="segments.tasks.run_retention")
def run_retention() -> list[str]:
    """Lineage clean-up, time retention and files of deleted segments, all tables."""
    return _pass("run_retention", "RetentionManager")


@shared_task(name="segments.tasks.run_validation")
def run_validation() -> list[str]:
    """Find what is not as it should be, all tables."""
    _elsewhere("run_validation")
    return _pass("run_validation", "SegmentStatusChecker")


@shared_task(name="segments.tasks.run_realtime_validation")
def run_realtime_validation() -> list[str]:
    """Repair the consumption of realtime tables and list what can not be repaired; ``copy_to_deep_store`` does what
    needs the store.
    """
    return _pass("run_realtime_validation", passes.CONSUMPTION)


@shared_task(name="segments.tasks.copy_to_deep_store")
def copy_to_deep_store() -> list[str]:
    """Segments that only servers have go into the deep store, all tables; left uploads go out of it."""
    return _pass("copy_to_deep_store", passes.COPIES)


@shared_task(name="segments.tasks.keep_consumption")
def keep_consumption() -> list[str]:
    """See pauses, force commits and planned resumes through; set going what stands still."""
    _elsewhere("keep_consumption")
    return _own("keep_consumption", realtime_validation.keep_consumption)


@shared_task(name="segments.tasks.sample_lag")
def sample_lag() -> list[str]:
    """Note how far each partition is behind its stream, all tables."""
    _elsewhere("sample_lag")
    return _pass("sample_lag", "RealtimeConsumerMonitor")


@shared_task(name="segments.tasks.drain_deletions")
def drain_deletions() -> list[str]:
    """Finish deletions that wait for servers to let go."""
    return _own("drain_deletions", deletion.drain_all)


@shared_task(name="segments.tasks.find_alerts")
def find_alerts() -> list[str]:
    """Findings that no other pass makes; messages about all that were opened or closed. Goes on while ZooKeeper is
    away.
    """
    watched = wiring.watched()
    with watched.board.alone("find", TASKS[find_alerts.name].limit_s) as is_free:
        if not is_free:
            return []
        now = timezone.now()
        sources.find(watched, now)
        count = events.announce(now, by_mail=wiring.mail_wish())
    return [f"{count} events are to be sent."] if count else []


@shared_task(name="segments.tasks.deliver_alerts")
def deliver_alerts() -> list[str]:
    """Send webhooks and mail that are due, one run at a time: dead receivers hold one slot at most."""
    with wiring.worker_board().alone("deliver", TASKS[deliver_alerts.name].limit_s) as is_free:
        sentences = delivery.deliver(wiring.outgoing_alerts(), timezone.now) if is_free else []
    for sentence in sentences:
        log.warning("%s", sentence)
    return sentences


@shared_task(name="segments.tasks.keep_house")
def keep_house() -> list[str]:
    """Delete ended sessions, and records older than they are kept."""
    sentences = housekeeping.run()
    for sentence in sentences:
        log.info("%s", sentence)
    return sentences
