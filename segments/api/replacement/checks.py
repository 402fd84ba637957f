"""Checks of a new snapshot over REST: the table's document, the result of a lineage entry, and a run without a switch
(rule `checked-before-switch`).
"""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, json_body
from segments.api.table_of_path import table_or_offline
from segments.errors import NotFound
from segments.services.replacement.checks.check_settings import read_check_document, write_check_document
from segments.services.replacement.checks.snapshot_checks import read_checks, run_checks


class TableChecks(ApiView):
    """What a new snapshot of a table must fulfil before queries see it."""

    bodies = {"PUT": dict[str, Any]}
    rights = {"PUT": "administer"}
    parameters = {"GET": ("type",), "PUT": ("type",)}

    def get(self, request: Request, table: str) -> Response:
        """``{"checks": [...], "timeoutMs": n}``; an empty list when there are none."""
        return Response(read_check_document(self.ctx, table_or_offline(self, request, table)))

    def put(self, request: Request, table: str) -> Response:
        """Make the body the table's checks; an empty list removes them. 400 names the field that is wrong, then nothing
        changes.
        """
        return Response(
            write_check_document(self.ctx, table_or_offline(self, request, table), json_body(request), actor=self.actor)
        )


class EntryChecks(ApiView):
    """What the checks of a replacement's new side found."""

    rights = {"POST": "operate"}
    parameters = {"GET": ("type",), "POST": ("type",)}

    def get(self, request: Request, table: str, entry: str) -> Response:
        """Status, and per check the measured and the allowed value. 404 when they never ran for this entry."""
        found = table_or_offline(self, request, table)
        report = read_checks(self.ctx, found, entry)
        if report is None:
            raise NotFound(
                f"The checks of table '{found}' never ran for lineage entry '{entry}'.",
                remedy="POST here to run them now.",
                entry=entry,
            )
        return Response(report.to_json())

    def post(self, request: Request, table: str, entry: str) -> Response:
        """Run them now on the entry's segments, which have to be online; nothing switches. 409 for a reverted entry."""
        return Response(run_checks(self.ctx, table_or_offline(self, request, table), entry, actor=self.actor).to_json())
