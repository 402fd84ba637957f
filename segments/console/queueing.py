"""Hands a push to the workers by its task's name, so that this edge imports no other edge."""

from __future__ import annotations

import logging
from typing import Final

from celery import current_app
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

RUN_PUSH: Final = "segments.tasks.run_push"


def enqueue_push(push_id: str) -> bool:
    """Queue it; False when the queue can not be reached now: the worker's look-out for lost pushes takes it up later."""
    try:
        current_app.send_task(RUN_PUSH, args=[push_id], retry=False)
    except (KombuError, RedisError, OSError) as error:
        log.warning("Push %s could not be queued now and will be later: %s", push_id, error)
        return False
    return True
