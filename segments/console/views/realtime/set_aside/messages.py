"""The list of a table's messages that were set aside, by partition, reason and state, and the same as a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header, urlencode
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import ADMINISTER, OPERATE, may, page
from segments.console.listing import PAGE_SIZE, Listing, page_number
from segments.console.views.realtime.realtime_table import realtime
from segments.console.views.tables.tables import head
from segments.domain.formats.whole_number import whole_number
from segments.domain.set_aside import Shown, shown_payload
from segments.models import SetAsideMessage
from segments.services.core.streaming import in_threads
from segments.services.set_aside import export, listing
from segments.services.set_aside.listing import Which


@dataclass(frozen=True)
class Row:
    """One message as the page shows it; ``payload`` None for who may not see it."""

    message: SetAsideMessage
    reason: str
    state: str
    payload: Shown | None


@page
@require_safe
def message_list(request: HttpRequest, typed: str) -> HttpResponse:
    """Newest first, with the numbers of the table and what can be done."""
    table, name = realtime(request, typed)
    ctx = wiring.context(table.cluster.name)
    which, wanted = read_which(request)
    sees = listing.may_see_payloads(request.user, table.cluster.name, name)
    number = page_number(request.GET.get("page"))
    start = (number - 1) * PAGE_SIZE
    chosen = listing.chosen(ctx, name, which)
    total, found = chosen.count(), list(chosen[start : start + PAGE_SIZE])
    context = {
        "is_kept": ctx.engine.offers.set_aside,
        "totals": listing.totals(table.cluster.name, name),
        "rows": [_row(m, sees=sees) for m in found],
        "listing": Listing[Any](found, number, start + len(found) < total, total),
        "wanted": wanted,
        "is_filtered": any(wanted[key] for key in ("partition", "q")) or wanted["state"] not in ("", "waiting"),
        "states": [("waiting", "waiting"), ("replayed", "replayed"), ("all", "all")],
        "query": urlencode({k: v for k, v in wanted.items() if v}),
        "sees": sees,
        "may_operate": may(request, OPERATE, table.name),
        "may_administer": may(request, ADMINISTER, table.name),
    }
    return render(request, "console/table_set_aside.html", {**head(request, table, "consumption"), **context})


@page
@require_safe
def download(request: HttpRequest, typed: str) -> HttpResponseBase:
    """CSV or JSON lines of what the filter names; under ASGI piece by piece."""
    table, name = realtime(request, typed)
    kind = export.read_format(request.GET.get("kind"))
    sees, is_async = listing.may_see_payloads(request.user, table.cluster.name, name), isinstance(request, ASGIRequest)
    ctx = wiring.context(table.cluster.name)
    pieces = export.export_messages(ctx, name, read_which(request)[0], kind, with_payload=sees, lets_go=is_async)
    answer = StreamingHttpResponse(in_threads(pieces) if is_async else pieces, content_type=export.TYPES[kind])
    answer["Content-Disposition"] = str(
        content_disposition_header(as_attachment=True, filename=f"{table.name}-set-aside.{kind}")
    )
    return answer


def read_which(request: HttpRequest, values: QueryDict | None = None) -> tuple[Which, dict[str, str]]:
    """The filter, of the address or of a form's ``values``, and its texts. What makes no sense filters nothing."""
    given = request.GET if values is None else values
    wanted = {key: given.get(key, "").replace("\0", "").strip() for key in ("partition", "q", "state")}
    partition = whole_number(wanted["partition"])
    state = wanted["state"] if wanted["state"] in listing.STATES else "waiting"
    if partition is None or partition >= 1 << 31:
        wanted["partition"], partition = "", None
    return Which(partition, wanted["q"], listing.read_state(state)), wanted


def _row(message: SetAsideMessage, *, sees: bool) -> Row:
    shown = shown_payload(bytes(message.payload), is_cut=message.is_cut) if sees else None
    return Row(message, listing.reason_of(message), listing.state_of(message.replay), shown)
