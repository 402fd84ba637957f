"""The secrets of a table's config: shown once, for a reason, to those who may administer the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.shortcuts import render

from segments.console.access import ADMINISTER
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.tables.tables import head
from segments.services.core.context import Actor
from segments.services.tables.table_secrets import reveal_secrets


def _of_table(target: Target, plain: Operation) -> Operation:
    return replace(plain, title=f"{plain.title} of {target.table.name}", confirm=target.table.name)


def _run(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    found = reveal_secrets(target.ctx, target.name, actor=actor)
    context = {**head(target.request, target.table, "config"), "found": found}
    return Outcome("", answer=render(target.request, "console/table_secrets.html", context))


#: What it shows is on a page that is kept nowhere.
REVEAL: Final = Operation(
    action="revealSecrets",
    title="Show the secrets",
    button="Show them",
    tab="config",
    right=ADMINISTER,
    asks="reading",
    is_danger=True,
    explain=[
        "The page that follows shows passwords and keys of the table's config in full. Check who else sees your "
        "screen.",
        "Your name, the reason and the time go into the audit record, with the settings shown but not their values.",
        "What was seen cannot be taken back; only new secrets at the stream or store itself help then.",
    ],
    preview=_of_table,
    run=_run,
    back=back_to("config"),
)
