"""The workers' queue, through Celery: the only way in which this program hands tasks over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from celery import current_app
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from segments import traces
from segments.errors import Unavailable
from segments.request_ids import current_request

#: Header of a task: the request that it was queued in.
REQUEST_ID: Final = "pinotadmin_request_id"
_NONE: Final[Mapping[str, str]] = {}
#: Before the name of a hint, as a header of its task.
_HINT: Final = "pinotadmin_"


def header_of(request: Any, name: str) -> str | None:
    """Of a task that runs: Celery puts headers into either of the two."""
    found = (request.headers or {}).get(name) or request.get(name)
    return None if found is None else str(found)


def hint_of(request: Any, name: str) -> str | None:
    """What a task was sent with besides its arguments; None: nothing by that name."""
    return header_of(request, _HINT + name)


@dataclass(frozen=True)
class CeleryQueue:
    """Which worker a task goes to is Celery's ``task_routes``. ``cluster``: see ``services.jobs.queue.TaskQueue``."""

    cluster: str | None = None

    def send(
        self,
        task: str,
        *arguments: str | None,
        named: Mapping[str, str] = _NONE,
        hints: Mapping[str, str] = _NONE,
        task_id: str | None = None,
        expires_s: float | None = None,
        after_s: float | None = None,
    ) -> None:
        """Queue it, trying once. Unavailable when Redis does not answer."""
        try:
            current_app.send_task(
                task, args=list(arguments), kwargs=dict(named), task_id=task_id, expires=expires_s, countdown=after_s,
                retry=False,
                headers={REQUEST_ID: current_request(), **traces.sent(), **{_HINT + k: v for k, v in hints.items()}},
            )  # fmt: skip
        except (KombuError, RedisError, OSError) as error:
            raise Unavailable(
                f"The task queue cannot be reached: {error}.", remedy="Check that Redis runs (REDIS_URL)."
            ) from error
