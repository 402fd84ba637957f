"""Pause, resume and force commit of several tables of a cluster at once, each for the same reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from django import forms
from django.http import Http404, HttpRequest
from django.urls import reverse

from segments.console.access import OPERATE, actor_of, may
from segments.console.cluster_address import cluster_of
from segments.console.operation import Operation, Outcome, Target
from segments.console.views.realtime.consumption import COMMIT, PAUSE_IT, RESUME, STARTS
from segments.domain.formats.plural import counted
from segments.domain.realtime.force_commit import BatchSettings
from segments.errors import Forbidden, InvalidInput, PinotAdminError
from segments.models import Table
from segments.names import REALTIME, TableName, resolve_table
from segments.services.access.rights import has_right
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.realtime import consumption, force_commit
from segments.services.realtime.consuming_segments import StartFrom, Word
from segments.services.realtime.force_commit import Wanted
from segments.services.realtime.resume_plan import streams_before

_Change = Callable[[Context, TableName, Mapping[str, Any], Actor], str]


def _tables(target: Target) -> list[Table]:
    """Those that ``t`` names, all of which the person may read; 404 else."""
    request, names = target.request, target.values("t")
    rows = Table.objects.select_related("cluster").filter(cluster__name=cluster_of(request), name__in=names)
    found = {row.name: row for row in rows if has_right(request.user, "read", row.cluster.name, row.name)}
    if not names or found.keys() != set(names):
        raise Http404
    return [found[name] for name in names]


def _is_allowed(request: HttpRequest, table: Table) -> bool:
    return may(request, OPERATE, table.name)


def _finder(action: str) -> Callable[[Target], None]:
    """Whether the tables are there; pressed, it puts on record for which of them the right lacks. Forbidden where that
    is so for all of them.
    """

    def find(target: Target) -> None:
        request, tables = target.request, _tables(target)
        lacking = [t for t in tables if not _is_allowed(request, t)] if target.is_post else []
        for table in lacking:
            why = _lacking(request, table)
            audit.record(
                actor_of(request), action, cluster=table.cluster.name, target=table.name, outcome="refused", error=why
            )
        if lacking and len(lacking) == len(tables):
            raise Forbidden(_lacking(request, lacking[0]), remedy="Ask an administrator for a grant of 'operate'.")

    return find


def _lacking(request: HttpRequest, table: Table) -> str:
    return f"{request.user} lacks the right {OPERATE} for table {table.name}."


def _shown(target: Target, plain: Operation) -> Operation:
    tables = _tables(target)
    allowed = [t for t in tables if _is_allowed(target.request, t)]
    why_not = "" if any(t.type == REALTIME for t in tables) else "Only REALTIME tables consume a stream."
    return replace(
        plain,
        title=f"{plain.title} {tables[0].name if len(tables) == 1 else counted(len(tables), 'table')}",
        hold={"t": [t.name for t in tables]},
        lists=[
            ("Tables", [t.name for t in allowed]),
            (f"Left alone, because you lack the right {OPERATE}", [t.name for t in tables if t not in allowed]),
        ],
        why_not=why_not if allowed else f"You lack the right {OPERATE} for these tables.",
    )


def _to_resume(target: Target, plain: Operation) -> Operation:
    """Where the stream of one of them is another one by now, nothing is chosen beforehand."""
    before = [line for table in _tables(target) if table.type == REALTIME for line in _streams_before(target, table)]
    start = forms.ChoiceField(
        label="Go on", choices=STARTS, initial=None if before else "lastConsumed", widget=forms.RadioSelect
    )
    return replace(_shown(target, plain), explain=[*plain.explain, *before], fields={"start": start})


def _streams_before(target: Target, table: Table) -> list[str]:
    try:
        return streams_before(target.ctx, TableName(table.raw_name, REALTIME))
    except PinotAdminError:
        return []


def _each(change: _Change) -> Callable[[Target, Mapping[str, Any], Actor], Outcome]:
    """Changes one table after the other: one that refuses stops no other. One alone raises what it refuses with."""

    def run(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
        done: list[str] = []
        problems: list[str] = []
        tables = _tables(target)
        for table in tables:
            if not _is_allowed(target.request, table):
                problems.append(_lacking(target.request, table))
                continue
            try:
                done.append(change(target.ctx, _realtime(table), values, actor))
            except PinotAdminError as error:
                if len(tables) == 1:
                    raise
                problems.append(f"{table.name}: {error}")
        return Outcome(" ".join(done), problems=problems)

    return run


def _realtime(table: Table) -> TableName:
    if table.type != REALTIME:
        raise InvalidInput(f"Table '{table.name}' consumes no stream.", remedy="Choose a REALTIME table.")
    return resolve_table(table.name, None)


def _pause(ctx: Context, name: TableName, _: Mapping[str, Any], actor: Actor) -> str:
    consumption.pause_table(ctx, name, comment=actor.reason, actor=actor)
    return f"{name} is paused; what was consumed is being committed."


def _resume(ctx: Context, name: TableName, values: Mapping[str, Any], actor: Actor) -> str:
    start = StartFrom(cast(Word, values["start"]), is_chosen=True)
    consumption.resume_table(ctx, name, start=start, comment=actor.reason, actor=actor)
    return f"{name} consumes again."


def _commit(ctx: Context, name: TableName, _: Mapping[str, Any], actor: Actor) -> str:
    job = force_commit.force_commit(ctx, name, Wanted(), BatchSettings(), actor=actor)["forceCommitJobId"]
    return f"Force commit {job} of {name} is on its way."


def _of_several(one: Operation, change: _Change) -> Operation:
    """The button of one table for several."""
    return replace(
        one,
        find=_finder(one.action),
        fields={},
        preview=_shown,
        run=_each(change),
        back=lambda _: reverse("console:tables"),
        right="",
        place="tables",
    )


PAUSE_TABLES: Final = _of_several(PAUSE_IT, _pause)
RESUME_TABLES: Final = replace(_of_several(RESUME, _resume), preview=_to_resume)
COMMIT_TABLES: Final = _of_several(COMMIT, _commit)
