"""The pools of worker processes, and what a task says of its pool and its longest time; the supervisor starts these.

Pools keep apart what may wait for long: a deep store that hangs stops repairs, long pushes stop other pushes, and
neither stops the short passes. Repairs and short passes run in processes of their own (Celery's prefork), because only
a process can be ended in the middle of a call that hangs; pushes share one process, since they share one Spark, and one
that takes too long is left behind by its thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Pool:
    """A worker of the installation. ``name`` is that of its process and its queue, ``slots`` how many tasks run at
    once, ``quiet_s`` after how many seconds without a finished task something is wrong (None: it may have nothing to do
    for ever).
    """

    name: str
    queue: str
    slots: int
    kind: str
    quiet_s: float | None
    purpose: str


@dataclass(frozen=True)
class TaskRule:
    """Where a task runs and its longest time in seconds: then its process is ended, and its slot is free again.
    ``is_long``: it may take a while in the normal course of things, so that not all slots of its pool are given to its
    like.
    """

    pool: Pool
    limit_s: int
    is_long: bool = False


PUSHES: Final = Pool("worker", "pushes", 4, "threads", None, "pushes and file ingestion, with Spark")
REPAIRS: Final = Pool(
    "repairs", "repairs", 2, "prefork", 600.0, "what needs the deep store, and passes that somebody started"
)
PASSES: Final = Pool(
    "passes", "passes", 7, "prefork", 60.0, "short passes: leases, planned resumes, background ends, findings"
)
VALIDATION: Final = Pool(
    "validation", "validation", 2, "prefork", 600.0, "repairs of consumption, and copies into the deep store"
)
POOLS: Final = (PUSHES, REPAIRS, PASSES, VALIDATION)

#: Slots of ``PASSES`` that long tasks may hold at once, and those among them that are with Pinot clusters. What is left
#: is for planned resumes, leases and lost pushes.
LONG_SLOTS: Final = 4
PINOT_SLOTS: Final = 2

#: What runs on demand; what is scheduled is in ``services.upkeep.periodic_passes``. A redelivered task must not meet
#: itself: limits stay below the queue's visibility timeout of an hour, but for pushes and sessions, whose leases see to
#: that.
ON_DEMAND: Final[dict[str, TaskRule]] = {
    "run_push": TaskRule(PUSHES, 6 * 3600),
    "ingestion_session": TaskRule(PUSHES, 6 * 3600),
    "run_periodic": TaskRule(REPAIRS, 1800),
    "follow_end": TaskRule(PASSES, 900, is_long=True),
    "on_cluster": TaskRule(PASSES, 300, is_long=True),
    "fire_schedule": TaskRule(PASSES, 300, is_long=True),
}
