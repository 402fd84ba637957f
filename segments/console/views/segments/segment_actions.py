"""Buttons that ask servers to begin with a segment anew or to load it again: of one segment, or of many chosen in the
list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from segments.console.access import find_table, page
from segments.console.operation import Operation, Outcome, perform
from segments.console.views.segments.deleted import chosen_segments
from segments.models import Table
from segments.services.core.context import Actor, Context
from segments.services.segments import segment_reset

_RESET = (
    "Its replicas are unloaded and begin anew: a stored segment is loaded, a consuming one reads again from its start."
)
_RESET_MANY = "Their replicas are unloaded and begin anew. Until they are back queries miss their rows."
_RELOAD = "Its servers fetch the file again and swap it in; queries go on meanwhile."
_RELOAD_MANY = (
    "Their servers fetch the files again and swap them in; queries go on meanwhile. What still consumes has no "
    "file and is left out."
)
_NO_UNDO = "Data does not change, so there is nothing to take back."


@page
@require_http_methods(["GET", "HEAD", "POST"])
def reset(request: HttpRequest, typed: str, segment: str) -> HttpResponse:
    """Let servers begin a segment anew."""
    table, name = find_table(request, typed)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        count = segment_reset.reset_segment(ctx, name, segment, actor=actor)
        return Outcome(
            f"{count} replica{'' if count == 1 else 's'} of {segment} begin{'s' if count == 1 else ''} anew."
        )

    return perform(
        request, table, _of_one(table, segment, "resetSegment", "Reset a segment", "Reset", [_RESET, _NO_UNDO], run)
    )


@page
@require_http_methods(["GET", "HEAD", "POST"])
def reload(request: HttpRequest, typed: str, segment: str) -> HttpResponse:
    """Let servers load a segment again."""
    table, name = find_table(request, typed)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        segment_reset.reload_segments(ctx, name, segments=[segment], force_download=True, actor=actor)
        return Outcome(f"The servers were asked to load {segment} again.")

    return perform(
        request, table, _of_one(table, segment, "reloadSegment", "Reload a segment", "Reload", [_RELOAD, _NO_UNDO], run)
    )


@page
@require_http_methods(["GET", "HEAD", "POST"])
def reset_many(request: HttpRequest, typed: str) -> HttpResponse:
    """The same for all that were chosen."""
    table, name = find_table(request, typed)
    names = chosen_segments(request, table)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        count = sum(segment_reset.reset_segment(ctx, name, segment, actor=actor) for segment in names)
        return Outcome(f"{count} replicas of {len(names)} segments begin anew.")

    operation = _of_many(table, names, "resetSegments", f"Reset {len(names)} segments", [_RESET_MANY, _NO_UNDO], run)
    return perform(request, table, operation)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def reload_many(request: HttpRequest, typed: str) -> HttpResponse:
    """The same for all that were chosen."""
    table, name = find_table(request, typed)
    names = chosen_segments(request, table)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        segment_reset.reload_segments(ctx, name, segments=names, force_download=True, actor=actor)
        return Outcome(f"The servers were asked to load {len(names)} segments again.")

    operation = _of_many(table, names, "reloadSegments", f"Reload {len(names)} segments", [_RELOAD_MANY, _NO_UNDO], run)
    return perform(request, table, operation)


def _of_one(
    table: Table, segment: str, action: str, title: str, button: str, explain: list[str], run: Any
) -> Operation:
    back = reverse("console:segment", args=[table.name, segment])
    return Operation(
        action=action, title=title, button=button, explain=explain, back=back, run=run, items=[segment], tab="segments"
    )


def _of_many(table: Table, names: Sequence[str], action: str, title: str, explain: list[str], run: Any) -> Operation:
    back = reverse("console:segments", args=[table.name])
    return Operation(
        action=action,
        title=title,
        button=title,
        explain=explain,
        back=back,
        run=run,
        items=names,
        hold={"s": names},
        tab="segments",
    )
