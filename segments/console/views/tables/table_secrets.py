"""The secrets of a table's config: shown once, for a reason, to those who may administer the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from segments.console.access import ADMINISTER, find_table, page
from segments.console.operation import Operation, Outcome, perform
from segments.console.views.tables.tables import head
from segments.services.core.context import Actor, Context
from segments.services.tables.table_secrets import reveal_secrets


@page
@require_http_methods(["GET", "HEAD", "POST"])
def reveal(request: HttpRequest, typed: str) -> HttpResponse:
    """GET asks for the reason; POST shows the secrets on a page that is kept nowhere."""
    table, name = find_table(request, typed)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        found = reveal_secrets(ctx, name, actor=actor)
        return Outcome(
            "", answer=render(request, "console/table_secrets.html", {**head(request, table, "config"), "found": found})
        )

    return perform(
        request,
        table,
        Operation(
            action="revealSecrets",
            title=f"Show the secrets of {table.name}",
            button="Show them",
            right=ADMINISTER,
            run=run,
            tab="config",
            asks="reading",
            is_danger=True,
            back=reverse("console:config", args=[table.name]),
            confirm=table.name,
            explain=[
                "The page that follows shows passwords and keys of the table's config in full. Look around who else "
                "sees your screen.",
                "Your name, the reason and the time go into the audit record, with the settings shown but not their "
                "values.",
                "What was seen can not be taken back; only new secrets at the stream or store itself help then.",
            ],
        ),
    )
