"""Buttons that have servers start a segment over or load it again: one segment, or many that are chosen in the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.segments.deleted import chosen_segments
from segments.domain.formats.plural import counted
from segments.services.core.context import Actor
from segments.services.segments import segment_reset

_NO_UNDO: Final = "Data does not change, so there is nothing to take back."


def _one(target: Target, plain: Operation) -> Operation:
    return replace(plain, lists=[("Concerned", [target.arguments["segment"]])])


def _many(target: Target, plain: Operation) -> Operation:
    names = chosen_segments(target)
    title = f"{plain.button} {counted(len(names), 'segment')}"
    return replace(plain, title=title, button=title, lists=[("Concerned", names)], hold={"s": names})


def _run_reset(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    segment = target.arguments["segment"]
    count = segment_reset.reset_segment(target.ctx, target.name, segment, actor=actor)
    return Outcome(f"{counted(count, 'replica')} of {segment} start{'s' if count == 1 else ''} over.")


RESET: Final = Operation(
    action="resetSegment",
    title="Reset a segment",
    button="Reset",
    tab="segments",
    explain=[
        "Its replicas are unloaded and start over: a stored segment is loaded, a consuming one reads again from its "
        "start.",
        _NO_UNDO,
    ],
    preview=_one,
    run=_run_reset,
    back=back_to("segment", "segment"),
)


def _run_reload(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    segment = target.arguments["segment"]
    segment_reset.reload_segments(target.ctx, target.name, segments=[segment], force_download=True, actor=actor)
    return Outcome(f"The servers were asked to load {segment} again.")


RELOAD: Final = Operation(
    action="reloadSegment",
    title="Reload a segment",
    button="Reload",
    tab="segments",
    explain=["Its servers fetch the file again and swap it in; queries go on meanwhile.", _NO_UNDO],
    preview=_one,
    run=_run_reload,
    back=back_to("segment", "segment"),
)


def _run_reset_many(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    names = chosen_segments(target)
    count = sum(segment_reset.reset_segment(target.ctx, target.name, segment, actor=actor) for segment in names)
    return Outcome(f"{counted(count, 'replica')} of {counted(len(names), 'segment')} will start over.")


RESET_MANY: Final = replace(
    RESET,
    action="resetSegments",
    explain=["Their replicas are unloaded and start over. Until they are back queries miss their rows.", _NO_UNDO],
    preview=_many,
    run=_run_reset_many,
    back=back_to("segments"),
)


def _run_reload_many(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    names = chosen_segments(target)
    segment_reset.reload_segments(target.ctx, target.name, segments=names, force_download=True, actor=actor)
    return Outcome(f"The servers were asked to load {counted(len(names), 'segment')} again.")


RELOAD_MANY: Final = replace(
    RELOAD,
    action="reloadSegments",
    explain=[
        "Their servers fetch the files again and swap them in; queries go on meanwhile. What still consumes has no "
        "file and is left out.",
        _NO_UNDO,
    ],
    preview=_many,
    run=_run_reload_many,
    back=back_to("segments"),
)
