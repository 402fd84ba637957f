"""Celery tasks: each takes names, builds the context, and calls one use case.

The periodic ones are made from their declarations (``services.upkeep.periodic_passes``). None overlaps itself unless it
says so: a run that finds the one before still at work does nothing. What is scheduled is done on the own cluster in the
task itself, and handed to the workers for each Pinot cluster: a slow one keeps two slots at most, and never the own
cluster's tasks.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Final

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from segments import wiring
from segments.domain.jobs.workers.pools import ON_DEMAND, PINOT_SLOTS, TaskRule
from segments.domain.upkeep.run_properties import parse_run_properties
from segments.errors import Conflict, NotFound, StateConflict, Unavailable
from segments.gateways.celery_queue import hint_of
from segments.models import Cluster, Push
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.core.context import Actor, Context
from segments.services.jobs.queue import (
    ATTEMPTS,
    FIRE_SCHEDULE,
    FOLLOW_END,
    ON_CLUSTER,
    PREFIX,
    RUN_PERIODIC,
    RUN_PUSH,
    RUN_SESSION,
    enqueue_on_cluster,
)
from segments.services.jobs.table_passes import one_of, task_lock
from segments.services.jobs.time_limit import TimeIsUp, within
from segments.services.push import push_session
from segments.services.replacement.ends import end_jobs
from segments.services.schedules import beat_rows, task_start
from segments.services.upkeep import passes
from segments.services.upkeep.pass_declaration import ClusterPass, OncePass, Periodic
from segments.services.upkeep.periodic_passes import DECLARED

log = logging.getLogger(__name__)
#: Seconds that one task stays with a background end.
_FOLLOW_S: Final = 20.0


def _limits(rule: TaskRule) -> dict[str, Any]:
    """What Celery enforces, where its pool has processes, and which pool's board shows the task."""
    return {"time_limit": rule.limit_s, "pool": rule.pool}


# -- periodic passes


def _work_of(one: Periodic) -> Callable[[Context], list[str]]:
    """What the pass does on one cluster. What goes over tables is on record with each; the rest is logged."""
    if isinstance(one.scope, ClusterPass):
        return one.scope.run
    return partial(passes.run_scheduled, one=one.scope) if not isinstance(one.scope, OncePass) else lambda _: []


#: What each pass over clusters does on one of them, by its task.
_WORK: Final = {one.task: _work_of(one) for one in DECLARED if not isinstance(one.scope, OncePass)}


def _run(one: Periodic) -> list[str]:
    """One scheduled run, on every cluster that it is for."""
    with ExitStack() as held:
        if isinstance(one.scope, OncePass):
            alone = wiring.worker_board().alone(one.task, one.rule.limit_s)
            is_free = one.may_overlap or held.enter_context(alone)
            sentences = one.scope.run(wiring) if is_free else []
        else:
            if one.on_pinot:
                _elsewhere(one.task)
            ctx = wiring.context()
            lock = task_lock(ctx, PREFIX + one.task, one.rule, alone=not one.may_overlap)
            sentences = _WORK[one.task](ctx) if held.enter_context(lock) else []
    return _logged(one, sentences)


def _logged(one: Periodic, sentences: list[str], where: str = "") -> list[str]:
    if isinstance(one.scope, ClusterPass | OncePass) or where:
        for sentence in sentences:
            log.log(logging.WARNING if one.warns else logging.INFO, "%s%s", where, sentence)
    return sentences


def _task_of(one: Periodic) -> Any:
    def run() -> list[str]:
        return _run(one)

    run.__name__, run.__doc__ = one.task, one.does
    make: Any = shared_task(name=PREFIX + one.task, **_limits(one.rule))
    return make(run)


#: The periodic tasks by their short names.
SCHEDULED: Final[dict[str, Any]] = {one.task: _task_of(one) for one in DECLARED}


def _elsewhere(work: str) -> None:
    """Have the same done on every Pinot cluster that is up; what cannot be handed over now is left to
    the next time.
    """
    usable = (Cluster.State.UP, Cluster.State.UNKNOWN)
    for name in Cluster.objects.filter(kind=Cluster.Kind.PINOT, state__in=usable).values_list("name", flat=True):
        if not enqueue_on_cluster(wiring.queue(), name, work):
            return


@shared_task(name=ON_CLUSTER, **_limits(ON_DEMAND["on_cluster"]))
def on_cluster(name: str, work: str) -> list[str]:
    """Do one of the scheduled things on a Pinot cluster; nothing when it is being done there, or too much else is."""
    own, (one,) = wiring.context(), (one for one in DECLARED if one.task == work and one.on_pinot)
    with ExitStack() as held:
        for turn in (
            one_of(own, f"{work} on {name}", 1),
            one_of(own, "pinot", PINOT_SLOTS),
            task_lock(own, ON_CLUSTER, ON_DEMAND["on_cluster"], alone=False),
        ):
            if not held.enter_context(turn):
                return []
        try:
            sentences = _WORK[work](wiring.context(name))
        except (NotFound, Unavailable) as error:
            log.info("%s on cluster %s: %s", work, name, error)  # the cluster's row shows it already
            return []
    return _logged(one, sentences, f"{name}: ")


@shared_task(name=RUN_PERIODIC, **_limits(ON_DEMAND["run_periodic"]))
def run_periodic(
    name: str, table: str | None = None, actor: str = "system", cluster: str | None = None, properties: str = "{}"
) -> list[str]:
    """Run one pass by Pinot's name over one table (typed name) or all; ``properties`` are this run's, as JSON."""
    raw, kind = split_table_name(table or "")
    ctx = replace(wiring.context(cluster), run_properties=parse_run_properties(name, json.loads(properties)))
    return passes.run_pass(ctx, name, TableName(raw, kind) if kind else None, Actor(actor))


# -- schedules of tables' tasks


@shared_task(name=FIRE_SCHEDULE, **_limits(ON_DEMAND["fire_schedule"]))
def fire_schedule(cluster: str, table: str, due_ms: int) -> str:
    """Start what a table's schedule says is due; its row fires again until somebody did."""
    raw, kind = split_table_name(table)
    if kind is None:
        return f"'{table}' is not a table."
    with task_lock(wiring.context(), FIRE_SCHEDULE, ON_DEMAND["fire_schedule"], alone=False) as may_run:
        if not may_run:
            return f"The schedule of {table} waits for a free slot."
        try:
            ctx, name = wiring.context(cluster), TableName(raw, kind)
            sentence = task_start.fire(ctx, name, due_ms)
            beat_rows.go_on(ctx, name, due_ms)
        except (NotFound, Unavailable) as error:
            sentence = f"The schedule of {table} on cluster {cluster} waits: {error}"
    log.info("%s", sentence)
    return sentence


# -- pushes


@shared_task(name=RUN_PUSH, bind=True, **_limits(ON_DEMAND["run_push"]))
def run_push(self: Any, push_id: str) -> str:
    """Carry a push out, or what is left of it, unless there were other attempts since it was queued. An attempt that
    takes longer than the limit is left behind, and others go on.
    """
    from segments.services.push import push_run  # the worker's other processes need none of what building needs

    owner, limit_s = _owner(), ON_DEMAND["run_push"].limit_s
    ctx, attempts = _context_of(push_id), hint_of(self.request, ATTEMPTS)
    made = None if attempts is None else int(attempts)
    try:
        sentence = within(
            limit_s,
            lambda: push_run.run_push(ctx, push_id, owner, builder=wiring.push_builder(), attempts=made),
            name=f"push-{push_id}",
        )
    except StateConflict as error:
        sentence = str(error)
    except TimeIsUp:
        sentence = push_session.revoke_lease(
            ctx, push_id, owner, f"An attempt took longer than {limit_s / 3600:g} h and was given up."
        )
    log.info("%s", sentence)
    return sentence


@shared_task(name=RUN_SESSION, **_limits(ON_DEMAND["ingestion_session"]))
def ingestion_session(typed_table: str, session_id: str, cluster: str | None = None) -> str:
    """Carry a run of a file ingestion session out, or what is left of it. One that takes longer than the limit is left
    behind; its session is carried on by another worker once its lease has lapsed.
    """
    from segments.services.ingestion import session_run  # the worker's other processes need none of it

    owner, limit_s = _owner(), ON_DEMAND["ingestion_session"].limit_s
    ctx, (raw, _) = wiring.context(cluster), split_table_name(typed_table)
    builder = wiring.push_builder()
    try:
        sentence = within(
            limit_s,
            lambda: session_run.run_session(ctx, TableName(raw, OFFLINE), session_id, owner, builder=builder),
            name=f"session-{session_id}",
        )
    except (StateConflict, Conflict) as error:
        sentence = str(error)
    except TimeIsUp:
        sentence = f"A run of session {session_id} took longer than {limit_s / 3600:g} h and was given up."
    log.info("%s", sentence)
    return sentence


def _owner() -> str:
    """Who holds a lease: this process, and which of its attempts."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def _context_of(push_id: str) -> Context:
    cluster = Push.objects.filter(pk=push_id).values_list("cluster", flat=True).first()
    return wiring.context(cluster or None)


@worker_ready.connect
def _warm_spark(**_: Any) -> None:
    """Start Spark in the background, so that a worker's first push finds it running; only where it is wanted."""
    if os.environ.get("PINOTADMIN_WARM_SPARK") == "1":
        threading.Thread(target=_warm, name="warm-spark", daemon=True).start()


def _warm() -> None:
    from segments.spark import session  # heavy: PySpark, for the worker of pushes alone

    try:
        log.info("Spark is warm after %.1f s.", session.warm(settings.SPARK_MASTER))
    except Exception:
        log.exception("Spark could not be started ahead; the first push will try again.")


# -- replacements


@shared_task(name=FOLLOW_END, **_limits(ON_DEMAND["follow_end"]))
def follow_end(job_id: str, cluster: str | None = None) -> str:
    """Carry a background end on for a while; what takes longer is left to ``advance_ends``, which runs in any
    case.
    """
    with (
        one_of(wiring.context(), "follow", 1) as is_free,
        task_lock(wiring.context(), FOLLOW_END, ON_DEMAND["follow_end"], alone=False) as may_run,
    ):
        if not (is_free and may_run):
            return f"Job {job_id} is left to the schedule."
        job = end_jobs.follow(wiring.context(cluster), job_id, _FOLLOW_S)
    return f"Job {job_id} is {job.state if job else 'gone'}."
