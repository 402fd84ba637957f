"""Pin and unpin replacements: one on its page or as a snapshot of the history, or several that are chosen in the
lineage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.utils.http import urlencode

from segments.console.listing import PAGE_SIZE
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.domain.formats.plural import counted
from segments.errors import InvalidInput
from segments.services.core.context import Actor
from segments.services.replacement import pins
from segments.services.replacement.history.snapshots import contents_of, history_of, snapshot
from segments.services.replacement.lineage_record import observe

#: A page of the lineage has fewer.
_MOST: Final = 100


def _pin_explained(target: Target, whose: str, until: str) -> list[str]:
    """What a pin does: everything on the own cluster, on a real Pinot only what goes through us."""
    if target.ctx.engine.offers.own_upkeep:
        return [
            f"Neither a clean-up nor a later push deletes {whose} segments, old or new, until {until} unpinned.",
            "They go on using space.",
        ]
    return [
        f"Nothing that goes through here deletes {whose} segments, old or new, or reverts the replacement, until "
        f"{until} unpinned.",
        "Pinot does not know pins: its own retention, and pushes that do not come through here, delete the old "
        "side anyway.",
    ]


def _snapshot(target: Target) -> int:
    """The number of the snapshot that the button stands at; 0: it is the page of a replacement."""
    text = target.value("snapshot")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _of_snapshot(target: Target, shown: Operation) -> Operation:
    """The same in words of the history, where it was reached from there."""
    number = _snapshot(target)
    if not number:
        return shown
    wanted = set(contents_of(snapshot(target.ctx, target.name, number)))
    entry = observe(target.ctx, target.name).lineage.entry(target.arguments["entry_id"])
    others = wanted.difference(entry.segments_from, entry.segments_to)
    missed = (
        f"This replacement holds {len(wanted) - len(others)} of its {counted(len(wanted), 'segment')}: only these are "
        "pinned. The others go when their own time is over."
    )
    title = f"{shown.button} snapshot {number}"
    warnings = [*shown.warnings, *([missed] if others else [])]
    return replace(shown, title=title, button=title, warnings=warnings, hold={"snapshot": [str(number)]}, tab="history")


def _back(target: Target) -> str:
    number = _snapshot(target)
    if not number:
        return back_to("entry", "entry_id")(target)
    newest = history_of(target.ctx, target.name).values_list("number", flat=True).first() or number
    return f"{target.address('history')}?page={max(newest - number, 0) // PAGE_SIZE + 1}#snapshot-{number}"


def _other_way(target: Target, page_name: str) -> str:
    number = _snapshot(target)
    return target.address(page_name, target.arguments["entry_id"]) + (f"?snapshot={number}" if number else "")


def _said(target: Target, what: str) -> str:
    number = _snapshot(target)
    return f"Snapshot {number} {what}." if number else f"The entry {what}."


def _run_pin(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    pins.pin_entry(target.ctx, target.name, target.arguments["entry_id"], actor)
    return Outcome(_said(target, "is pinned"), _other_way(target, "unpin_entry"), "Unpin it")


PIN: Final = Operation(
    action="pinEntry",
    title="Pin this replacement",
    button="Pin",
    tab="lineage",
    asks="reading",
    preview=lambda target, plain: _of_snapshot(target, replace(plain, explain=_pin_explained(target, "its", "it is"))),
    run=_run_pin,
    back=_back,
)


def _run_unpin(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    pins.unpin_entry(target.ctx, target.name, target.arguments["entry_id"], actor)
    return Outcome(_said(target, "is no longer pinned"), _other_way(target, "pin_entry"), "Pin it again")


UNPIN: Final = Operation(
    action="unpinEntry",
    title="Unpin this replacement",
    button="Unpin",
    tab="lineage",
    asks="reading",
    explain=["The next clean-up may delete segments of it that no query sees and no kept snapshot needs."],
    preview=lambda target, plain: replace(_of_snapshot(target, plain), warnings=[]),
    run=_run_unpin,
    back=_back,
)


def _chosen(target: Target, plain: Operation) -> Operation:
    entries = target.values("e")
    if not 0 < len(entries) <= _MOST:
        raise InvalidInput(
            f"{len(entries)} replacements are chosen.", remedy=f"Tick 1 to {_MOST} of them on the lineage page."
        )
    title = f"{plain.button} {len(entries)} replacement{'' if len(entries) == 1 else 's'}"
    lists = [("Lineage entries", entries)]
    return replace(plain, title=title, button=title, hold={"e": entries}, lists=lists)


def _chosen_to_pin(target: Target, plain: Operation) -> Operation:
    return replace(_chosen(target, plain), explain=_pin_explained(target, "their", "they are"))


def _are(target: Target) -> str:
    count = len(target.values("e"))
    return f"{count} replacement{' is' if count == 1 else 's are'}"


def _way_back(target: Target, page_name: str) -> str:
    return f"{target.address(page_name)}?{urlencode({'e': target.values('e')}, doseq=True)}"


def _run_pin_many(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    for entry_id in target.values("e"):
        pins.pin_entry(target.ctx, target.name, entry_id, actor)
    return Outcome(f"{_are(target)} pinned.", _way_back(target, "unpin_entries"), "Unpin again")


def _run_unpin_many(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    for entry_id in target.values("e"):
        pins.unpin_entry(target.ctx, target.name, entry_id, actor)
    return Outcome(f"{_are(target)} no longer pinned.", _way_back(target, "pin_entries"), "Pin again")


PIN_MANY: Final = replace(PIN, preview=_chosen_to_pin, run=_run_pin_many, back=back_to("lineage"))
UNPIN_MANY: Final = replace(
    UNPIN,
    explain=["The next clean-up may delete segments of theirs that no query sees and no kept snapshot needs."],
    preview=_chosen,
    run=_run_unpin_many,
    back=back_to("lineage"),
)
