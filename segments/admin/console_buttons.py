"""The admin's buttons lead to the console's own pages, where rights, previews and reasons are asked for, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import action

from segments.models import LineageEntry, Segment, Table
from segments.names import REALTIME
from segments.services.access.rights import has_right
from segments.services.core.page_addresses import RETURN_TO, address_in

_Method = TypeVar("_Method", bound=Callable[..., HttpResponse])
#: Segments or tables that an address names one by one.
_MOST_NAMED: Final = 40


def button(description: str, url_path: str, icon: str | None = None) -> Callable[[_Method], _Method]:
    """A button on the page or in the row of one object, below its ``url_path``: unfold's ``action``, with types."""
    made: Callable[[_Method], _Method] = action(description=description, url_path=url_path, icon=icon)
    return made


def changelist(admin: ModelAdmin[Any]) -> str:
    """The address of the admin's list of a model."""
    return reverse(f"admin:{admin.opts.app_label}_{admin.opts.model_name}_changelist")


def to_table(
    request: HttpRequest, page: str, table: Table, *names: str, back: str = "", chosen: Sequence[str] = ()
) -> HttpResponse:
    """To a page of a table, for those who may read it: the address names it. ``back``: where its button leads when it
    is done. ``chosen``: the segments that it concerns.
    """
    if not has_right(request.user, "read", table.cluster.name, table.name):
        raise Http404
    segments = [("s", name) for name in chosen]
    return redirect(returning(address_in(table.cluster.name, page, table.name, *names), back, segments))


def returning(address: str, back: str, chosen: Sequence[tuple[str, str]] = ()) -> str:
    """The address of a button that leads back to the admin when it is done. ``chosen``: (parameter, value)."""
    query = [*chosen, *([(RETURN_TO, back)] if back else [])]
    return f"{address}?{urlencode(query)}" if query else address


def consuming(request: HttpRequest, admin: ModelAdmin[Any], page: str, table: Table) -> HttpResponse:
    """To a button of consumption; back with a message where the table consumes nothing."""
    if table.type != REALTIME:
        messages.error(request, f"{table.name} consumes no stream: only REALTIME tables do.")
        return HttpResponseRedirect(changelist(admin))
    return to_table(request, page, table, back=changelist(admin))


def consuming_together(
    request: HttpRequest, admin: ModelAdmin[Any], page: str, tables: Sequence[Table]
) -> HttpResponse:
    """To a button that changes the consumption of several tables of one cluster."""
    if not all(has_right(request.user, "read", table.cluster.name, table.name) for table in tables):
        raise Http404
    clusters = {table.cluster.name for table in tables}
    if len(clusters) != 1 or len(tables) > _MOST_NAMED:
        messages.error(request, f"Choose up to {_MOST_NAMED} tables of one cluster.")
        return HttpResponseRedirect(changelist(admin))
    names = [("t", table.name) for table in tables]
    return redirect(returning(address_in(clusters.pop(), page), changelist(admin), names))


def running_pass(request: HttpRequest, admin: ModelAdmin[Any], table: Table) -> HttpResponse:
    """To the button that runs a pass over a table."""
    if not has_right(request.user, "read", table.cluster.name, table.name):
        raise Http404
    address = address_in(table.cluster.name, "console:run_pass")
    return redirect(returning(address, changelist(admin), [("table", table.name)]))


def reingesting(request: HttpRequest, admin: ModelAdmin[Any], segments: Sequence[Segment]) -> HttpResponse:
    """To the button that reads these segments of one table from its stream again."""
    tables = {segment.table.pk: segment.table for segment in segments}
    if len(tables) == 1 and len(segments) <= _MOST_NAMED:
        table = next(iter(tables.values()))
        if table.type == REALTIME:
            names = [segment.name for segment in segments]
            return to_table(request, "console:reingest", table, back=changelist(admin), chosen=names)
    messages.error(request, f"Choose up to {_MOST_NAMED} segments of one REALTIME table.")
    return HttpResponseRedirect(changelist(admin))


def rolling_back(
    request: HttpRequest, admin: ModelAdmin[Any], table: Table, entry: LineageEntry | None
) -> HttpResponse:
    """To the rollback of a replacement together with those built on it; None: of the newest."""
    newest = LineageEntry.objects.filter(table=table).exclude(state="REVERTED").first()
    wanted = entry or newest
    if wanted is None:
        messages.info(request, f"{table.name} has no replacement that can be rolled back.")
        return HttpResponseRedirect(changelist(admin))
    page = "console:rollback" if newest in (wanted, None) else "console:roll_back_to"
    return to_table(request, page, table, wanted.entry_id, back=changelist(admin))
