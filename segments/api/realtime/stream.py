"""/api/v1/tables/{table}/stream: what waits in a realtime table's stream."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, int_param
from segments.errors import InvalidInput, NotFound
from segments.models import Table
from segments.services.realtime.monitor import series
from segments.services.realtime.realtime_state import realtime_table

_DAY: Final = 24


class StreamState(ApiView):
    """Lag, rows per second and freshness of a table, as the console's page *Stream* draws them."""

    parameters = {"GET": ("hours", "partition")}
    answers = {"GET": {200: "object"}}

    def get(self, request: Request, table: str) -> Response:
        """``hours``: 1, 6 or 24 (default); ``partition``: the history of this one only, else of all together. From
        samples, one a minute: no server and no stream is asked.
        """
        name, hours, partition = realtime_table(table), int_param(request, "hours"), int_param(request, "partition")
        if hours is not None and hours not in series.HOURS:
            raise InvalidInput(f"'hours' must be 1, 6 or 24, not {hours}.", remedy="Write hours=6, or leave it out.")
        row = Table.objects.filter(cluster__name=self.ctx.cluster, name=name.typed).select_related("cluster").first()
        if row is None:
            raise NotFound(f"Table '{name}' does not exist.", remedy="List the tables with GET /tables.")
        if partition is not None and not 0 <= partition < 1 << 31:
            raise InvalidInput(f"There is no partition {partition}.", remedy="Partitions are numbered from 0 on.")
        now = datetime.fromtimestamp(self.ctx.clock() / 1000, UTC)
        return Response(series.document(row, now, hours or _DAY, partition))
