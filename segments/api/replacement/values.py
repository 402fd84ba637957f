"""/api/v1/lineage/{table}/diff/days and /values: the rows of two snapshots side by side."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView, need_text, text_param
from segments.api.replacement.lineage import table_of
from segments.services.access.api_tokens import person_name
from segments.services.replacement.values_diff import compare_column, compare_days


class DiffDays(ApiView):
    """Rows per day in two snapshots."""

    rights = {"GET": "query"}
    parameters = {"GET": ("type", "from", "to")}

    def get(self, request: Request, table: str) -> Response:
        """Rows of each day by the table's time column, the last 366 days with rows of each side; null on a side that
        cannot be read, which ``problems`` explains. Snapshots are named as for the difference of segments.
        """
        found = table_of(self, request, table)
        before, after = need_text(request, "from"), text_param(request, "to") or "current"
        with wiring.query_slots().slot(person_name(request.user)):
            return Response(compare_days(self.ctx, found, before, after).to_json())


class DiffValues(ApiView):
    """The values of a column in two snapshots."""

    rights = {"GET": "query"}
    parameters = {"GET": ("type", "from", "to", "column")}

    def get(self, request: Request, table: str) -> Response:
        """Rows, nulls, and the five most frequent values of the ``column`` on both sides; ``problem`` on a side that
        cannot be read, for example because a file of it is not kept any more.
        """
        found = table_of(self, request, table)
        before, after = need_text(request, "from"), text_param(request, "to") or "current"
        column = need_text(request, "column")
        with wiring.query_slots().slot(person_name(request.user)):
            return Response(compare_column(self.ctx, found, before, after, column).to_json())
