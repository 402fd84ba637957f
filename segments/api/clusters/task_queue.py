"""Hands a periodic pass to the workers by its task's name, so that this edge imports no other edge."""

from __future__ import annotations

import uuid
from typing import Final

from celery import current_app
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from segments.errors import Unavailable

RUN_PERIODIC: Final = "segments.tasks.run_periodic"


def run_periodic(name: str, typed_table: str | None, cluster: str | None = None) -> str:
    """Queue one run; returns its id, ``api-`` and eight hex digits. ``cluster``: another than the installation's own.

    Unavailable when the queue can not be reached.
    """
    task_id = f"api-{uuid.uuid4().hex[:8]}"
    try:
        current_app.send_task(
            RUN_PERIODIC, args=[name, typed_table], kwargs=_other(cluster), task_id=task_id, retry=False
        )
    except (KombuError, RedisError, OSError) as error:
        raise Unavailable(
            f"The task queue can not be reached: {error}.", remedy="Check that Redis runs (REDIS_URL)."
        ) from error
    return task_id


def _other(cluster: str | None) -> dict[str, str]:
    return {"cluster": cluster} if cluster else {}
