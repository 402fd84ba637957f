"""Deleted segments of a table: the archive they can come back from, and deletions that still wait; bulk delete and
restore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import ADMINISTER, find_table, may, page
from segments.console.listing import PAGE_SIZE, Listing, asked, page_number
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.replacement.undo.restore_switch import as_switch
from segments.console.views.tables.tables import filtered_segments, head
from segments.domain.formats.plural import counted
from segments.domain.segments.archive import KEEP_COPIES
from segments.domain.segments.archive import Outcome as SegmentOutcome
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.models import Segment, Table
from segments.services.core.context import Actor, Context
from segments.services.segments import archive, deletion, last_copies, restore

#: At most so many segments in one go from the console; scripts use the REST API.
MOST: Final = 2000
_SHOWN: Final = 3


@page
@require_safe
def deleted(request: HttpRequest, typed: str) -> HttpResponse:
    """What is being deleted, and what can still come back."""
    table, name = find_table(request, typed)
    ctx = wiring.context(table.cluster.name)
    number, wanted = page_number(request.GET.get("page")), asked(request, "q")
    start = (number - 1) * PAGE_SIZE
    kept, total = archive.list_kept(ctx, name, offset=start, limit=PAGE_SIZE, prefix=wanted["q"])
    now = ctx.clock()
    pending = [(item, item.is_claimed(now)) for item in ctx.engine.segments.waiting_deletions(ctx, name).values()]
    context = {
        **head(request, table, "deleted"),
        "pending": sorted(pending, key=lambda p: p[0].requested_ms),
        "rows": kept,
        "listing": Listing[Any](kept, number, start + len(kept) < total, total),
        "wanted": wanted,
        "may_administer": may(request, ADMINISTER, table.name),
        "keeps_copies": _can_return(ctx, table),
        "keep_key": KEEP_COPIES,
    }
    return render(request, "console/table_deleted.html", context)


_TERM_HELP: Final = (
    "For example 3d or 12h; 0d deletes them at once and for good. Empty: what the table or the cluster says."
)


def _to_delete(target: Target, plain: Operation) -> Operation:
    """The chosen segments, or all that match a filter."""
    names = chosen_segments(target)
    outcomes = deletion.delete_segments(target.ctx, target.name, names, dry_run=True, actor=Actor(""))
    possible = [o.segment for o in outcomes if o.outcome == "done"]
    lonely = last_copies.only_on_servers(target.ctx, target.name, possible)
    force = forms.BooleanField(required=False, label="Delete for good what cannot be copied")
    leaving = _leaving(target, possible, names, lonely) if possible else ["Nothing: what was chosen stays as it is."]
    return replace(
        plain,
        button=f"Delete {counted(len(possible), 'segment')}",
        explain=[*leaving, *_refusals(outcomes)],
        lists=[("Segments that are deleted", possible)],
        why_not="" if possible else "None of the selected segments can be deleted.",
        fields={**plain.fields, **({"force": force} if lonely else {})},
        confirm=f"delete {len(possible)}",
        hold={"s": names},
        run=partial(_run_delete, names, possible),
    )


def _leaving(target: Target, possible: list[str], names: list[str], lonely: Sequence[str]) -> list[str]:
    found = Segment.objects.filter(table=target.table, name__in=possible)
    rows = sum(n or 0 for n in found.values_list("total_docs", flat=True))
    only = f"Only servers hold {len(lonely)} of them, e.g. {lonely[0]}" if lonely else ""
    return [
        f"{len(possible)} of {len(names)} selected segments leave {target.table.name}; queries stop seeing their "
        f"{counted(rows, 'row')}.",
        _notice(target.ctx, target.table),
        *([f"{only}: they are copied to the deep store first."] if only else []),
    ]


def _run_delete(
    names: list[str], possible: list[str], target: Target, values: Mapping[str, Any], actor: Actor
) -> Outcome:
    term, force = str(values.get("retention") or "") or None, bool(values.get("force"))
    found = deletion.delete_segments(target.ctx, target.name, names, retention=term, force=force, actor=actor)
    done = [o.segment for o in found if o.outcome == "done"]
    if not done and possible:
        raise StateConflict(" ".join(_refusals(found)) or "Nothing was deleted.")
    can_return = done and _can_return(target.ctx, target.table)
    undo = _with_segments(target, "restore", done) if can_return else ""
    return Outcome(" ".join([f"Deleted {counted(len(done), 'segment')}.", *_refusals(found)]), undo, "Restore them")


def _with_segments(target: Target, page_name: str, names: Sequence[str]) -> str:
    return f"{target.address(page_name)}?{urlencode({'s': names[:PAGE_SIZE]}, doseq=True)}"


DELETE: Final = Operation(
    action="deleteSegments",
    title="Delete segments",
    button="Delete",
    tab="segments",
    right=ADMINISTER,
    is_danger=True,
    fields={"retention": forms.CharField(required=False, label="Keep the files for", help_text=_TERM_HELP)},
    preview=_to_delete,
    run=partial(_run_delete, [], []),
    back=back_to("segments"),
)


def _to_restore(target: Target, plain: Operation) -> Operation:
    names, files = _names_and_files(target)
    outcomes = restore.restore_segments(
        target.ctx, target.name, names, dry_run=True, actor=Actor(""), overwrite=True, files=files
    )
    possible = [o.segment for o in outcomes if o.outcome == "done"]
    if not possible and (switch := as_switch(target, names)) is not None:
        return switch
    of_files = {archive.segment_of(f) for f in files}
    return replace(
        plain,
        button=f"Restore {counted(len(possible), 'segment')}",
        explain=_restoring(outcomes),
        lists=[("Segments that come back", possible)],
        why_not="" if possible else "None of the selected segments can be restored.",
        confirm=f"restore {len(possible)}",
        hold={"s": [s for s in names if s not in of_files], "f": files},
        run=partial(_run_restore, names, files, possible),
    )


def _run_restore(
    names: list[str], files: list[str], possible: list[str], target: Target, _: Mapping[str, Any], actor: Actor
) -> Outcome:
    found = restore.restore_segments(target.ctx, target.name, names, actor=actor, overwrite=True, files=files)
    done = [o.segment for o in found if o.outcome == "done"]
    if not done and possible:
        raise StateConflict(" ".join(_refusals(found)))
    sentence = " ".join([f"Restored {counted(len(done), 'segment')}.", *_refusals(found)])
    if any(o.replaces for o in found):
        return Outcome(sentence, target.address("deleted"), "What they replaced is kept there")
    return Outcome(sentence, _with_segments(target, "delete_segments", done) if done else "", "Delete them again")


RESTORE: Final = Operation(
    action="restoreSegments",
    title="Restore segments",
    button="Restore",
    tab="deleted",
    right=ADMINISTER,
    preview=_to_restore,
    run=partial(_run_restore, [], [], []),
    back=back_to("deleted"),
)


def _to_cancel(target: Target, plain: Operation) -> Operation:
    segment = target.arguments["segment"]
    return replace(
        plain,
        explain=[f"Segment {segment} leaves the deletion queue and is served again.", "To undo it, delete it again."],
    )


def _run_cancel(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    segment = target.arguments["segment"]
    sentence = restore.cancel_deletion(target.ctx, target.name, segment, actor=actor).message
    return Outcome(sentence, _with_segments(target, "delete_segments", [segment]), "Delete it again")


CANCEL: Final = Operation(
    action="cancelDeletion",
    title="Cancel a deletion",
    button="Put it back",
    tab="deleted",
    right=ADMINISTER,
    preview=_to_cancel,
    run=_run_cancel,
    back=back_to("deleted"),
)


def _can_return(ctx: Context, table: Table) -> bool:
    """Can what is deleted be restored? Not promised of a table whose config cannot be read."""
    try:
        return ctx.engine.segments.keeps_deleted(ctx, parse_table_config(table.config))
    except PinotAdminError:
        return False


def _notice(ctx: Context, table: Table) -> str:
    """What becomes of the files of deleted segments."""
    try:
        return ctx.engine.segments.deletion_notice(ctx, parse_table_config(table.config))
    except PinotAdminError:
        return "Whether they can be restored is not known: the table's config cannot be read."


def _restoring(outcomes: Sequence[SegmentOutcome]) -> list[str]:
    """What a restore would do, in sentences; each segment that is replaced by its kept version by name."""
    replacing = [o for o in outcomes if o.outcome == "done" and o.replaces]
    back = sum(o.outcome == "done" for o in outcomes) - len(replacing)
    named = [o.message for o in replacing[:_SHOWN]]
    more = [f"{len(replacing) - _SHOWN} more go back to their kept versions."] if len(replacing) > _SHOWN else []
    selected = counted(len(outcomes), "selected segment")
    if not back:
        plain = [f"None of {selected} can be restored."]
    else:
        plain = [
            f"{back} of {selected} {'is' if back == 1 else 'are'} restored with the same file, record and checksum; "
            "queries include the rows again.",
            "To undo this, delete the restored segments again.",
        ]
    return [*(plain if back or not replacing else []), *named, *more, *_refusals(outcomes)]


def _names_and_files(target: Target) -> tuple[list[str], list[str]]:
    """Chosen segments, and kept files where a certain version was chosen; the files' segments are among the names."""
    files = target.values("f")[: MOST + 1]
    return _named(target, *map(archive.segment_of, files)), files


def _named(target: Target, *more: str) -> list[str]:
    names = list(dict.fromkeys([*target.values("s"), *more]))
    if not names:
        raise InvalidInput("No segment was chosen.", remedy="Tick segments in the list first.")
    if len(names) > MOST:
        raise InvalidInput(
            f"{counted(len(names), 'segment', 'is', 'are')} too many at once.",
            remedy=f"Choose at most {MOST}, or use the REST API.",
        )
    return names


def chosen_segments(target: Target) -> list[str]:
    """The ticked names, or with ``all`` everything that the list's filter matches."""
    if target.is_post or not target.request.GET.get("all"):
        return _named(target)
    wanted = asked(target.request, "q", "status", "seen", "replicas")
    names = list(filtered_segments(target.table, wanted).order_by("name").values_list("name", flat=True)[: MOST + 1])
    if not names:
        raise NotFound("No segment matches this filter.", remedy="Change the filter.")
    if len(names) > MOST:
        raise StateConflict(
            f"More than {MOST} segments match this filter.", remedy="Narrow the filter, or use the REST API."
        )
    return names


def _refusals(outcomes: Sequence[SegmentOutcome]) -> list[str]:
    left = [o for o in outcomes if o.outcome != "done"]
    named = [f"{o.message} {o.remedy}".strip() for o in left[:_SHOWN]]
    return [*named, *([f"{len(left) - _SHOWN} more stay as they are."] if len(left) > _SHOWN else [])]
