"""While parts are upgraded one after another, workers of the last release and of this version take tasks from one
queue, whoever sent them: each knows the arguments of the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pinotadmin.celery import app
from segments import tasks
from segments.gateways import celery_queue
from segments.gateways.celery_queue import CeleryQueue
from segments.services.core.context import Context
from segments.services.jobs import queue
from segments.services.push import push_run


# What the tasks of 0.2.0 take.
def _run_push(push_id: str) -> None: ...
def _ingestion_session(typed_table: str, session_id: str, cluster: str | None = None) -> None: ...
def _follow_end(job_id: str, cluster: str | None = None) -> None: ...
def _on_cluster(name: str, work: str) -> None: ...
def _fire_schedule(cluster: str, table: str, due_ms: int) -> None: ...
def _run_periodic(
    name: str, table: str | None = None, actor: str = "system", cluster: str | None = None, properties: str = "{}"
) -> None: ...


_RELEASED: dict[str, Callable[..., None]] = {
    queue.RUN_PUSH: _run_push, queue.RUN_SESSION: _ingestion_session, queue.FOLLOW_END: _follow_end,
    queue.ON_CLUSTER: _on_cluster, queue.FIRE_SCHEDULE: _fire_schedule, queue.RUN_PERIODIC: _run_periodic,
}  # fmt: skip


@dataclass
class Recorded:
    """Everything that was sent."""

    cluster: str | None = "prod"
    sent: list[tuple[str, tuple[Any, ...], Mapping[str, str]]] = field(default_factory=list)

    def send(self, task: str, *arguments: str | None, named: Mapping[str, str] | None = None, **_: object) -> None:
        self.sent.append((task, arguments, named or {}))


def test_workers_of_the_last_release_take_what_this_version_sends() -> None:
    sends = Recorded()
    ctx = cast(Context, SimpleNamespace(queue=sends))
    queue.enqueue_push(ctx, "p1", 3)
    queue.enqueue_session(ctx, "t_OFFLINE", "s1")
    queue.enqueue_end(ctx, "j1")
    queue.enqueue_clean_up(ctx, "t_OFFLINE")
    queue.enqueue_rebalance(ctx, "t_OFFLINE")
    queue.enqueue_on_cluster(sends, "prod", "run_validation")
    queue.start_pass(ctx, "RetentionManager", None, {"a": "b"})
    assert {task for task, _, _ in sends.sent} == set(_RELEASED) - {queue.FIRE_SCHEDULE}, "a task without a test"
    for task, arguments, named in sends.sent:
        inspect.signature(_RELEASED[task]).bind(*arguments, **named)


@pytest.mark.parametrize("task", _RELEASED)
def test_workers_of_this_version_take_what_the_last_release_sends(task: str) -> None:
    released, ours = inspect.signature(_RELEASED[task]), inspect.signature(app.tasks[task].run)
    ours.bind(*released.parameters)
    needed = [one.name for one in released.parameters.values() if one.default is inspect.Parameter.empty]
    optional = {one: "" for one in released.parameters if one not in needed}
    ours.bind(*needed, **optional)


@pytest.mark.parametrize(("hints", "attempts"), [({queue.ATTEMPTS: "3"}, 3), ({}, None)])
def test_a_worker_knows_how_many_attempts_there_were(
    monkeypatch: pytest.MonkeyPatch, hints: dict[str, str], attempts: int | None
) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(celery_queue.current_app, "send_task", lambda name, **options: seen.update(options))
    CeleryQueue().send(queue.RUN_PUSH, "p1", hints=hints)
    monkeypatch.setattr(push_run, "run_push", lambda ctx, push, owner, **given: seen.update(given) or "done")
    monkeypatch.setattr(tasks.wiring, "push_builder", lambda: None)
    monkeypatch.setattr(tasks, "_context_of", lambda push: None)
    tasks.run_push.push_request(headers=seen["headers"])
    try:
        assert tasks.run_push.run(*seen["args"]) == "done"
    finally:
        tasks.run_push.pop_request()
    assert seen["attempts"] == attempts
