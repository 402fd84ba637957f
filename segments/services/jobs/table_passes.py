"""Nothing overlaps itself: whoever runs a task, or a pass over a table, holds a lock that goes with its process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from segments.domain.jobs.workers.pools import LONG_SLOTS, TaskRule
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.jobs.job_lock import sole_worker


@contextmanager
def task_lock(own: Context, task: str, rule: TaskRule, *, alone: bool = True) -> Iterator[bool]:
    """May this task run now? False while it runs elsewhere (``alone``), or while long tasks hold all slots that they
    may have.

    ``own`` is the installation's own cluster.
    """
    with ExitStack() as held:
        is_free = not alone or held.enter_context(sole_worker(own, f"task {task}"))
        yield is_free and (not rule.is_long or held.enter_context(one_of(own, "long", LONG_SLOTS)))


@contextmanager
def pass_lock(ctx: Context, name: str, table: TableName) -> Iterator[bool]:
    """May this pass go over the table now? False while it does so elsewhere."""
    with sole_worker(ctx, f"pass {name} {table.typed}") as is_free:
        yield is_free


@contextmanager
def one_of(own: Context, what: str, places: int) -> Iterator[bool]:
    """Hold one of so many places, over all processes; False when all are taken."""
    with ExitStack() as held:
        yield any(held.enter_context(sole_worker(own, f"place {what} {number}")) for number in range(places))
