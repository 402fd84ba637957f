"""Hands background ends, and the clean-up after them, to the workers by the task's name, for every edge alike."""

from __future__ import annotations

import logging
from typing import Final

from celery import current_app
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
_RUN_PERIODIC: Final = "segments.tasks.run_periodic"
FOLLOW_END: Final = "segments.tasks.follow_end"


def enqueue_end(job_id: str) -> bool:
    """Have a worker look at the job right away; False if the queue is away: the periodic look does it later, the job itself is stored."""
    return _send(FOLLOW_END, job_id)


def enqueue_clean_up(typed_table: str) -> bool:
    """Have a worker run the retention pass over a table; False if the queue is away: the schedule runs it later."""
    return _send(_RUN_PERIODIC, "RetentionManager", typed_table)


def _send(task: str, *arguments: str) -> bool:
    try:
        current_app.send_task(task, args=list(arguments), retry=False)
    except (KombuError, RedisError, OSError) as error:
        log.warning("%s(%s) could not be handed to the workers now and is left to the schedule: %s", task, ", ".join(arguments), error)
        return False
    return True
