"""Pin or unpin several replacements of a table at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from segments.console.access import find_table, page
from segments.console.cluster_address import ctx_of
from segments.console.operation import Operation, Outcome, perform
from segments.errors import InvalidInput
from segments.models import Table
from segments.services.core.context import Actor, Context
from segments.services.replacement import pins

#: A page of the lineage has fewer.
_MOST: Final = 100


@page
@require_http_methods(["GET", "HEAD", "POST"])
def pin_many(request: HttpRequest, typed: str) -> HttpResponse:
    """Keep the chosen entries and both their sides."""
    return _many(request, typed, "pinEntry", "Pin", pin_explained(request, "their", "they are"))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def unpin_many(request: HttpRequest, typed: str) -> HttpResponse:
    """Let clean-up have the chosen entries."""
    return _many(
        request, typed, "unpinEntry", "Unpin",
        ["The next clean-up may delete segments of theirs that no query sees and no kept snapshot needs."],
    )  # fmt: skip


def pin_explained(request: HttpRequest, whose: str, until: str) -> list[str]:
    """What a pin does: everything on the own cluster, on a real Pinot only what goes through us."""
    if ctx_of(request).engine.offers.own_upkeep:
        return [
            f"Neither a clean-up nor a later push deletes {whose} segments, old or new, until {until} unpinned.",
            "They go on using space.",
        ]
    return [
        f"Nothing that goes through here deletes {whose} segments, old or new, or reverts the replacement, until "
        f"{until} unpinned.",
        "Pinot does not know pins: its own retention, and pushes that do not come through here, delete the old "
        "side all the same.",
    ]


def _many(request: HttpRequest, typed: str, action: str, word: str, explain: list[str]) -> HttpResponse:
    table, name = find_table(request, typed)
    entries = _chosen(request)
    does, is_pin = (pins.pin_entry, True) if word == "Pin" else (pins.unpin_entry, False)
    title = f"{word} {len(entries)} replacement{'' if len(entries) == 1 else 's'}"

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        for entry in entries:
            does(ctx, name, entry, actor)
        back = "console:unpin_entries" if is_pin else "console:pin_entries"
        undo = f"{reverse(back, args=[table.name])}?{urlencode({'e': entries}, doseq=True)}"
        said = (
            f"{len(entries)} replacement{' is' if len(entries) == 1 else 's are'} "
            f"{'pinned' if is_pin else 'no longer pinned'}."
        )
        return Outcome(said, undo, "Unpin again" if is_pin else "Pin again")

    operation = Operation(
        action=action, title=title, button=title, explain=explain, back=_lineage(table), run=run, items=entries,
        items_title="Lineage entries", hold={"e": entries}, tab="lineage", asks="reading",
    )  # fmt: skip
    return perform(request, table, operation)


def _chosen(request: HttpRequest) -> list[str]:
    entries = list(dict.fromkeys((request.POST if request.method == "POST" else request.GET).getlist("e")))
    if not 0 < len(entries) <= _MOST:
        raise InvalidInput(
            f"{len(entries)} replacements are chosen.", remedy=f"Tick 1 to {_MOST} of them on the lineage page."
        )
    return entries


def _lineage(table: Table) -> str:
    return reverse("console:lineage", args=[table.name])
