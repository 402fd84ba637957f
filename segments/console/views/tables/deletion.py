"""Deletes a table, with what goes; lists what was deleted, and brings it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from segments.console.access import ADMINISTER, may, page
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.domain.formats.plural import counted
from segments.errors import Forbidden, PinotAdminError
from segments.models import ConfigVersion, IngestionSession, Push, Snapshot
from segments.names import OFFLINE, REALTIME, TableName, resolve_table
from segments.services.access.read_rights import readable
from segments.services.core.context import Actor
from segments.services.segments import last_copies
from segments.services.tables import tables
from segments.services.tables.coming_back import ACTION, bring_back, dropped_tables, plan_coming_back

_MOST_SHOWN: Final = 200
_UNDER_WAY: Final = (Push.State.QUEUED, Push.State.RUNNING, Push.State.BLOCKED)
_RETENTION_HELP: Final = (
    "For example 7d; 0d deletes them at once and for good. Empty: what the table or the cluster says."
)


def _to_delete(target: Target, plain: Operation) -> Operation:
    table = target.table
    try:
        lonely = last_copies.only_on_servers(target.ctx, target.name, _segment_names(target))
    except PinotAdminError:
        lonely = []
    force = forms.BooleanField(required=False, label="Delete for good what cannot be copied")
    return replace(
        plain,
        title=f"Delete table {table.name}",
        button=f"Delete {table.name}",
        explain=[*_going(target), *_coming_back(target)],
        warnings=_not_coming_back(target, len(lonely)),
        fields={**plain.fields, **({"force": force} if lonely else {})},
        confirm=table.name,
        confirm_what="the table's name",
        seen=f"{table.segments_total} {table.rows_visible}",
    )


def _segment_names(target: Target) -> list[str]:
    return list(target.table.segments.values_list("name", flat=True))


def _going(target: Target) -> list[str]:
    """What leaves, in sentences."""
    table = target.table
    snapshots = Snapshot.objects.filter(cluster=table.cluster, table_name=table.name).count()
    found = [
        f"{counted(table.segments_total, 'segment', 'leaves', 'leave')} the cluster, with "
        f"{counted(table.bytes_total, 'byte')}; queries stop "
        f"seeing {counted(table.rows_visible, 'row')}, and then the table.",
    ]
    tasks = (table.config.get("task") or {}).get("taskTypeConfigsMap") or {}
    if tasks:
        found.append(f"Its tasks no longer run: {', '.join(sorted(tasks))}.")
    if IngestionSession.objects.filter(table=table).exists():
        found.append("Its sessions of file ingestion go, with their records.")
    pushes = Push.objects.filter(cluster=table.cluster.name, table_name=table.raw_name)
    if pushes.filter(state__in=_UNDER_WAY).exists():
        found.append("A push of it is under way, and will fail.")
    if table.type == REALTIME:
        found.append(
            "Its servers stop reading the stream, and the offsets that they had reached are forgotten, as are messages "
            "set aside."
        )
    found.append(f"Its lineage goes. Schema {table.raw_name}, {counted(snapshots, 'snapshot')} of its history, the "
                 "history of its settings and the audit record stay.")  # fmt: skip
    return found


def _coming_back(target: Target) -> list[str]:
    if not target.ctx.engine.offers.own_processes:
        return ["Pinot keeps the files for as long as its settings say; from here they cannot come back."]
    kept = "The files are kept for as long as the table or the cluster says, or as you say below."
    if target.table.type == OFFLINE:
        return [kept, "Until then, Tables > Deleted tables brings the table back with the rows that queries see now."]
    return [kept]


def _not_coming_back(target: Target, lonely: int) -> list[str]:
    found = []
    if target.table.type == REALTIME:
        found.append(
            "A REALTIME table does not come back on its own: created again with its old config (over REST, from the "
            "history of its settings), it reads the stream from where that says; rows that left the stream come only "
            "from kept segments."
        )
    if lonely:
        found.append(f"Only servers hold {counted(lonely, 'segment')}: they are copied to the deep store first.")
    return found


def _run_delete(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    term, force = str(values.get("retention") or "").strip() or None, bool(values.get("force"))
    tables.delete_table(target.ctx, target.name, retention=term, force=force, actor=actor)
    undo = reverse("console:bring_back_table", args=[target.table.name]) if target.table.type == OFFLINE else ""
    return Outcome(f"Table {target.table.name} is deleted.", undo, "Bring it back")


DELETE_TABLE: Final = Operation(
    action="deleteTable",
    title="Delete the table",
    button="Delete",
    tab="config",
    right=ADMINISTER,
    is_danger=True,
    fields={"retention": forms.CharField(required=False, label="Keep the files for", help_text=_RETENTION_HELP)},
    preview=_to_delete,
    run=_run_delete,
    back=back_to("config"),
    then=lambda _: reverse("console:tables"),
)


def _dropped(target: Target) -> None:
    """Only who may administer the table that is to come back; without a row, since there is no table."""
    typed = str(target.arguments["typed"])
    if not may(target.request, ADMINISTER, typed):
        raise Forbidden(f"Bringing table '{typed}' back needs the right to administer it.")


def _dropped_name(target: Target) -> TableName:
    return resolve_table(str(target.arguments["typed"]), None)


def _to_bring_back(target: Target, plain: Operation) -> Operation:
    name = _dropped_name(target)
    found = plan_coming_back(target.ctx, name)
    by = f" by {found.deleted_by}" if found.deleted_by else ""
    return replace(
        plain,
        title=f"Bring table {name} back",
        button=f"Bring {name} back",
        explain=[
            f"It was deleted on {found.deleted_at}{by}{f': “{found.reason}”' if found.reason else ''}.",
            f"It is created with its last config; queries see snapshot {found.snapshot} again: "
            f"{counted(found.rows, 'row')} in {counted(found.segments, 'segment')}."
            if found.snapshot is not None
            else "It is created with its last config.",
            *found.notes,
            "To undo it, delete the table again.",
        ],
        why_not=" ".join(found.blockers),
    )


def _run_bring_back(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    name = _dropped_name(target)
    found = bring_back(target.ctx, name, actor=actor)
    return Outcome(f"Table {name} is there again, with {counted(found.rows, 'row')}.")


BRING_BACK: Final = Operation(
    action=ACTION,
    title="Bring a table back",
    button="Bring it back",
    symbol="undo",
    find=_dropped,
    right="",
    place="dropped",
    preview=_to_bring_back,
    run=_run_bring_back,
    back=lambda _: reverse("console:dropped_tables"),
    then=lambda _: reverse("console:tables"),
    why_not_title="This table cannot be brought back from here.",
)


@page
@require_safe
def dropped(request: HttpRequest) -> HttpResponse:
    """Tables that were deleted, newest first, as far as their deletion is on record."""
    may_read = readable(request.user, cluster_of(request))
    found: list[ConfigVersion] = [r for r in dropped_tables(ctx_of(request).cluster) if may_read(r.name)]
    rows = [(r, may(request, ADMINISTER, r.name)) for r in found[:_MOST_SHOWN]]
    return render(request, "console/dropped_tables.html", {"rows": rows, "more": len(found) - len(rows)})
