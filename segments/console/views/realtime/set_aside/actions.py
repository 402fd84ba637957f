"""Replay, deletion and revealing of messages that were set aside: the chosen ones, or all that a filter names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from segments import wiring
from segments.console.access import ADMINISTER, page, refusal
from segments.console.operation import Operation, Outcome, perform
from segments.console.views.realtime.set_aside.messages import read_which, realtime
from segments.console.views.tables.tables import head
from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput, PinotAdminError
from segments.models import Table
from segments.names import resolve_table
from segments.services.core.context import Actor, Context
from segments.services.set_aside import changes, listing, replay
from segments.services.set_aside.listing import Which

#: Messages that are ticked by hand at most.
_MOST: Final = 1_000
#: Reasons of messages that still fail, which are shown.
_SHOWN: Final = 5


@page
@require_http_methods(["GET", "HEAD", "POST"])
def replay_chosen(request: HttpRequest, typed: str) -> HttpResponse:
    """First what a replay would give, then the replay."""
    table, name = realtime(request, typed)
    refused = refusal(request, "replaySetAside", table.name, table=table.name) if request.method == "POST" else None
    if refused:
        return refused
    which, hold = _chosen(request)
    explain, why_not, rows = _preview(table, which)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        done = replay.replay_messages(ctx, name, which, actor=actor)
        left = f" {_counted(done['fail'], 'message')} still without a row: see the list." if done["fail"] else ""
        where = reverse("console:segment", args=[table.name, done["segment"]])
        told = (
            f"A new segment holds {_counted(done['rows'], 'row')}; queries see it as soon as servers have loaded "
            f"it.{left}"
        )
        return Outcome(told, where, "The segment")

    return perform(
        request,
        table,
        Operation(
            action="replaySetAside",
            title="Replay messages that were set aside",
            button=f"Replay {_counted(rows, 'message')}",
            explain=explain,
            back=_home(table),
            run=run,
            hold=hold,
            why_not=why_not,
            tab="consumption",
        ),
    )


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete_chosen(request: HttpRequest, typed: str) -> HttpResponse:
    """Delete messages for good."""
    table, name = realtime(request, typed)
    refused = refusal(request, "deleteSetAside", table.name, table=table.name) if request.method == "POST" else None
    if refused:
        return refused
    which, hold = _chosen(request)
    count = listing.chosen(wiring.context(table.cluster.name), name, which).count()

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        return Outcome(f"Deleted {_counted(changes.delete_messages(ctx, name, which, actor=actor), 'message')}.")

    return perform(
        request,
        table,
        Operation(
            action="deleteSetAside",
            title="Delete messages that were set aside",
            back=_home(table),
            run=run,
            button=f"Delete {_counted(count, 'message')}",
            explain=[
                f"{_counted(count, 'message')} without a row, deleted for good: nothing else keeps them, unless the "
                "stream still has them.",
                "Export them first if somebody may ask for them. Rows of messages that were replayed stay.",
            ],
            hold=hold,
            confirm=f"delete {count}",
            tab="consumption",
            is_danger=True,
            asks="nothing",
            why_not="" if count or which == Which() else "No message is chosen, or they are gone already.",
        ),
    )


@page
@require_http_methods(["GET", "HEAD", "POST"])
def reveal(request: HttpRequest, typed: str, number: int) -> HttpResponse:
    """GET asks for the reason; POST shows the payload on a page that is kept nowhere."""
    table, name = realtime(request, typed)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        found = changes.reveal_message(ctx, name, number, actor=actor)
        context = {**head(request, table, "consumption"), "found": found}
        return Outcome("", answer=render(request, "console/set_aside_payload.html", context))

    return perform(
        request,
        table,
        Operation(
            action="revealSetAside",
            title="Show a message as it came",
            button="Show it",
            right=ADMINISTER,
            run=run,
            tab="consumption",
            asks="nothing",
            is_danger=True,
            back=_home(table),
            explain=[
                "The page that follows shows the message in full, with what is masked in the list. Look around who "
                "else sees your screen.",
                "Your name, the reason and the time go into the audit record, with the message's partition and "
                "offset but not its content.",
            ],
        ),
    )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _home(table: Table) -> str:
    return reverse("console:set_aside", args=[table.name])


def _chosen(request: HttpRequest) -> tuple[Which, dict[str, list[str]]]:
    """What is meant, and the values that carry it along: ticked messages (``m``), or with ``all`` what the filter
    names. InvalidInput.
    """
    values = request.POST if request.method == "POST" else request.GET
    ticked = values.getlist("m")
    if ticked:
        numbers = tuple(n for n in map(whole_number, ticked) if n is not None)[: _MOST + 1]
        if len(numbers) > _MOST:
            raise InvalidInput(
                f"More than {_MOST} messages are ticked.", remedy="Use the filter and 'all', or the REST API."
            )
        return Which(ids=numbers, state="all"), {"m": [str(n) for n in numbers]}
    if not values.get("all"):
        raise InvalidInput("No message was chosen.", remedy="Tick messages in the list first.")
    which, wanted = read_which(request, values)
    return which, {"all": ["1"], **{key: [value] for key, value in wanted.items() if value}}


def _preview(table: Table, which: Which) -> tuple[list[str], str, int]:
    """What a replay would do in sentences, why it can not be done, and how many messages it takes."""
    try:
        found = replay.preview_replay(wiring.context(table.cluster.name), resolve_table(table.name, None), which)
    except PinotAdminError as error:
        return ["Nothing: it is not known what the messages would give."], str(error), 0
    fails = [f"Partition {f['partition']}, offset {f['offset']}: {f['reason']}" for f in found["failing"][:_SHOWN]]
    more = (
        [f"{found['fail'] - _SHOWN} more give no row for similar or other reasons."] if found["fail"] > _SHOWN else []
    )
    dropped = (
        [f"{found['filtered']} of them give no row because the table's filter drops it."] if found["filtered"] else []
    )
    left = [f"{_counted(found['fail'], 'message')} without a row even now; the reasons:"] if found["fail"] else []
    explain = [
        f"{found['decode']} of {_counted(found['messages'], 'message')} decode with the present schema and transforms: "
        f"{_counted(found['rows'], 'row')}.",
        *dropped, *left, *fails, *more, *found["notes"],
    ]  # fmt: skip
    nothing = "None of these messages gives a row now. Change the schema or the table's transforms first."
    return explain, "" if found["rows"] else nothing, found["decode"]
