"""Segments that no server has: what reading them from the stream again would mean, the buttons that begin and end it,
and how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django import forms

from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.realtime.realtime_table import realtime_table
from segments.domain.formats.plural import counted
from segments.domain.pinot.capabilities import REINGESTION
from segments.domain.realtime.reingestion.job import Job
from segments.errors import NotFound, StateConflict
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.realtime.reingestion import jobs
from segments.services.realtime.reingestion.broken_segments import Preview, broken_segments, preview

#: A job that ended is shown for so long.
_SHOWN_MS: Final = 3_600_000
#: Segments that one page shows, and that one button reads again.
MOST_SHOWN: Final = 100


@dataclass(frozen=True)
class Line:
    """A broken segment, or one that is or was read again lately. ``percent`` of its range, None when it cannot be
    counted.
    """

    segment: str
    is_broken: bool
    job: Job | None

    @property
    def is_running(self) -> bool:
        """Is it being read again?"""
        return self.job is not None and self.job.is_active

    @property
    def percent(self) -> int | None:
        """How much of its range was read, where offsets are numbers."""
        job = self.job
        if job is None or not all(text.isdecimal() for text in (job.start, job.end, job.at)):
            return None
        length = int(job.end) - int(job.start)
        return round(100 * (int(job.at) - int(job.start)) / length) if length else 100


def broken_lines(ctx: Context, name: TableName) -> list[Line]:
    """What the consumption page shows, broken ones first. Empty for clusters whose servers are not ours."""
    if not ctx.engine.offers.own_processes:
        return []
    broken = {found.name for found in broken_segments(ctx, name)}
    known, now_ms = {job.segment: job for job in jobs.table_jobs(ctx, name)}, ctx.clock()
    recent = {s for s, job in known.items() if job.is_active or now_ms - job.updated_ms < _SHOWN_MS}
    names = [*sorted(broken), *sorted(recent - broken)]
    return [Line(s, s in broken, known.get(s)) for s in names[:MOST_SHOWN]]


def _named(target: Target) -> list[str]:
    """The segments that the address names; none: all that are broken."""
    names = target.values("s")
    return names or [found.name for found in broken_segments(target.ctx, target.name)][:MOST_SHOWN]


def _to_reingest(target: Target, plain: Operation) -> Operation:
    if why := jobs.why_not_offered(target.ctx):
        return replace(plain, why_not=why)
    names = _named(target)
    if not names:
        return replace(plain, why_not="No segment of this table is broken: every one is on a server.")
    try:
        shown = preview(target.ctx, target.name, names)
    except NotFound as error:
        return replace(plain, why_not=str(error))
    title = f"Reingest {names[0] if len(names) == 1 else counted(len(names), 'segment')}"
    lost = [one for one in shown if one.missing and not one.problem]
    startable = [one for one in shown if one.can_start]
    return replace(
        plain,
        title=title,
        why_not="" if startable else _why_not(shown),
        warnings=list(dict.fromkeys(note for one in shown for note in one.notes)),
        partial="console/partials/reingestion_preview.html",
        extra={"previews": shown, "typed": target.name.typed},
        hold={"s": names},
        fields={"accept_loss": _accept()} if lost else {},
    )


def _accept() -> forms.Field:
    return forms.BooleanField(
        required=False,
        label="Build without the rows that the stream has lost",
        help_text="They are gone for good then; the segment's record, the audit and this page say which.",
    )


def _why_not(shown: Sequence[Preview]) -> str:
    first = shown[0]
    return first.problem or "It is being reingested already."


def _run_reingest(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    accepts = bool(values.get("accept_loss"))
    started = jobs.reingest_all(target.ctx, target.name, _named(target), accepts_loss=accepts, actor=actor)
    refused = " ".join(f"{segment}: {why}" for segment, why in started.refused.items())
    if not started.jobs:
        raise StateConflict(refused or "No segment of this table is broken.")
    servers = ", ".join(sorted({job.instance for job in started.jobs}))
    count = len(started.jobs)
    sentence = f"{count} segment{' is' if count == 1 else 's are'} being read from the stream again by {servers}."
    return Outcome(f"{sentence} Not begun: {refused}" if refused else sentence)


REINGEST: Final = Operation(
    action="reingestSegment",
    title="Reingest",
    button="Reingest",
    tab="consumption",
    needs=REINGESTION,
    find=realtime_table,
    explain=[
        "A live server reads exactly these offsets from the stream again, builds each segment and stores it; its "
        "replicas then load it.",
        "Consumption goes on meanwhile. How far it is stands on this tab, where it can be cancelled.",
        "Nothing is shown twice: queries see the rows when the replicas are back. There is nothing to undo.",
    ],
    preview=_to_reingest,
    run=_run_reingest,
    back=back_to("consumption"),
)


def _to_cancel(target: Target, plain: Operation) -> Operation:
    segment = str(target.arguments["segment"])
    job = next((j for j in jobs.table_jobs(target.ctx, target.name) if j.segment == segment), None)
    is_active = job is not None and job.is_active
    why_not = "" if is_active else "It is not being reingested any more."
    return replace(plain, lists=[("Concerned", [segment])], why_not=why_not)


def _run_cancel(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    segment = str(target.arguments["segment"])
    jobs.cancel(target.ctx, target.name, segment, actor=actor)
    again = f"{target.address('reingest')}?s={segment}"
    return Outcome(f"The reingestion of {segment} is cancelled.", again, "Reingest again")


CANCEL: Final = Operation(
    action="cancelReingestion",
    title="Cancel a reingestion",
    button="Cancel the reingestion",
    tab="consumption",
    find=realtime_table,
    explain=[
        "What was read so far is discarded; the segment stays broken, and no pass starts it again.",
        "Undo: reingest it again.",
    ],
    preview=_to_cancel,
    run=_run_cancel,
    back=back_to("consumption"),
)
