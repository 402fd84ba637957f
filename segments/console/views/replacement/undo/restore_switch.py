"""The page on which deleted segments that a replacement took away come back: as a switch with what
stands for them now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from segments.console.access import ADMINISTER
from segments.console.cluster_address import ctx_of
from segments.console.operation import Operation, Outcome, perform
from segments.console.presenters import rollback as presenter
from segments.errors import PinotAdminError
from segments.models import Table
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.replacement.undo.restore_switch import preview_switch, restore_switch


def as_switch(request: HttpRequest, table: Table, name: TableName, segments: Sequence[str]) -> HttpResponse | None:
    """The page that offers it, or does it; None where it can not be a switch either."""
    try:
        preview = preview_switch(ctx_of(request), name, segments)
    except PinotAdminError:
        return None

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        done = restore_switch(ctx, name, segments, actor=actor)
        said = (
            f"Queries on {table.name} see {len(done.returning_segments)} restored segments instead of "
            f"{len(done.hidden_segments)}."
        )
        return Outcome(said, reverse("console:rollback", args=[table.name, done.entry_id]), "Roll it back")

    operation = Operation(
        action="restoreSwitch",
        title="Restore segments instead of what is shown",
        tab="deleted",
        right=ADMINISTER,
        run=run,
        button=f"Show {len(preview.returning_segments)} instead of {len(preview.hidden_segments)}",
        hold={"s": list(segments)},
        back=reverse("console:deleted", args=[table.name]),
        confirm=f"restore {len(preview.returning_segments)}",
        is_danger=True,
        items=preview.hidden_segments,
        items_title="Segments that queries see no longer",
        explain=[
            "A replacement took these segments away: beside what stands for them now, queries would see old and "
            "new rows together.",
            f"So they come back hidden, and then queries switch: {len(preview.returning_segments)} segments come back,"
            f" {len(preview.hidden_segments)} are hidden, in one step.",
            "It is a replacement of its own: it can be rolled back like any other.",
        ],
    )
    return perform(request, table, operation, {"lines": presenter.sides(preview.before, preview.after)})
