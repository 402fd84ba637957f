"""/api/v1/tasks and table status: what a real Pinot's controller says of minion tasks, schedules and tables."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, text_param
from segments.clusters.pinot.tasks import queues as pinot_tasks
from segments.errors import StateConflict
from segments.services.tables import tables
from segments.services.upkeep import passes


class Tasks(ApiView):
    """Minion tasks by type, the scheduler's jobs, and periodic tasks."""

    def get(self, request: Request) -> Response:
        """``notes`` says what the controller does not say. The installation's own cluster has periodic passes only."""
        if not self.ctx.engine.offers.minion_tasks:
            return Response(pinot_tasks.PinotTasks(periodic=tuple(sorted(passes.PASSES))).to_json())
        return Response(pinot_tasks.read_tasks(self.ctx).to_json())


class TableStatus(ApiView):
    """What a real Pinot's controller itself says of a table."""

    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str) -> Response:
        """Size, ingestion, segments; null where its version does not say."""
        if not self.ctx.engine.offers.pass_through:
            raise StateConflict(
                "This cluster has no controller of Pinot.", remedy="Its findings are what validation says of a table."
            )
        found = tables.existing_tables(self.ctx, table, text_param(request, "type"))
        return Response({each.typed: pinot_tasks.table_status(self.ctx, each) for each in found})
