"""/api/v1/tables/{table}/storedCopies/{segment}: a broken segment's file that still lies in the deep store."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView
from segments.services.realtime.realtime_state import realtime_table
from segments.services.realtime.reingestion.stored_copies import find_copy, restore_copy
from segments.services.tables.table_record import read_table_config


class StoredCopy(ApiView):
    """Of one segment."""

    rights = {"POST": "operate"}
    parameters = {"POST": ("reason",)}
    answers = {"GET": {200: "object"}, "POST": {200: "object"}}

    def get(self, request: Request, table: str, segment: str) -> Response:
        """``path`` of a file in the deep store that holds exactly the segment's rows, null when there is none. Changes
        nothing.
        """
        name = realtime_table(table)
        read_table_config(self.ctx, name)
        return Response({"segmentName": segment, "path": find_copy(self.ctx, name, segment)})

    def post(self, request: Request, table: str, segment: str) -> Response:
        """Make that file the segment's; its replicas load it. 404 when there is none."""
        name = realtime_table(table)
        read_table_config(self.ctx, name)
        return Response({"segmentName": segment, "path": restore_copy(self.ctx, name, segment, actor=self.actor)})
