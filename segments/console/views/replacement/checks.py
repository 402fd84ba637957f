"""The checks of a table: what a new snapshot must fulfil before queries see it, an editor for it, and
the last results.
"""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods

from segments import wiring
from segments.console.access import ADMINISTER, actor_of, find_table, may, page, refusal, shown_status
from segments.console.forms import ChecksForm
from segments.console.presenters.checks import last_results, rules
from segments.console.views.tables.tables import head
from segments.domain.replacement.check_document import parse_checks
from segments.errors import InvalidInput, PinotAdminError
from segments.models import Table
from segments.names import TableName
from segments.services.replacement.checks import check_settings

#: A document that was replaced is kept in the session, for the link that brings it back.
_BEFORE: Final = "checks_before"
_LONGEST_KEPT: Final = 50_000
_EXAMPLE: Final = """\
{"checks": [
  {"kind": "rowCount", "min": 1, "minRatio": 0.8, "maxRatio": 2},
  {"kind": "nullShare", "column": "city", "max": 0.05, "level": "warn"},
  {"kind": "time", "notBefore": "2020-01-01", "notAfter": "now+1d", "maxAge": "2d"},
  {"kind": "uniqueKey", "columns": ["order_id"]},
  {"kind": "sql", "name": "no negative amounts",
   "sql": "select count(*) from orders where amount < 0", "expect": "= 0"}
], "timeoutMs": 60000}"""


@page
@require_http_methods(["GET", "HEAD", "POST"])
def table_checks(request: HttpRequest, typed: str) -> HttpResponse:
    """GET shows rules, editor and results; POST makes the text the table's checks."""
    table, name = find_table(request, typed)
    text, problem = _stored(table, name)
    seen = hashlib.sha256(text.encode()).hexdigest()[:32]
    if request.method != "POST":
        back = request.session.get(_BEFORE, {}).get(table.name, text) if request.GET.get("undo") else text
        form = ChecksForm(initial={"document": back, "seen": seen}, fingerprint=seen)
        return _page(request, table, name, form, text, problem)
    refused = refusal(request, "updateChecks", table.name, ADMINISTER, table=table.name)
    if refused:
        return refused
    form = ChecksForm(request.POST, fingerprint=seen)
    if not form.is_valid():
        return _page(request, table, name, form, text, problem, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        actor = actor_of(request, form.cleaned_data["reason"])
        stored = check_settings.write_check_document(
            wiring.context(table.cluster.name), name, form.cleaned_data["document"].strip(), actor=actor
        )
    except PinotAdminError as error:
        form.refuse(error, "document" if error.status == HTTPStatus.BAD_REQUEST else None)
        return _page(request, table, name, form, text, problem, shown_status(request, error))
    _confirm(request, table, text, len(stored["checks"]))
    return redirect("console:checks", typed=table.name)


def _confirm(request: HttpRequest, table: Table, before: str, count: int) -> None:
    message = (
        f"{table.name} has {count} check{'' if count == 1 else 's'} now; they run at the next switch."
        if count
        else "All checks are removed."
    )
    if len(before) > _LONGEST_KEPT:
        messages.success(request, message)
        return
    request.session[_BEFORE] = {table.name: before}
    address = reverse("console:checks", args=[table.name])
    messages.success(
        request, format_html('{} <a href="{}?undo=1#editor">Undo: edit the former ones</a>', message, address)
    )


def _stored(table: Table, name: TableName) -> tuple[str, InvalidInput | None]:
    """The table's document as text, one check per line; what cannot be read stays as it is, with the reason."""
    try:
        document = check_settings.read_check_document(wiring.context(table.cluster.name), name)
    except InvalidInput as error:
        custom = (table.config.get("metadata") or {}).get("customConfigs") or {}
        return str(custom.get("pinotadmin.checks", "")), error
    lines = ",\n".join(f"  {json.dumps(c, ensure_ascii=False)}" for c in document["checks"])
    return f'{{"checks": [{chr(10) + lines + chr(10) if lines else ""}], "timeoutMs": {document["timeoutMs"]}}}', None


def _page(
    request: HttpRequest, table: Table, name: TableName, form: ChecksForm, text: str, problem: InvalidInput | None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:  # fmt: skip
    context: dict[str, Any] = {
        **head(request, table, "checks"),
        "form": form,
        "problem": problem,
        "example": _EXAMPLE,
        "rules": [] if problem else rules(parse_checks(text)),
        "results": last_results(wiring.context(table.cluster.name), table, name),
        "may_administer": may(request, ADMINISTER, table.name),
        "is_undo": request.method != "POST" and bool(request.GET.get("undo")),
        "columns": [f["name"] for f in _fields(table)],
    }
    return render(request, "console/table_checks.html", context, status=status)


def _fields(table: Table) -> list[dict[str, Any]]:
    keys = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    return [f for key in keys for f in table.schema.get(key) or [] if f.get("name")]
