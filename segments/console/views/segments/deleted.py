"""Deleted segments of a table: the archive they can come back from, and deletions that still wait; bulk delete and
restore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from segments import wiring
from segments.clusters.pinot.segments import kept_copies as pinot_kept
from segments.console.access import ADMINISTER, find_table, may, page
from segments.console.listing import PAGE_SIZE, Listing, asked, page_number
from segments.console.operation import Operation, Outcome, perform
from segments.console.views.replacement.undo.restore_switch import as_switch
from segments.console.views.tables.tables import filtered_segments, head
from segments.domain.segments.archive import Outcome as SegmentOutcome
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.models import Segment, Table
from segments.services.core.context import Actor, Context
from segments.services.segments import archive, deletion, last_copies, restore
from segments.services.segments.deletion_queue import read_queue

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
    pending = [(item, item.is_claimed(now)) for item in read_queue(ctx, name).items.values()]
    context = {
        **head(request, table, "deleted"),
        "pending": sorted(pending, key=lambda p: p[0].requested_ms),
        "rows": kept,
        "listing": Listing[Any](kept, number, start + len(kept) < total, total),
        "wanted": wanted,
        "may_administer": may(request, ADMINISTER, table.name),
        "keeps_copies": _can_return(ctx, table),
        "keep_key": pinot_kept.KEEP_COPIES,
    }
    return render(request, "console/table_deleted.html", context)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, typed: str) -> HttpResponse:
    """Delete the chosen segments, or all that match a filter, after their number was typed."""
    table, name = find_table(request, typed)
    names = chosen_segments(request, table)
    back = reverse("console:segments", args=[table.name])
    ctx = wiring.context(table.cluster.name)
    outcomes = deletion.delete_segments(ctx, name, names, dry_run=True, actor=Actor(""))
    possible = [o.segment for o in outcomes if o.outcome == "done"]
    rows = sum(
        n or 0 for n in Segment.objects.filter(table=table, name__in=possible).values_list("total_docs", flat=True)
    )
    can_return = _can_return(ctx, table)
    lonely = last_copies.only_on_servers(ctx, name, possible)
    final = (
        {"force": forms.BooleanField(required=False, label="Delete for good what can not be copied")} if lonely else {}
    )
    leaving = [
        f"{len(possible)} of {len(names)} chosen segments leave {table.name}; queries stop seeing their {rows:,} rows.",
        _RETURNS if can_return else _GONE,
        *(
            [f"Only servers hold {len(lonely)} of them, e.g. {lonely[0]}: they are copied to the deep store first."]
            if lonely
            else []
        ),
    ]
    explain = [*(leaving if possible else ["Nothing: what was chosen stays as it is."]), *_refusals(outcomes)]

    def run(ctx: Context, values: Mapping[str, Any], actor: Actor) -> Outcome:
        term = str(values.get("retention") or "") or None
        force = bool(values.get("force"))
        found = deletion.delete_segments(ctx, name, names, retention=term, force=force, actor=actor)
        done = [o.segment for o in found if o.outcome == "done"]
        if not done and possible:
            raise StateConflict(" ".join(_refusals(found)) or "Nothing was deleted.")
        undo = f"{reverse('console:restore', args=[table.name])}?{urlencode({'s': done[:PAGE_SIZE]}, doseq=True)}"
        return Outcome(
            " ".join([f"{len(done)} segments are deleted.", *_refusals(found)]),
            undo if done and can_return else "",
            "Restore them",
        )

    operation = Operation(
        action="deleteSegments",
        title="Delete segments",
        button=f"Delete {len(possible)} segments",
        explain=explain,
        back=back,
        run=run,
        confirm=f"delete {len(possible)}",
        hold={"s": names},
        items=possible,
        items_title="Segments that are deleted",
        tab="segments",
        fields={
            "retention": forms.CharField(required=False, label="Keep the files for", help_text=_TERM_HELP),
            **final,
        },
        why_not="" if possible else "None of the chosen segments can be deleted.",
        right=ADMINISTER,
        is_danger=True,
    )
    return perform(request, table, operation)


_TERM_HELP: Final = (
    "For example 3d or 12h; 0d deletes them at once and for good. Empty: what the table or the cluster says."
)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def restore_chosen(request: HttpRequest, typed: str) -> HttpResponse:
    """Bring deleted segments back."""
    table, name = find_table(request, typed)
    names, files = _names_and_files(request)
    ctx = wiring.context(table.cluster.name)
    outcomes = restore.restore_segments(ctx, name, names, dry_run=True, actor=Actor(""), overwrite=True, files=files)
    possible = [o.segment for o in outcomes if o.outcome == "done"]
    if not possible and (switch := as_switch(request, table, name, names)) is not None:
        return switch

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        found = restore.restore_segments(ctx, name, names, actor=actor, overwrite=True, files=files)
        done = [o.segment for o in found if o.outcome == "done"]
        if not done and possible:
            raise StateConflict(" ".join(_refusals(found)))
        told = " ".join([f"{len(done)} segments are back.", *_refusals(found)])
        if any(o.replaces for o in found):
            return Outcome(told, reverse("console:deleted", args=[table.name]), "What they replaced is kept there")
        undo = (
            f"{reverse('console:delete_segments', args=[table.name])}?{urlencode({'s': done[:PAGE_SIZE]}, doseq=True)}"
        )
        return Outcome(told, undo if done else "", "Delete them again")

    operation = Operation(
        action="restoreSegments",
        title="Restore segments",
        button=f"Restore {len(possible)} segments",
        explain=_restoring(outcomes),
        back=reverse("console:deleted", args=[table.name]),
        run=run,
        confirm=f"restore {len(possible)}",
        hold={"s": [s for s in names if s not in {archive.segment_of(f) for f in files}], "f": files},
        items=possible,
        items_title="Segments that come back",
        tab="deleted",
        right=ADMINISTER,
        why_not="" if possible else "None of the chosen segments can come back.",
    )
    return perform(request, table, operation)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: HttpRequest, typed: str, segment: str) -> HttpResponse:
    """Take one segment off the deletion queue."""
    table, name = find_table(request, typed)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        said = restore.cancel_deletion(ctx, name, segment, actor=actor).message
        return Outcome(
            said,
            f"{reverse('console:delete_segments', args=[table.name])}?{urlencode({'s': segment})}",
            "Delete it again",
        )

    operation = Operation(
        action="cancelDeletion", title="Cancel a deletion", button="Put it back", tab="deleted", right=ADMINISTER,
        explain=[f"Segment {segment} leaves the deletion queue and is served again.", "To undo it, delete it again."],
        back=reverse("console:deleted", args=[table.name]), run=run,
    )  # fmt: skip
    return perform(request, table, operation)


_RETURNS: Final = "Their files are kept for a while, and they can be restored from the tab Deleted."
_GONE: Final = (
    "They can not be restored from here, and there is no undo: Pinot keeps their files in Deleted_Segments for a "
    "while. With "
    f"{pinot_kept.KEEP_COPIES} = true in the table's metadata.customConfigs, copies are kept before segments are "
    "deleted from here."
)


def _can_return(ctx: Context, table: Table) -> bool:
    """Can what is deleted be restored? A real Pinot restores nothing: what comes back are copies of ours, where the
    table asks for them.
    """
    try:
        return ctx.pinot is None or pinot_kept.keeps_copies(parse_table_config(table.config))
    except PinotAdminError:
        return False


def _restoring(outcomes: Sequence[SegmentOutcome]) -> list[str]:
    """What a restore would do, in sentences; each segment that is replaced by its kept version by name."""
    replacing = [o for o in outcomes if o.outcome == "done" and o.replaces]
    back = sum(o.outcome == "done" for o in outcomes) - len(replacing)
    told = [o.message for o in replacing[:_SHOWN]]
    more = [f"{len(replacing) - _SHOWN} more go back to their kept versions."] if len(replacing) > _SHOWN else []
    plain = [
        f"{back} of {len(outcomes)} chosen segments come back with the same file, record and checksum; queries "
        "see their rows again.",
        "To undo it, delete them again.",
    ]
    return [*(plain if back or not replacing else []), *told, *more, *_refusals(outcomes)]


def _names_and_files(request: HttpRequest) -> tuple[list[str], list[str]]:
    """Chosen segments, and kept files where a certain version was chosen; the files' segments are among the names."""
    files = list(dict.fromkeys((request.POST if request.method == "POST" else request.GET).getlist("f")))[: MOST + 1]
    return _named(request, *map(archive.segment_of, files)), files


def _named(request: HttpRequest, *more: str) -> list[str]:
    names = list(dict.fromkeys((request.POST if request.method == "POST" else request.GET).getlist("s") + list(more)))
    if not names:
        raise InvalidInput("No segment was chosen.", remedy="Tick segments in the list first.")
    if len(names) > MOST:
        raise InvalidInput(
            f"{len(names)} segments are too many for one go.", remedy=f"Choose at most {MOST}, or use the REST API."
        )
    return names


def chosen_segments(request: HttpRequest, table: Table) -> list[str]:
    """The ticked names, or with ``all`` everything that the list's filter matches."""
    if request.method == "POST" or not request.GET.get("all"):
        return _named(request)
    wanted = asked(request, "q", "status", "seen", "replicas")
    names = list(filtered_segments(table, wanted).order_by("name").values_list("name", flat=True)[: MOST + 1])
    if not names:
        raise NotFound("No segment matches this filter.", remedy="Change the filter.")
    if len(names) > MOST:
        raise StateConflict(
            f"More than {MOST} segments match this filter.", remedy="Narrow the filter, or use the REST API."
        )
    return names


def _refusals(outcomes: Sequence[SegmentOutcome]) -> list[str]:
    left = [o for o in outcomes if o.outcome != "done"]
    told = [f"{o.message} {o.remedy}".strip() for o in left[:_SHOWN]]
    return [*told, *([f"{len(left) - _SHOWN} more stay as they are."] if len(left) > _SHOWN else [])]
