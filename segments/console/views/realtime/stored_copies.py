"""The button that brings a broken segment back with a file that still lies in the deep store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.realtime.realtime_table import realtime_table
from segments.domain.pinot.capabilities import REINGESTION
from segments.errors import PinotAdminError
from segments.services.core.context import Actor
from segments.services.realtime.reingestion import jobs
from segments.services.realtime.reingestion.stored_copies import find_copy, restore_copy


def _to_restore(target: Target, plain: Operation) -> Operation:
    segment = str(target.arguments["segment"])
    if why := jobs.why_not_offered(target.ctx):
        return replace(plain, why_not=why)
    try:
        path = find_copy(target.ctx, target.name, segment)
    except PinotAdminError as error:
        return replace(plain, why_not=str(error))
    if path is None:
        return replace(plain, why_not=f"No file in the deep store has the rows of {segment}: there is none to restore.")
    return replace(plain, lists=[("Segment", [segment]), ("File in the deep store", [path])])


def _run_restore(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    segment = str(target.arguments["segment"])
    path = restore_copy(target.ctx, target.name, segment, actor=actor)
    return Outcome(f"Segment {segment} is restored from {path}; its replicas load it.")


RESTORE: Final = Operation(
    action="restoreSegmentCopy",
    title="Restore a broken segment",
    button="Restore",
    tab="consumption",
    needs=REINGESTION,
    find=realtime_table,
    explain=[
        "The file was read and checked: it is whole, and has exactly the rows between the segment's offsets.",
        "It is copied to the segment's place, the record says DONE, and replicas in ERROR load it. No row is lost.",
    ],
    preview=_to_restore,
    run=_run_restore,
    back=back_to("consumption"),
)
