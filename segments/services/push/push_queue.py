"""Hands pushes to the workers by the task's name, for every edge alike."""

from __future__ import annotations

import logging
from typing import Final

from celery import current_app
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
RUN_PUSH: Final = "segments.tasks.run_push"


def enqueue_push(push_id: str) -> bool:
    """Put a push into the workers' queue; False if that is away: ``resume_lost`` does it later, the push itself is
    stored.
    """
    try:
        current_app.send_task(RUN_PUSH, args=[push_id], queue="pushes", retry=False)
    except (KombuError, RedisError, OSError) as error:
        log.warning("Push %s could not be queued now and will be later: %s", push_id, error)
        return False
    return True
