"""One page for every button that changes something: what will happen, a reason, perhaps a typed confirmation, the
outcome, the way back.

A view describes an ``Operation`` and calls ``perform``; rights, CSRF, refusals, messages and the redirect are the same
for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final, Literal

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html

from segments.console.access import OPERATE, actor_of, may, refusal, shown_status
from segments.console.cluster_address import ctx_of
from segments.console.forms import OperationForm
from segments.console.lacking import away_here, lacking_here
from segments.console.mirror_wait import wait_for_mirror
from segments.console.views.tables.tables import head
from segments.errors import PinotAdminError, StateConflict
from segments.models import Table
from segments.services.core.context import Actor, Context

#: Where an operation of a cluster stands in the navigation, and the page above it.
_PLACES: Final = {
    "servers": {"here": "servers", "above": "console:servers", "above_text": "Servers"},
    "tasks": {"here": "passes", "above": "console:tasks", "above_text": "Minion tasks"},
}


@dataclass(frozen=True)
class Outcome:
    """What was done, as one sentence, and where it can be undone (an address and the words of its link; empty:
    nowhere).

    ``answer``: a page that shows what was found instead of a message, for what no message may carry along.
    """

    sentence: str
    undo: str = ""
    undo_text: str = "Undo"
    answer: HttpResponse | None = None


@dataclass(frozen=True)
class Operation:
    """One button. ``action`` is its name in the audit; ``explain`` says in sentences what will happen and how it is
    taken back.

    ``run`` gets the context, the form's cleaned values and the actor. ``confirm``: a text that must be typed.
    ``fields``: further form fields by name; ``initial``: their first values. ``back``: where a refusal of mind and
    success lead. ``why_not``: why it can not be done now (the button is shown disabled with it). ``items``: names that
    it concerns, listed on the page. ``hold``: values that the form carries along unseen. ``needs``: what the cluster's
    version must be able to do (a name of ``pinot_version``). ``asks``: what it needs of a Pinot cluster that may be
    away: changing it, only reading it, or nothing. ``place``: which page of the cluster it belongs to when it concerns
    no table.
    """

    action: str
    title: str
    button: str
    explain: Sequence[str]
    back: str
    run: Callable[[Context, Mapping[str, Any], Actor], Outcome]
    confirm: str = ""
    fields: Mapping[str, forms.Field] = field(default_factory=dict)
    initial: Mapping[str, Any] = field(default_factory=dict)
    why_not: str = ""
    items: Sequence[str] = ()
    items_title: str = "Concerned"
    hold: Mapping[str, Sequence[str]] = field(default_factory=dict)
    right: str = OPERATE
    needs: str = ""
    tab: str = "overview"
    is_danger: bool = False
    asks: Literal["change", "reading", "nothing"] = "change"
    place: Literal["servers", "tasks"] = "servers"


def perform(
    request: HttpRequest, table: Table | None, operation: Operation, extra: Mapping[str, Any] | None = None
) -> HttpResponse:
    """GET shows the page; POST does it and redirects with a message that carries the way back. Nothing is done without
    a right, a reason and, where asked, the typed confirmation. Without a ``table`` it concerns the cluster: a server,
    named by ``items``.
    """
    if operation.needs:
        operation = replace(operation, why_not=operation.why_not or lacking_here(request, operation.needs))
    form = OperationForm(
        request.POST if request.method == "POST" else None,
        confirm=operation.confirm,
        more=operation.fields,
        initial=dict(operation.initial),
    )
    if request.method != "POST":
        # Only shown: who presses all the same is answered by the cluster, which may be back meanwhile.
        away = away_here(request, is_reading=operation.asks == "reading") if operation.asks != "nothing" else ""
        return _page(request, table, replace(operation, why_not=operation.why_not or away), form, HTTPStatus.OK, extra)
    name = table.name if table else None
    refused = refusal(request, operation.action, name or ",".join(operation.items), operation.right, table=name)
    if refused:
        return refused
    if not form.is_valid():
        return _page(request, table, operation, form, HTTPStatus.UNPROCESSABLE_ENTITY, extra)
    if operation.needs and operation.why_not:
        form.refuse(StateConflict(operation.why_not))
        return _page(request, table, operation, form, HTTPStatus.CONFLICT, extra)
    try:
        outcome = operation.run(ctx_of(request), form.cleaned_data, actor_of(request, form.cleaned_data["reason"]))
    except PinotAdminError as error:
        form.refuse(error)
        return _page(request, table, operation, form, shown_status(request, error), extra)
    if outcome.answer is not None:
        return outcome.answer
    if table is not None and operation.tab == "lineage":
        wait_for_mirror(ctx_of(request), table)
    undo = format_html(' <a href="{}">{}</a>', outcome.undo, outcome.undo_text) if outcome.undo else ""
    messages.success(request, format_html("{}{}", outcome.sentence, undo))
    return redirect(operation.back)


def _page(
    request: HttpRequest,
    table: Table | None,
    operation: Operation,
    form: OperationForm,
    status: int,
    extra: Mapping[str, Any] | None,
) -> HttpResponse:
    context = {
        "operation": operation,
        "form": form,
        "may_do": may(request, operation.right, table.name if table else None),
        **(extra or {}),
    }
    if table is None:
        return render(request, "console/cluster_operation.html", {**context, **_PLACES[operation.place]}, status=status)
    return render(request, "console/operation.html", {**head(request, table, operation.tab), **context}, status=status)
