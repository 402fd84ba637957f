"""What the tasks of a table config would do, and what is wrong in them; an addition to Pinot's paths."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, json_body, text_param
from segments.domain.tables.table_model import TableModel
from segments.errors import InvalidInput
from segments.names import split_table_name
from segments.services.schedules.task_check import lint_table
from segments.services.tables import tables
from segments.services.tables.table_record import read_table_config


class TaskLint(ApiView):
    """The tasks of a table, as they are stored or as a config says that is not stored."""

    bodies = {"POST": TableModel}
    rights = {"POST": "read"}
    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str) -> Response:
        """{"table", "tasks": {type: {"isRunnable", "effective": sentences, "problems", "schedule"}}, "notRun"} of the
        stored config.
        """
        found = tables.existing_tables(self.ctx, table, text_param(request, "type"))[0]
        return Response(lint_table(self.ctx, read_table_config(self.ctx, found)))

    def post(self, request: Request, table: str) -> Response:
        """The same of the config in the body; every problem at once, and nothing is written."""
        config = self.ctx.engine.tables.parse_config(json_body(request))
        if split_table_name(table)[0] != config.table.raw:
            raise InvalidInput(
                f"The body is table '{config.table}', the address names '{table}'.", remedy="Make them the same."
            )
        return Response(lint_table(self.ctx, config))
