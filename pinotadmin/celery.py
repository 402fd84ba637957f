"""The Celery application: pushes and periodic passes; reports to the supervisor when workers and beat are up, and to
others what workers do.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celery import Celery, Task
from celery.signals import (
    beat_init,
    before_task_publish,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
)
from django.conf import settings

from segments import traces
from segments.domain.jobs.workers.pools import Pool
from segments.domain.jobs.workers.state import BEAT_EVERY_S
from segments.gateways import worker_status
from segments.gateways.celery_queue import REQUEST_ID, header_of
from segments.gateways.worker_status import WorkerStatus
from segments.processes.heartbeat_file import keep_heartbeat
from segments.processes.interpreter import collect_seldom, load_undisturbed
from segments.processes.roles.parent import end_with_parent
from segments.request_ids import begin_for
from segments.secret_texts import mask_text

load_undisturbed()
if TYPE_CHECKING:
    from segments.services.core.database_outage import Outage

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")


class LimitedTask(Task):  # type: ignore[type-arg]  # generic in the stubs only
    """The base of all tasks."""

    Request = "pinotadmin.limited_request:LimitedRequest"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """In the trace of what the task was queued for, if that is traced. It fails at once while the database does not
        answer.
        """
        if not (self.request.called_directly or self.request.is_eager):  # else the connection is the caller's
            _outage().before_use()
        parent = header_of(self.request, traces.HEADER)
        with traces.received(f"task {self.name}", parent, may_begin=False):
            return super().__call__(*args, **kwargs)


app = Celery("pinotadmin", task_cls=LimitedTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["segments"])


def mark_ready(name: str) -> None:
    """Touch DATA_DIR/run/NAME.ready, for which the supervisor waits, and go on touching it."""
    folder = os.environ.get("PINOTADMIN_DATA_DIR")
    if folder:
        keep_heartbeat(Path(folder) / "run" / f"{name}.ready")


@worker_init.connect
def _end_with_parent(**_: Any) -> None:
    """Processes of a pool end with the worker itself: Celery sees to that."""
    end_with_parent()


@worker_init.connect
def _share_memory(**_: Any) -> None:
    """What is loaded now stays shared with the processes of the pool: the collector of each would otherwise write to
    all of it.
    """
    collect_seldom()


@worker_ready.connect
@worker_process_init.connect
def _traces_begin(**_: Any) -> None:
    """In the worker itself, whose threads may run tasks, and again in each process of a pool."""
    traces.begin("worker", settings.TRACES)


@worker_shutdown.connect
@worker_process_shutdown.connect
def _traces_end(**_: Any) -> None:
    traces.end()


@worker_ready.connect
def _worker_is_ready(sender: Any, **_: Any) -> None:
    name = str(sender.hostname).partition("@")[0]
    _board().begin(name, _now_ms())
    threading.Thread(target=_beat, args=(name,), name="worker-beat", daemon=True).start()
    threading.Thread(target=_outage().watch, args=(BEAT_EVERY_S,), name="database", daemon=True).start()
    mark_ready(name)


@worker_init.connect
def _share_outage(**_: Any) -> None:
    """Before there are processes of a pool: all write one line together."""
    _outage().share()


@worker_process_init.connect
@worker_ready.connect
@beat_init.connect
def _one_line_per_outage(**_: Any) -> None:
    """Once the log is set up."""
    from segments.services.core.database_outage import once  # see _outage

    for handler in logging.getLogger().handlers:
        handler.addFilter(once)


def _outage() -> Outage:
    # Every command loads this module, and few of them a database.
    from segments.services.core.database_outage import database_outage

    return database_outage


def _beat(name: str) -> None:
    while True:
        time.sleep(BEAT_EVERY_S)
        _board().beat(name, _now_ms())


@before_task_publish.connect
def _task_is_queued(headers: dict[str, Any], **_: Any) -> None:
    """A task that is handed over again has waited since the first time."""
    headers.setdefault(worker_status.QUEUED_AT, _now_ms())


@task_prerun.connect
def _task_begins(task_id: str, task: Any, args: Any, kwargs: Any, **_: Any) -> None:
    begin_for(header_of(task.request, REQUEST_ID))
    if pool := _pool_of(task):
        _board().started(pool.name, task_id, task.name, _about(args, kwargs), _now_ms())


@task_postrun.connect
def _task_ends(task_id: str, task: Any, retval: Any = None, **_: Any) -> None:
    if pool := _pool_of(task):
        error = mask_text(f"{type(retval).__name__}: {retval}")[:500] if isinstance(retval, Exception) else ""
        _board().finished(pool.name, task_id, _now_ms(), task.name, error)


def note_ended(task_id: str, name: str, args: Any, kwargs: Any, limit_s: float) -> None:
    """A task of this worker was ended because its time was up."""
    if pool := _pool_of(app.tasks.get(name)):
        _board().ended(pool.name, task_id, name, _about(args, kwargs), limit_s, _now_ms())


@beat_init.connect
def _beat_is_ready(**_: Any) -> None:
    collect_seldom()
    mark_ready("beat")


def _pool_of(task: Any) -> Pool | None:
    """The pool that the task was made with; None: it is none of ours."""
    return getattr(task, "pool", None)


def _board() -> WorkerStatus:
    return worker_status.shared(settings.REDIS_URL, settings.CLUSTER_NAME)


def _about(args: Any, kwargs: Any) -> str:
    """What a task was given, in one line."""
    return " ".join(str(value) for value in (*(args or ()), *(kwargs or {}).values()) if value)[:200]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
