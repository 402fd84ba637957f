"""Reingestion from the admin: which segments are broken, what reading them again would mean, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django import forms
from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.widgets import UnfoldBooleanWidget

from segments import wiring
from segments.admin.confirmation import Change
from segments.errors import InvalidInput, PinotAdminError, StateConflict
from segments.models import Segment, Table
from segments.names import REALTIME, TableName, resolve_table
from segments.services.core.context import Actor, Context
from segments.services.realtime.reingestion import jobs
from segments.services.realtime.reingestion.broken_segments import Preview, broken_segments, preview
from segments.store.records.reingestions import read_job

#: Segments that the page names one by one.
_MOST_NAMED: Final = 20
_EXPLAIN: Final = (
    "A live server reads exactly these offsets from the stream again, builds each segment and stores it; its replicas "
    "then load it. Consumption goes on meanwhile."
)


class BrokenFilter(SimpleListFilter):
    """Segments from a stream that were ended and that no server has."""

    title = "broken"
    parameter_name = "broken"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        """One choice besides all."""
        return [("yes", "On no server")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Segment]) -> QuerySet[Segment]:
        """Those rows."""
        if self.value() != "yes":
            return queryset
        return queryset.filter(partition__isnull=False, is_consuming=False, replicas_online=0, replicas_wanted__gt=0)


def reingest(segments: Sequence[Segment]) -> Change:
    """Read these segments again, each in its table."""
    by_table: dict[str, list[str]] = {}
    for segment in segments:
        by_table.setdefault(segment.table.name, []).append(segment.name)
    tables = {segment.table.name: segment.table for segment in segments}
    shown = [one for name, names in by_table.items() for one in _previews(tables[name], names)]
    title = f"Reingest {segments[0].name}" if len(segments) == 1 else f"Reingest {len(segments)} segments"
    return _change(title, shown, lambda table: by_table[table.typed])


def reingest_broken(table: Table) -> Change:
    """Read every broken segment of a table again."""
    if table.type != REALTIME:
        return _change(f"Reingest segments of {table.name}", [], lambda _: None)
    ctx = wiring.context(table.cluster.name)
    names = [found.name for found in broken_segments(ctx, resolve_table(table.name, None))]
    return _change(f"Reingest the broken segments of {table.name}", _previews(table, names), lambda _: None)


def progress(segment: Segment) -> str:
    """How far the latest reingestion of a segment is, in words; "" when there was none."""
    try:
        job = read_job(wiring.context(segment.table.cluster.name).store, segment.table.name, segment.name)
    except PinotAdminError as error:
        return str(error)
    if job is None:
        return ""
    text = f"{job.state}: {job.rows:,} rows, at {job.at} of {job.end}, by {job.instance}"
    return f"{text}. {job.error}" if job.error else text


def _previews(table: Table, names: Sequence[str]) -> list[Preview]:
    ctx = wiring.context(table.cluster.name)
    if jobs.why_not_offered(ctx) or not names:
        return []
    return preview(ctx, resolve_table(table.name, None), names)


def _change(title: str, shown: Sequence[Preview], names_of: Callable[[TableName], Sequence[str] | None]) -> Change:
    def run(ctx: Context, table: TableName, values: Mapping[str, Any], actor: Actor) -> str:
        return _run(ctx, table, names_of(table), values, actor)

    accept = forms.BooleanField(
        required=False, label="Build without the rows that the stream has lost", widget=UnfoldBooleanWidget
    )
    has_lost = any(one.missing and not one.problem for one in shown)
    return Change(
        action="reingestSegment",
        title=title,
        button="Reingest",
        run=run,
        explain=[_EXPLAIN, *(_sentence(one) for one in shown[:_MOST_NAMED]), *_notes(shown)],
        fields={"accept_loss": accept} if has_lost else {},
        why_not="" if any(one.can_start for one in shown) else _why_not(shown),
    )


def _run(ctx: Context, table: TableName, names: Sequence[str] | None, values: Mapping[str, Any], actor: Actor) -> str:
    if table.type != REALTIME:
        raise InvalidInput(f"Table '{table}' consumes no stream.", remedy="Choose segments of a REALTIME table.")
    started = jobs.reingest_all(ctx, table, names, accepts_loss=bool(values.get("accept_loss")), actor=actor)
    refused = " ".join(f"{segment}: {why}" for segment, why in started.refused.items())
    if not started.jobs:
        raise StateConflict(refused or f"No segment of {table} is broken.")
    count = len(started.jobs)
    sentence = f"{count} segment{' of' if count == 1 else 's of'} {table} {'is' if count == 1 else 'are'} read again."
    return f"{sentence} Not begun: {refused}" if refused else sentence


def _sentence(one: Preview) -> str:
    if one.problem:
        return f"{one.segment}: left alone. {one.problem}"
    if not one.can_start:
        return f"{one.segment} is being reingested already."
    count = "as many messages as there are" if one.messages is None else f"{one.messages:,} messages"
    lost = f" The stream has lost those from {one.missing[0]} to {one.missing[1]}." if one.missing else ""
    return f"{one.segment}: offsets {one.start} to {one.end}, {count}.{lost}"


def _notes(shown: Sequence[Preview]) -> list[str]:
    more = [f"And {len(shown) - _MOST_NAMED} more segments."] if len(shown) > _MOST_NAMED else []
    return [*more, *dict.fromkeys(note for one in shown for note in one.notes)]


def _why_not(shown: Sequence[Preview]) -> str:
    if not shown:
        return "No segment of it is broken, or its servers are Pinot's, whose own validation reads lost segments again."
    return shown[0].problem or "It is being reingested already."
