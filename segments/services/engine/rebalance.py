"""Rebalance: a table's segments are spread over its servers again, as every kind of cluster offers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from segments.domain.rebalance.answers import Progress, Result
    from segments.domain.rebalance.options import Options
    from segments.names import TableName
    from segments.services.core.context import Actor, Context


class RebalanceEngine(Protocol):
    """Rebalance of one table at a time. NotFound for a table that does not exist, InvalidInput for options that cannot
    be kept.

    Embedded: a durable job; each step is one conditional write, and any process takes the next. Pinot: its controller
    does it; StateConflict with the reason where its version cannot.
    """

    def preview(self, ctx: Context, table: TableName, options: Options, *, has_checks: bool) -> Result:
        """What would move; nothing is written. Status NO_OP when nothing would."""

    def start(self, ctx: Context, table: TableName, options: Options, actor: Actor) -> Result:
        """Begin. StateConflict while another rebalance of the table runs; status NO_OP, and no job, when nothing is to
        be moved; FAILED when the only copy of rows might be lost and that is not allowed.
        """

    def status(self, ctx: Context, job_id: str) -> Progress:
        """How far it is, read now. NotFound when nobody knows the job."""

    def newest(self, ctx: Context, table: TableName) -> Progress | None:
        """The rebalance that runs, or ran last; None when none is on record."""

    def stop(self, ctx: Context, table: TableName, actor: Actor) -> list[str]:
        """Stop what runs; ids of the jobs that were stopped. Every segment is then served where the ideal state says:
        on its new servers where these serve it, else on those that it had.
        """

    def keep(self, ctx: Context) -> list[str]:
        """The pass of every few seconds over all tables: running jobs are carried on; a sentence for each that ended.
        Pinot: nothing, its controllers do that.
        """
