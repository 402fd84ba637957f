"""Replay, deletion and revealing of messages that were set aside: the chosen ones, or all that a filter names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.shortcuts import render

from segments.console.access import ADMINISTER
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.realtime.realtime_table import realtime_table
from segments.console.views.realtime.set_aside.messages import read_which
from segments.console.views.tables.tables import head
from segments.domain.formats.plural import counted
from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput, PinotAdminError
from segments.services.core.context import Actor
from segments.services.set_aside import changes, listing, replay
from segments.services.set_aside.listing import Which

#: Messages that are ticked by hand at most.
_MOST: Final = 1_000
#: Reasons of messages that still fail, which are shown.
_SHOWN: Final = 5


def _to_replay(target: Target, plain: Operation) -> Operation:
    which, hold = _chosen(target)
    explain, why_not, rows = _preview(target, which)
    return replace(plain, button=f"Replay {_counted(rows, 'message')}", explain=explain, why_not=why_not, hold=hold)


def _run_replay(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    done = replay.replay_messages(target.ctx, target.name, _chosen(target)[0], actor=actor)
    left = f" {_counted(done['fail'], 'message')} still without a row: see the list." if done["fail"] else ""
    sentence = f"A new segment holds {_counted(done['rows'], 'row')}; queries see it as soon as servers have loaded it."
    return Outcome(sentence + left, target.address("segment", done["segment"]), "The segment")


REPLAY: Final = Operation(
    action="replaySetAside",
    title="Replay messages that were set aside",
    button="Replay",
    tab="consumption",
    find=realtime_table,
    preview=_to_replay,
    run=_run_replay,
    back=back_to("set_aside"),
)


def _to_delete(target: Target, plain: Operation) -> Operation:
    which, hold = _chosen(target)
    count = listing.chosen(target.ctx, target.name, which).count()
    gone = (
        f"{_counted(count, 'message')} without a row, deleted for good: nothing else keeps them, unless the stream "
        "still has them."
    )
    return replace(
        plain,
        button=f"Delete {_counted(count, 'message')}",
        explain=[gone, *plain.explain],
        why_not="" if count or which == Which() else "No message is chosen, or they are gone already.",
        confirm=f"delete {count}",
        hold=hold,
    )


def _run_delete(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    count = changes.delete_messages(target.ctx, target.name, _chosen(target)[0], actor=actor)
    return Outcome(f"Deleted {_counted(count, 'message')}.")


DELETE: Final = Operation(
    action="deleteSetAside",
    title="Delete messages that were set aside",
    button="Delete",
    tab="consumption",
    asks="nothing",
    is_danger=True,
    find=realtime_table,
    explain=["Export them first if somebody may ask for them. Rows of messages that were replayed stay."],
    preview=_to_delete,
    run=_run_delete,
    back=back_to("set_aside"),
)


def _run_reveal(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    found = changes.reveal_message(target.ctx, target.name, target.arguments["number"], actor=actor)
    context = {**head(target.request, target.table, "consumption"), "found": found}
    return Outcome("", answer=render(target.request, "console/set_aside_payload.html", context))


#: What it shows is on a page that is kept nowhere.
REVEAL: Final = Operation(
    action="revealSetAside",
    title="Show a message as it came",
    button="Show it",
    tab="consumption",
    right=ADMINISTER,
    asks="nothing",
    is_danger=True,
    find=realtime_table,
    explain=[
        "The page that follows shows the message in full, with what is masked in the list. Check who else sees your "
        "screen.",
        "Your name, the reason and the time go into the audit record, with the message's partition and offset but not "
        "its content.",
    ],
    run=_run_reveal,
    back=back_to("set_aside"),
)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _chosen(target: Target) -> tuple[Which, dict[str, list[str]]]:
    """What is meant, and the values that carry it along: ticked messages (``m``), or with ``all`` what the filter
    names. InvalidInput.
    """
    values = target.request.POST if target.is_post else target.request.GET
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
    which, wanted = read_which(target.request, values)
    return which, {"all": ["1"], **{key: [value] for key, value in wanted.items() if value}}


def _preview(target: Target, which: Which) -> tuple[list[str], str, int]:
    """What a replay would do in sentences, why it cannot be done, and how many messages it takes."""
    try:
        found = replay.preview_replay(target.ctx, target.name, which)
    except PinotAdminError as error:
        return ["Nothing: it is not known what the messages would give."], str(error), 0
    fails = [f"Partition {f['partition']}, offset {f['offset']}: {f['reason']}" for f in found["failing"][:_SHOWN]]
    more = (
        [f"{found['fail'] - _SHOWN} more give no row for similar or other reasons."] if found["fail"] > _SHOWN else []
    )
    dropped = (
        [f"{found['filtered']} of them give no row because the table's filter drops it."] if found["filtered"] else []
    )
    left = [f"{counted(found['fail'], 'message', 'still gives', 'still give')} no row:"] if found["fail"] else []
    explain = [
        f"{found['decode']} of {counted(found['messages'], 'message', 'decodes', 'decode')} with today's schema "
        f"and transforms: {_counted(found['rows'], 'row')}.",
        *dropped, *left, *fails, *more, *(found["notes"] if found["rows"] else []),
    ]  # fmt: skip
    nothing = f"None of these messages gives a row now: see the reasons below. {found['remedy']}".rstrip()
    return explain, "" if found["rows"] else nothing, found["decode"]
