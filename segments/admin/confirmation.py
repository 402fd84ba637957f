"""The admin's page that asks for a reason before something is done to one table or several, and the doing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextInputWidget

from segments import wiring
from segments.errors import PinotAdminError
from segments.models import Table
from segments.names import TableName, resolve_table
from segments.services.access.rights import has_right
from segments.services.core import audit
from segments.services.core.context import Actor, Context

#: The field of the form that says: this is the confirmed form, not the list that led to it.
CONFIRMED: Final = "confirmed"


@dataclass(frozen=True)
class Change:
    """What is done to each table, in words and as a call. ``run`` gets the cluster, the table, the form's values and
    who asks, and returns a sentence; it raises a PinotAdminError for what is refused. ``action`` is the audit's word
    for a try without the right.
    """

    action: str
    title: str
    button: str
    explain: Sequence[str]
    run: Callable[[Context, TableName, Mapping[str, Any], Actor], str]
    fields: Mapping[str, forms.Field] = field(default_factory=dict)
    why_not: str = ""


class ReasonForm(forms.Form):
    """The change's own fields, and why."""

    reason = forms.CharField(
        max_length=500,
        help_text="Goes into the audit record.",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        error_messages={"required": "Say why: the reason goes into the audit record."},
    )

    def __init__(self, data: Mapping[str, Any] | None, change: Change) -> None:
        super().__init__(data)
        self.fields = {**change.fields, **self.fields}


def confirm(
    request: HttpRequest,
    admin: ModelAdmin[Any],
    tables: Sequence[Table],
    change: Change,
    hold: Mapping[str, Sequence[Any]] | None = None,
) -> HttpResponse:
    """Show the page, or do it when its form comes back: to every table that the person has the right to operate.

    ``hold``: hidden fields that lead back to the same action. 404 when one of the tables may not be read, 403 when none
    may be changed.
    """
    if not tables or not all(has_right(request.user, "read", t.cluster.name, t.name) for t in tables):
        raise Http404
    allowed = [t for t in tables if has_right(request.user, "operate", t.cluster.name, t.name)]
    # Not to the row: what is changed may remove it, as a pause does with a consuming segment.
    back = (
        request.get_full_path() if hold else reverse(f"admin:{admin.opts.app_label}_{admin.opts.model_name}_changelist")
    )
    is_confirmed = request.method == "POST" and CONFIRMED in request.POST
    form = ReasonForm(request.POST if is_confirmed else None, change)
    if is_confirmed:
        _refuse(request, change, [t for t in tables if t not in allowed])
        if not allowed:
            raise PermissionDenied
        if not change.why_not and form.is_valid() and _run(request, change, allowed, form):
            return HttpResponseRedirect(back)
    context = _context(request, admin, tables, change, form) | {"back": back}
    context |= {
        "may_do": bool(allowed),
        "hold": {**(hold or {}), CONFIRMED: ["yes"]},
        "refused": [t for t in tables if t not in allowed] if allowed else [],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_confirmed else HTTPStatus.OK
    return render(request, "admin/segments/confirm.html", context, status=status)


def _context(
    request: HttpRequest, admin: ModelAdmin[Any], tables: Sequence[Table], change: Change, form: ReasonForm
) -> dict[str, Any]:
    """What the page shows of the change, whoever sees it."""
    return {
        **admin.admin_site.each_context(request),
        "opts": admin.opts,
        "title": change.title,
        "change": change,
        "form": form,
        "tables": tables,
        "confirmed": CONFIRMED,
    }


def _run(request: HttpRequest, change: Change, tables: Sequence[Table], form: ReasonForm) -> bool:
    """Do it to each table; False when there was one and it was refused, which the form then says."""
    for table in tables:
        actor = Actor(
            request.user.get_username(), form.cleaned_data["reason"], str(request.META.get("REMOTE_ADDR", ""))
        )
        try:
            sentence = change.run(
                wiring.context(table.cluster.name), resolve_table(table.name, None), form.cleaned_data, actor
            )
        except PinotAdminError as error:
            if len(tables) == 1:
                form.add_error(None, str(error))
                return False
            messages.error(request, f"{table.name}: {error}")
        else:
            messages.success(request, sentence)
    return True


def _refuse(request: HttpRequest, change: Change, tables: Sequence[Table]) -> None:
    """Put on record who tried to change what they may not."""
    for table in tables:
        why = f"{request.user} lacks the right segments.operate for table {table.name}."
        actor = Actor(request.user.get_username(), address=str(request.META.get("REMOTE_ADDR", "")))
        audit.record(actor, change.action, cluster=table.cluster.name, target=table.name, outcome="refused", error=why)
        messages.error(request, why)
