"""A rollback over several entries of a real Pinot that stopped half-way: carry it on, or leave the table where it has
come to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from segments.clusters.pinot.replacement import rollback as pinot_rollback
from segments.clusters.pinot.replacement.rollback import PinotRollback
from segments.console.access import find_table, page
from segments.console.cluster_address import ctx_of
from segments.console.operation import Operation, Outcome, perform
from segments.errors import NotFound, PinotAdminError
from segments.models import Table
from segments.names import TableName
from segments.services.core.context import Actor, Context


def under_way(request: HttpRequest, name: TableName) -> PinotRollback | None:
    """The table's rollback that is not over; None where there is none, or nobody can tell."""
    try:
        ctx = ctx_of(request)
        found = pinot_rollback.read_rollback(ctx, name) if ctx.engine.offers.stepwise_rollback else None
    except PinotAdminError:
        return None
    return found if found is not None and found.state == pinot_rollback.RUNNING else None


@page
@require_http_methods(["GET", "HEAD", "POST"])
def carry_on(request: HttpRequest, typed: str) -> HttpResponse:
    """Revert the entries that are left."""
    table, name = find_table(request, typed)
    job = _job(request, name)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        done = pinot_rollback.advance(ctx, name, actor=actor)
        return Outcome(f"{len(done.done)} of {len(done.steps)} replacements are taken back.")

    explain = [
        f"{len(job.done)} of {len(job.steps)} replacements are taken back already; the rest follow, newest first."
    ]
    operation = replace(
        _operation(table, job),
        action="rollback",
        title="Carry the rollback on",
        button="Carry on",
        run=run,
        explain=explain,
    )
    return perform(request, table, operation)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def give_up(request: HttpRequest, typed: str) -> HttpResponse:
    """Leave the table at the snapshot that was reached."""
    table, name = find_table(request, typed)
    job = _job(request, name)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        pinot_rollback.give_up(ctx, name, actor)
        return Outcome("The rollback is given up; the table stays at the snapshot that it has come to.")

    explain = [
        f"{len(job.done)} of {len(job.steps)} replacements stay taken back; the rest stay as they are.",
        "Queries go on seeing what they see now. A new rollback can be begun at any time.",
    ]
    operation = replace(
        _operation(table, job),
        action="giveUpRollback",
        title="Give the rollback up",
        button="Give up",
        run=run,
        explain=explain,
        asks="nothing",
    )
    return perform(request, table, operation)


def _job(request: HttpRequest, name: TableName) -> PinotRollback:
    job = under_way(request, name)
    if job is None:
        raise NotFound(f"No rollback of table '{name}' is under way.", remedy="Begin one on the page of a replacement.")
    return job


def _operation(table: Table, job: PinotRollback) -> Operation:
    return Operation(
        action="",
        title="",
        button="",
        explain=[],
        back=reverse("console:lineage", args=[table.name]),
        run=lambda *_: Outcome(""),
        items=[s for s in job.steps if s not in job.done],
        items_title="Entries that are left",
        tab="lineage",
    )
