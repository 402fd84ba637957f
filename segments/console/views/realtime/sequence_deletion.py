"""The button that takes partitions back to an earlier segment: what would go, and what a resume reads again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from segments.console.access import ADMINISTER
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.realtime.realtime_table import realtime_table
from segments.domain.pinot.capabilities import DELETE_SEQUENCE
from segments.errors import NotFound, PreconditionFailed
from segments.services.core.context import Actor
from segments.services.realtime.sequence_deletion import Reread, delete_from_sequence, preview_rereading


def _named(target: Target) -> list[str]:
    """The segment of the address, and others that ``s`` names."""
    return list(dict.fromkeys([str(target.arguments["segment"]), *target.values("s")]))


def _preview(target: Target, plain: Operation) -> Operation:
    names, ctx = _named(target), target.ctx
    why_not = ""
    try:
        delete_from_sequence(ctx, target.name.typed, names, dry_run=True, force=False, actor=Actor(""))
    except PreconditionFailed as error:
        why_not = error.message + " Pause it, and wait until nothing consumes."
    except NotFound as error:
        return replace(plain, why_not=str(error))
    shown = preview_rereading(ctx, target.name, names)
    return replace(
        plain,
        why_not=why_not or ("" if shown else "The table has no such segment any more."),
        lists=[(f"Partition {one.partition}: segments that are deleted", list(one.segments)) for one in shown],
        warnings=[text for one in shown if (text := _warning(one))],
        partial="console/partials/rereading.html" if shown else "",
        extra={"rereads": shown},
        confirm=target.table.name,
        confirm_what="the table's name",
    )


def _warning(one: Reread) -> str:
    if one.missing:
        return (
            f"Partition {one.partition}: the stream has lost the rows from {one.missing[0]} to {one.missing[1]}. They "
            "are not read again: these segments are the last place that has them."
        )
    return (
        f"Partition {one.partition}: whether the stream has the rows is not known: {one.problem}" if one.problem else ""
    )


def _run(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    done = delete_from_sequence(target.ctx, target.name.typed, _named(target), dry_run=False, force=False, actor=actor)
    count = sum(plan["segmentCount"] for plan in done["partitions"].values())
    sentence = f"{count} segment{' is' if count == 1 else 's are'} deleted. A resume reads their rows again."
    return Outcome(sentence, target.address("resume"), "Resume")


DELETE_FROM: Final = Operation(
    action="deleteSegmentsFromSequenceNum",
    title="Delete from a segment on",
    button="Delete",
    tab="consumption",
    is_danger=True,
    right=ADMINISTER,
    needs=DELETE_SEQUENCE,
    find=realtime_table,
    explain=[
        "The segment and every later one of its partition are deleted; other partitions are left alone.",
        "When the table is resumed, its partition goes on behind the last segment that is left, and reads the rows "
        "again from the stream.",
        "Their files are kept for a while, and they can be restored from the tab Deleted until the rows were read "
        "again.",
    ],
    preview=_preview,
    run=_run,
    back=back_to("consumption"),
)
