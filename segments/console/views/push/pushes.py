"""Pushes: the list, one push with live progress, and a new one. Its buttons are in ``push_actions``."""

from __future__ import annotations

import uuid
from http import HTTPStatus
from typing import Any, Final

import yaml
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from segments import wiring
from segments.console.access import actor_of, find_table, may_operate, may_somewhere, page, refusal, shown_status
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.forms import PushForm
from segments.console.listing import asked, cut, page_number
from segments.console.presenters import push_outcome
from segments.console.presenters.badges import mark
from segments.console.presenters.checks import entry_report
from segments.console.presenters.pushes import as_sent, lease_is_lost, progress, segment_state, spec_text
from segments.domain.push.offered_spec import offered_spec
from segments.domain.push.push_spec import parse_spec
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.errors import PinotAdminError
from segments.models import Push, PushReport
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.access.read_rights import readable_pushes
from segments.services.core.page_addresses import address_in
from segments.services.jobs import queue
from segments.services.push import pushes
from segments.services.push.reports.document import report_document

#: Segments shown on a push's page.
_SHOWN: Final = 200
#: Bad values shown there; the report has more.
_BAD_SHOWN: Final = 20


@page
@require_safe
def push_list(request: HttpRequest) -> HttpResponse:
    """Pushes, newest first, by table and state."""
    wanted = asked(request, "table", "state")
    query = readable_pushes(Push.objects.filter(cluster=cluster_of(request)), request.user).defer("plan", "spec")
    if wanted["table"]:
        query = query.filter(table_name__icontains=split_table_name(wanted["table"])[0])
    if wanted["state"]:
        query = query.filter(state=wanted["state"])
    listing = cut(query, page_number(request.GET.get("page")))
    rows = [(progress(p), mark(p.state)) for p in listing]
    context = {
        "listing": listing,
        "rows": rows,
        "wanted": wanted,
        "states": Push.State.values,
        "may_operate": may_somewhere(request),
        "is_busy": any(not p.is_over for p, _ in rows),
    }
    return render(request, "console/pushes.html", context)


@page
@require_safe
def detail(request: HttpRequest, push_id: uuid.UUID) -> HttpResponse:
    """One push; an address that names another cluster than its own leads to the right one."""
    push = get_object_or_404(readable_pushes(Push.objects.select_related("report"), request.user), pk=push_id)
    if push.cluster != cluster_of(request):
        return redirect(address_in(push.cluster, "console:push", push.pk))
    return _page(request, push)


@page
@require_safe
def live(request: HttpRequest, push_id: uuid.UUID) -> HttpResponse:
    """The part of a push's page that htmx fetches every second while it runs; the whole page loads once more when it is
    over, or when its buttons become others (``seen`` is the state that the page shows).
    """
    push = get_object_or_404(
        readable_pushes(Push.objects.defer("plan", "spec"), request.user), pk=push_id, cluster=cluster_of(request)
    )
    response = render(request, "console/partials/push_progress.html", _live_context(push))
    seen = asked(request, "seen")["seen"]
    if push.state in Push.TERMINAL or (seen and seen != push.state and Push.State.BLOCKED in (seen, push.state)):
        response["HX-Refresh"] = "true"
    return response


@page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Paste or choose a job specification; it is checked before anything starts."""
    if request.method != "POST":
        return _form_page(request, PushForm(initial={"spec": _first_spec(request)}))
    refused = None if may_somewhere(request) else refusal(request, "push", "")
    if refused:
        return refused
    form = PushForm(request.POST, request.FILES)
    if not form.is_valid():
        return _form_page(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        actor = actor_of(request, form.cleaned_data["reason"])
        if not may_operate(request):  # everything: then it is the table that decides
            table = parse_spec(form.cleaned_data["spec"]).table.typed
            if refused := refusal(request, "push", table, table=table):
                return refused
        overwrite = bool(form.cleaned_data["overwrite"])
        push = pushes.create_push(
            ctx_of(request),
            form.cleaned_data["spec"],
            actor,
            roots=wiring.input_roots(),
            overwrite=overwrite,
            strict_snapshot=bool(form.cleaned_data["strict_snapshot"]),
        )
    except PinotAdminError as error:
        form.refuse(error, "spec" if error.status == HTTPStatus.BAD_REQUEST else None)
        return _form_page(request, form, shown_status(request, error))
    if queue.enqueue_push(ctx_of(request), str(push.pk)):
        messages.success(request, f"Push to {push.table_name} is queued.")
    else:
        messages.warning(
            request, "The push is stored, but the task queue does not answer. It begins as soon as Redis is back."
        )
    return redirect("console:push", push_id=push.pk)


def _first_spec(request: HttpRequest) -> str:
    """What the editor begins with: the specification of the push to be repeated, or a sample."""
    wanted = asked(request, "again", "table")
    if wanted["again"]:
        try:
            mine = readable_pushes(Push.objects.filter(cluster=cluster_of(request)), request.user)
            spec = mine.filter(pk=uuid.UUID(wanted["again"])).values_list("spec", flat=True).first()
        except ValueError:
            spec = None
        if spec:
            return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)
    table = split_table_name(wanted["table"] or "my_table")[0]
    return offered_spec(_config_of(request, table), table, wiring.input_roots()[0])


def _config_of(request: HttpRequest, table: str) -> TableConfig | None:
    """The config of an OFFLINE table that the asker may read; None: there is none, or it cannot be read now."""
    try:
        return parse_table_config(find_table(request, TableName(table, OFFLINE).typed)[0].config)
    except (Http404, PinotAdminError):
        return None


def _page(request: HttpRequest, push: Push) -> HttpResponse:
    total = push.segments.count()
    replaces = bool(push.entry_id and push.plan.get("replaces"))
    table = TableName(push.table_name, OFFLINE)
    live = _live_context(push)
    context = {
        **live,
        "push_id": str(push.pk),
        "is_blocked": push.state == Push.State.BLOCKED,
        "replaces": replaces and live["entry"] is not None,
        "checks": entry_report(wiring.context(push.cluster), table, push.entry_id) if replaces else None,
        "may_operate": may_operate(request, table.typed),
        "segments": [(s, mark(segment_state(push, s)), as_sent(push, s.source)) for s in push.segments.all()[:_SHOWN]],
        "segments_hidden": max(total - _SHOWN, 0),
        "report": _report(push),
        "bad_shown": _BAD_SHOWN,
        "spec": spec_text(push),
    }
    return render(request, "console/push.html", context)


def _report(push: Push) -> dict[str, Any] | None:
    """What was found in the files, None when nothing was examined or there is nothing to say."""
    row: PushReport | None = getattr(push, "report", None)
    report = report_document(push, row) if row is not None else None
    if not report or not (report["badRows"] or report["ignoredColumns"] or report["defaults"]):
        return None
    return {**report, "badValues": [{**bad, "file": as_sent(push, bad["file"])} for bad in report["badValues"]]}


def _live_context(push: Push) -> dict[str, Any]:
    """``table`` and ``entry``: rows that links lead to, None where nothing is (a push may fail before it has begun
    anything).
    """
    table = push_outcome.table_of(push)
    entry = push_outcome.entry_of(push, table)
    return {
        "push": push,
        "table": table,
        "entry": entry,
        "fate": push_outcome.fate(wiring.context, push) if push.state == Push.State.DONE else "",
        "progress": progress(push),
        "error": as_sent(push, push.error) if push.error else "",
        "mark": mark(push.state),
        "is_lost": lease_is_lost(push, timezone.now()),
    }


def _form_page(request: HttpRequest, form: PushForm, status: int = HTTPStatus.OK) -> HttpResponse:
    return render(
        request, "console/push_new.html", {"form": form, "may_operate": may_somewhere(request)}, status=status
    )
