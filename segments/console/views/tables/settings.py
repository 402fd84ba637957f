"""A table's settings: changed in a form or as JSON, previewed, saved on the version that was read; their history."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_safe

from segments.console.access import ADMINISTER, actor_of, find_table, may, page, refusal, shown_status
from segments.console.cluster_address import ctx_of
from segments.console.listing import cut, page_number
from segments.console.mirror_wait import wait_for_mirror
from segments.console.new_table.forms import INDEXES, KINDS, SHOWN, TYPES
from segments.console.rest_calls.call import as_curl
from segments.console.rest_calls.declared import edit_config
from segments.console.rest_calls.on_page import pressed_on
from segments.console.table_settings.draft import Draft, draft_of, posted_draft
from segments.console.table_settings.forms import SettingsForm
from segments.console.views.tables.tables import head
from segments.errors import InvalidInput, PinotAdminError
from segments.models import Table
from segments.services.tables.edits.documents import read_documents
from segments.services.tables.edits.preview import EditPreview, preview_edit
from segments.services.tables.edits.reverting import edit_of
from segments.services.tables.edits.saving import changed_meanwhile, save_edit
from segments.services.tables.edits.versions import changes_of, history_of, version_row

_NUMBER: Final = 15


@page
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, typed: str) -> HttpResponse:
    """GET: the settings as they are, or with ``version`` as they were then. POST: checked, previewed or saved."""
    table, name = find_table(request, typed)
    no_right = refusal(request, "updateTable", table.name, ADMINISTER, table=table.name)
    if no_right is not None:
        return no_right
    ctx = ctx_of(request)
    before = read_documents(ctx, name)
    if request.method == "POST":
        return _posted(request, table, posted_draft(before, request.POST.dict()))
    wanted = request.GET.get("version", "")
    if not wanted:
        return _page(request, table, draft_of(before, before.config, before.schema))
    key = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) <= _NUMBER else 0
    row = version_row(ctx, name, key)
    documents = {"config": before.config, "schema": before.schema, **edit_of(ctx, name, key)}
    draft = draft_of(before, **documents)
    reason = f"Back to version {row.number} of the {row.document}"
    return _page(request, table, draft, _preview(request, draft), reason=reason)


def _posted(request: HttpRequest, table: Table, draft: Draft) -> HttpResponse:
    action, reason = request.POST.get("action", ""), request.POST.get("reason", "")
    form = SettingsForm(draft.settings, draft.values, reason, is_bound=True)
    is_right = form.is_valid() if action == "save" else not {*form.errors} - {"reason"}
    if action != "save":
        form.errors.pop("reason", None)
    if draft.faults or not is_right:
        return _page(request, table, draft, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    found = _preview(request, draft)
    expected = request.POST.get("version", "")
    if expected != draft.before.version:
        form.refuse(changed_meanwhile(ctx_of(request), draft.before))
        return _page(request, table, draft, form=form, status=HTTPStatus.CONFLICT)
    if action != "save" or draft.faults:
        is_shown = bool(action) or request.POST.get("previewed", "") == draft.seen
        status = HTTPStatus.UNPROCESSABLE_ENTITY if draft.faults else HTTPStatus.OK
        return _page(request, table, draft, found if is_shown else None, form=form, status=status)
    if request.POST.get("previewed", "") != draft.seen:
        form.refuse(InvalidInput("You changed something since the preview.", remedy="Check it, and save again."))
        return _page(request, table, draft, found, form=form, status=HTTPStatus.CONFLICT)
    return _save(request, table, draft, form, found)


def _save(request: HttpRequest, table: Table, draft: Draft, form: SettingsForm, found: EditPreview) -> HttpResponse:
    ctx, name = ctx_of(request), draft.before.table
    last = history_of(ctx, name).filter(document="config" if found.changes_config else "schema").first()
    try:
        save_edit(
            ctx, name, config=draft.config, schema=draft.schema, expected=draft.before.version,
            actor=actor_of(request, form.cleaned_data["reason"]),
        )  # fmt: skip
    except PinotAdminError as error:
        form.refuse(error)
        return _page(request, table, draft, found, form=form, status=shown_status(request, error))
    wait_for_mirror(ctx, table, "config")
    undo = format_html(' <a href="{}?version={}">Undo</a>', _address("edit_config", table), last.pk) if last else ""
    messages.success(request, format_html("The settings of {} are saved.{}", table.name, undo))
    return redirect(_address("config_history", table))


def _preview(request: HttpRequest, draft: Draft) -> EditPreview:
    """What the draft would do; what is refused is noted in it."""
    ctx, name = ctx_of(request), draft.before.table
    found = preview_edit(ctx, name, draft.config, draft.schema)
    draft.note(found)
    if found.changes_schema and not may(request, ADMINISTER, name.raw):
        draft.faults["schema"] = f"The schema belongs to both tables {name.raw}: it takes the right for '{name.raw}'."
    return found


def _page(
    request: HttpRequest, table: Table, draft: Draft, found: EditPreview | None = None, *,
    form: SettingsForm | None = None, reason: str = "", status: int = HTTPStatus.OK,
) -> HttpResponse:  # fmt: skip
    form = form or SettingsForm(draft.settings, draft.values, reason, is_bound=False)
    for setting in draft.settings:
        if form.is_bound and setting.name in draft.faults:
            form.add_error(setting.name, draft.faults[setting.name])
    stored = draft.stored
    columns = [
        (at, row, row.name not in stored, draft.faults.get(f"c{at}", "")) for at, row in enumerate(draft.rows[:SHOWN])
    ]
    unbound = [] if form.is_bound else [draft.faults[s.name] for s in draft.settings if s.name in draft.faults]
    context: dict[str, Any] = {
        **head(request, table, "config"), "draft": draft, "form": form, "columns": columns,
        "fields": [form[s.name] for s in draft.settings], "preview": found, "types": TYPES, "kinds": KINDS,
        "indexes": INDEXES, "json_is_open": bool({"schema", "config"} & set(draft.faults)),
        "other_faults": unbound,
        "texts": [
            ("schema", "Schema", draft.texts["schema"], draft.faults.get("schema", "")),
            ("config", "Table config", draft.texts["config"], draft.faults.get("config", "")),
        ],
        "can_save": found is not None and bool(found.differences) and not draft.faults,
    }  # fmt: skip
    if context["can_save"]:
        call = edit_config(draft.config, draft.schema, draft.before.version)
        context["curl"] = as_curl(call, pressed_on(request, {"table": table.name}))
    if request.headers.get("HX-Request"):  # htmx swaps only successful answers; the page says what is wrong
        status = HTTPStatus.OK
    return render(request, "console/settings/edit.html", context, status=status)


@page
@require_safe
def history(request: HttpRequest, typed: str) -> HttpResponse:
    """The versions of the table's config and schema, newest first, each with what it changed."""
    table, name = find_table(request, typed)
    rows = history_of(ctx_of(request), name)
    listing = cut(rows.order_by("-pk"), page_number(request.GET.get("page")))
    present = set(rows.order_by().values("document").annotate(newest=Max("pk")).values_list("newest", flat=True))
    context = {
        **head(request, table, "config"),
        "listing": listing,
        "versions": [(row, changes_of(row), row.pk in present) for row in listing],
        "may_administer": may(request, ADMINISTER, table.name),
    }
    return render(request, "console/settings/history.html", context)


def _address(page_name: str, table: Table) -> str:
    return reverse(f"console:{page_name}", args=[table.name])
