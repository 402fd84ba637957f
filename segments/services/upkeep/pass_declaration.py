"""What a declaration of a periodic pass says; the declarations themselves are in ``periodic_passes.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from segments.domain.jobs.workers.pools import TaskRule
from segments.gateways.worker_status import WorkerStatus
from segments.names import TableName, TableType
from segments.services.alerts.scheduled import AlertParts
from segments.services.core.context import Context


class Parts(AlertParts, Protocol):
    """What a pass over the whole installation may need; the wiring has it."""

    def worker_board(self) -> WorkerStatus:
        """Where it holds its lock, which needs no ZooKeeper."""


@dataclass(frozen=True)
class TablePass:
    """A pass over one table. ``name`` is that of its runs, and of Pinot's own pass where there is one: under it
    ``/periodictask/run`` and the console's form start it. With ``part_of`` it is one of those that a pass of that other
    name consists of, and nobody starts it alone; ``shown`` is then the name of its runs.

    ``table_type``: the only tables that it reads; None: all. ``afterwards`` is called when it went over all tables.
    """

    name: str
    run: Callable[[Context, TableName], list[str]]
    table_type: TableType | None = None
    part_of: str = ""
    shown: str = ""
    afterwards: Callable[[Context], list[str]] | None = None


@dataclass(frozen=True)
class ClusterPass:
    """A pass over a cluster at once; what it did is logged."""

    run: Callable[[Context], list[str]]


@dataclass(frozen=True)
class OncePass:
    """A pass for the installation, which goes on while ZooKeeper is down."""

    run: Callable[[Parts], list[str]]


@dataclass(frozen=True)
class Every:
    """Its schedule until an operator changes it. ``title`` names the row in the database: a new title is a new row."""

    title: str
    number: int
    unit: Literal["seconds", "minutes", "hours"]


@dataclass(frozen=True)
class Periodic:
    """One periodic pass, whole: task, schedule, scope, worker and longest time, and where it runs.

    ``task`` is the name of its Celery task below ``segments.tasks.``, which stands in databases and queues: it stays.
    ``on_pinot``: it runs on the Pinot clusters that are up, too; else Pinot does this itself. ``may_overlap``: a run
    may begin while the one before is at work. ``warns``: what it says is logged as a warning. ``by_name``: how it is
    started over one table, where the schedule's own way is another.
    """

    task: str
    does: str
    every: Every
    scope: TablePass | ClusterPass | OncePass
    rule: TaskRule
    on_pinot: bool = False
    may_overlap: bool = False
    warns: bool = False
    by_name: TablePass | None = None
