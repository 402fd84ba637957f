"""Hands background ends to the workers by the task's name, for every edge alike."""

from __future__ import annotations

import logging
from typing import Final

from celery import current_app
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
FOLLOW_END: Final = "segments.tasks.follow_end"


def enqueue_end(job_id: str) -> bool:
    """Have a worker look at the job right away; False if the queue is away: the periodic look does it later, the job itself is stored."""
    try:
        current_app.send_task(FOLLOW_END, args=[job_id], retry=False)
    except (KombuError, RedisError, OSError) as error:
        log.warning("Job %s could not be handed to the workers now and will be later: %s", job_id, error)
        return False
    return True
