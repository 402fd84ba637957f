"""Hands background ends, and the clean-up after them, to the workers by the task's name, for every edge alike."""

from __future__ import annotations

import logging
from typing import Final

from celery import current_app
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from segments.services.core.context import Context

log = logging.getLogger(__name__)
_RUN_PERIODIC: Final = "segments.tasks.run_periodic"
FOLLOW_END: Final = "segments.tasks.follow_end"


def enqueue_end(job_id: str, ctx: Context | None = None) -> bool:
    """Have a worker look at the job right away; False if the queue is away: the periodic look does it later, the job
    itself is stored.
    """
    return _send(FOLLOW_END, job_id, cluster=_other(ctx))


def enqueue_clean_up(typed_table: str, ctx: Context | None = None) -> bool:
    """Have a worker run the retention pass over a table; False if the queue is away: the schedule runs it later."""
    return _send(_RUN_PERIODIC, "RetentionManager", typed_table, cluster=_other(ctx))


def _other(ctx: Context | None) -> str | None:
    """The cluster to name to the workers; None: the installation's own."""
    return ctx.cluster if ctx is not None and ctx.pinot is not None else None


def _send(task: str, *arguments: str, cluster: str | None) -> bool:
    try:
        current_app.send_task(task, args=list(arguments), kwargs={"cluster": cluster} if cluster else {}, retry=False)
    except (KombuError, RedisError, OSError) as error:
        log.warning(
            "%s(%s) could not be handed to the workers now and is left to the schedule: %s",
            task,
            ", ".join(arguments),
            error,
        )
        return False
    return True
