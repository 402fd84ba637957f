"""What is handed to the workers, for every edge alike. Nothing depends on the queue: what it does not take is stored
already, and a periodic pass takes it up.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from segments.errors import Unavailable

if TYPE_CHECKING:
    from segments.services.core.context import Context

log = logging.getLogger(__name__)
PREFIX: Final = "segments.tasks."
RUN_PUSH: Final = f"{PREFIX}run_push"
RUN_PERIODIC: Final = f"{PREFIX}run_periodic"
RUN_SESSION: Final = f"{PREFIX}ingestion_session"
FOLLOW_END: Final = f"{PREFIX}follow_end"
ON_CLUSTER: Final = f"{PREFIX}on_cluster"
FIRE_SCHEDULE: Final = f"{PREFIX}fire_schedule"
#: Hint of ``run_push``: how many attempts there were when it was queued.
ATTEMPTS: Final = "attempts"
_NONE: Final[Mapping[str, str]] = {}
#: Seconds after which a scheduled task that no worker has begun is dropped: its next run does the work.
_EXPIRES_S: Final = 10.0


class TaskQueue(Protocol):
    """Where tasks wait for a worker. ``cluster`` is what a task must name to run there; None: the installation's own
    cluster, which tasks work on when they name none.
    """

    @property
    def cluster(self) -> str | None:
        """See the class."""

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
        """Queue a task by its full name, with positional and ``named`` arguments; a worker that would begin it after
        ``expires_s`` seconds drops it, none begins it before ``after_s``. While parts are upgraded, workers of the last
        release take tasks, too, and fail on an argument that it did not have; ``hints`` they ignore. Unavailable when
        the queue cannot be reached.
        """


class NoQueue:
    """For processes that hand nothing over: every attempt is refused, as when the queue is down."""

    cluster = None

    def send(self, task: str, *_: str | None, **__: object) -> None:
        """Unavailable."""
        raise Unavailable(f"This process has no task queue for {task}.")


def enqueue_push(ctx: Context, push_id: str, attempts: int | None = None) -> bool:
    """Have a worker carry a push out; False if the queue is down: ``resume_lost`` hands it over later. ``attempts``:
    how many there were; the task comes to nothing once there was another one.
    """
    return _try(ctx.queue, RUN_PUSH, push_id, hints=_NONE if attempts is None else {ATTEMPTS: str(attempts)})


def enqueue_session(ctx: Context, typed_table: str, session_id: str) -> bool:
    """Have a worker carry a file ingestion session on; False if the queue is down: ``resume_lost`` hands it over
    later.
    """
    return _try(ctx.queue, RUN_SESSION, typed_table, session_id, named=_cluster(ctx))


def enqueue_end(ctx: Context, job_id: str) -> bool:
    """Have a worker carry a background end on immediately; False if the queue is down: the schedule does it later."""
    return _try(ctx.queue, FOLLOW_END, job_id, named=_cluster(ctx))


def enqueue_clean_up(ctx: Context, typed_table: str) -> bool:
    """Have a worker run the retention pass over a table; False if the queue is down: the schedule runs it later."""
    return enqueue_pass(ctx, "RetentionManager", typed_table)


def enqueue_pass(ctx: Context, name: str, typed_table: str, *, after_s: float | None = None) -> bool:
    """Have a worker run a pass over a table, in ``after_s`` seconds or at once; False if the queue is down: the
    schedule runs it later.
    """
    return _try(ctx.queue, RUN_PERIODIC, name, typed_table, named=_cluster(ctx), after_s=after_s)


def enqueue_rebalance(ctx: Context, typed_table: str) -> bool:
    """Have a worker carry the table's rebalance on; False if the queue is down: the schedule does it later."""
    return enqueue_pass(ctx, "RebalanceChecker", typed_table)


def enqueue_on_cluster(queue: TaskQueue, cluster: str, work: str) -> bool:
    """Have a worker do one of the scheduled things on a Pinot cluster; False if the queue is down: its next run is."""
    return _try(queue, ON_CLUSTER, cluster, work, expires_s=_EXPIRES_S)


def start_pass(ctx: Context, name: str, typed_table: str | None, properties: Mapping[str, str] = _NONE) -> str:
    """Have a worker run a pass over one table or all; returns the task's id, ``api-`` and eight hex digits.

    ``properties`` are those of this run, checked by ``parse_run_properties``. Unavailable when the queue cannot be
    reached: who asked is to know.
    """
    task_id = f"api-{uuid.uuid4().hex[:8]}"
    asked = {"properties": json.dumps(dict(properties))} if properties else _NONE
    ctx.queue.send(RUN_PERIODIC, name, typed_table, named={**_cluster(ctx), **asked}, task_id=task_id)
    return task_id


def _cluster(ctx: Context) -> Mapping[str, str]:
    return {"cluster": ctx.queue.cluster} if ctx.queue.cluster else _NONE


def _try(
    queue: TaskQueue,
    task: str,
    *arguments: str,
    named: Mapping[str, str] = _NONE,
    hints: Mapping[str, str] = _NONE,
    expires_s: float | None = None,
    after_s: float | None = None,
) -> bool:
    try:
        queue.send(task, *arguments, named=named, hints=hints, expires_s=expires_s, after_s=after_s)
    except Unavailable as error:
        shown = f"{task.removeprefix(PREFIX)}({', '.join((*arguments, *named.values()))})"
        log.warning("%s could not be handed to the workers now and is left to the schedule: %s", shown, error.message)
        return False
    return True
