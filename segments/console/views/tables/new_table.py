"""A new table from files: first where they are, then what the table is to be, then its first push."""

from __future__ import annotations

import json
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_http_methods

from segments import wiring
from segments.console.access import ADMINISTER, actor_of, may, may_somewhere, page, refused, shown_status
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.listing import asked
from segments.console.new_table.draft import Draft, first_draft, grid_rows, posted_draft, sample_rows
from segments.console.new_table.forms import INDEXES, KINDS, TYPES, SourceForm, TableForm, values_of
from segments.domain.formats.bounded_json import parse_json
from segments.domain.formats.json_model import read_model
from segments.domain.push.file_system import to_pinot_fs_specs
from segments.domain.push.push_model import RecordReader
from segments.domain.tables.design.given_names import RESERVED, table_name_of
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.names import OFFLINE, TableName
from segments.services.core.page_addresses import address_of, default_cluster
from segments.services.jobs import queue
from segments.services.tables.design import creation, uploads
from segments.services.tables.design.inferred_table import InferredTable, InputWish, infer_table
from segments.services.tables.replica_warnings import replica_warnings

_ACTION: Final = "createTable"
#: What the page's form carries on.
_CARRIED: Final = ("upload", "address", "login", "header")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest) -> HttpResponse:
    """Where the rows are: a file that is sent, or files that are there."""
    if request.method != "POST":
        return _source_page(request, SourceForm(initial=asked(request, "address", "login", "name")))
    if not may_somewhere(request, ADMINISTER):
        return refused(request, _ACTION, "", ADMINISTER)
    form = SourceForm(request.POST, request.FILES)
    if not form.is_valid():
        return _source_page(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    file, name = form.cleaned_data.get("file"), form.cleaned_data["name"]
    source = {key: form.cleaned_data[key].strip() for key in ("address", "login") if form.cleaned_data[key].strip()}
    try:
        if file is not None:
            name = name or table_name_of(file.name)
            if not may(request, ADMINISTER, TableName(name, OFFLINE).typed):
                return refused(request, "uploadFile", name, ADMINISTER, table=TableName(name, OFFLINE).typed)
            source = {"upload": uploads.save_upload(ctx_of(request), file.name, file.size, file, actor_of(request)).id}
        _infer(request, {**source, "name": name})
    except PinotAdminError as error:
        form.refuse(error, "file" if file is not None else "address")
        return _source_page(request, form, shown_status(request, error))
    return redirect(f"{reverse('console:design_table')}?{urlencode({**source, 'name': name})}")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def design(request: HttpRequest) -> HttpResponse:
    """What the table is to be: columns, settings, documents. POST checks it, or creates it and pushes the rows."""
    given = {k: str(v) for k, v in (request.POST if request.method == "POST" else request.GET).items()}
    if not may_somewhere(request, ADMINISTER):  # the sample shows rows of files
        return refused(request, _ACTION, "", ADMINISTER)
    if not (given.get("upload") or given.get("address")):
        return redirect("console:new_table")
    try:
        inferred = _infer(request, given)
    except PinotAdminError as error:
        source = SourceForm({key: given.get(key, "") for key in ("address", "login", "name")})
        source.is_valid()
        source.errors.clear()
        source.refuse(error, "file" if given.get("upload") else "address")
        return _source_page(request, source, shown_status(request, error))
    if request.method != "POST":
        draft = first_draft(inferred)
        return _design_page(request, draft, TableForm.of(draft.table, _reason(inferred)), given)
    draft = posted_draft(inferred, given)
    form = TableForm({**given, **values_of(draft.table, given.get("reason", ""))})
    if given.get("action") != "create":
        form.errors.pop("reason", None)
        draft.show_faults(form)
        return _design_page(request, draft, form, given)
    return _create(request, draft, form, given)


def _create(request: HttpRequest, draft: Draft, form: TableForm, given: dict[str, str]) -> HttpResponse:
    if not form.is_valid() or draft.faults:
        draft.show_faults(form)
        return _design_page(request, draft, form, given, HTTPStatus.UNPROCESSABLE_ENTITY)
    name = form.cleaned_data["name"]
    typed = TableName(name, OFFLINE).typed
    if not may(request, ADMINISTER, typed):
        return refused(request, _ACTION, typed, ADMINISTER, table=typed)
    ctx, actor = ctx_of(request), actor_of(request, form.cleaned_data["reason"])
    try:
        push = creation.create_and_push(
            ctx, name, draft.schema, draft.config, draft.job, actor=actor, roots=wiring.input_roots(),
            replaces_schema=form.cleaned_data["replace_schema"],
        )  # fmt: skip
    except PinotAdminError as error:
        draft.refuse(error, form)
        return _design_page(request, draft, form, given, shown_status(request, error))
    if queue.enqueue_push(ctx, str(push.pk)):
        messages.success(request, f"Table {name} is created; its rows come in now.")
    else:
        messages.warning(request, f"Table {name} is created. Its push begins as soon as the task queue answers.")
    return redirect("console:push", push_id=push.pk)


def _infer(request: HttpRequest, given: dict[str, str]) -> InferredTable:
    """Read the sample again: the page keeps nothing."""
    upload = given.get("upload", "")
    address = uploads.find_upload(request.user.get_username(), upload).folder if upload else given.get("address", "")
    reader = None
    if given.get("reader"):
        spec = parse_json(given["reader"], what="The way to read")
        null_text = given.get("null_text", "").strip()
        if isinstance(spec, dict) and isinstance(spec.get("configs") or {}, dict) and spec.get("dataFormat") == "csv":
            configs = {k: v for k, v in (spec.get("configs") or {}).items() if k != "nullStringValue"}
            spec = {**spec, "configs": {**configs, **({"nullStringValue": null_text} if null_text else {})}}
        reader = read_model(RecordReader, spec, "the way to read")
    has_header = {"yes": True, "no": False}.get(given.get("header", ""))
    try:
        login = "" if upload else given.get("login", "")
        name = _fit_name(given) or (table_name_of(address) if login else "")  # a login is for tables of certain names
        specs = to_pinot_fs_specs(address, login)
        wish = InputWish(address, name, pinot_fs=specs, reader=reader, has_header=has_header)
        with uploads.named_as_sent(address) if upload else nullcontext():
            return infer_table(ctx_of(request), wish, roots=wiring.input_roots())
    except NotFound as error:
        raise InvalidInput(error.message, remedy=error.remedy, **error.data) from error


def _fit_name(given: dict[str, str]) -> str:
    """The name that was given, if a table can have it; the form says what is wrong with another."""
    form = SourceForm({"name": given.get("name", ""), "address": "/"})
    form.is_valid()
    return str(form.cleaned_data.get("name") or "")


def _again(given: dict[str, str], draft: Draft, header: str) -> str:
    """The query of the page's address with the other opinion about the first line."""
    kept = {k: given[k] for k in ("upload", "address", "login") if given.get(k)}
    return urlencode({**kept, "name": draft.table.name, "header": header})


def _reason(inferred: InferredTable) -> str:
    return f"New table from {inferred.file.rpartition('/')[2]}"[:500]


def _risks(request: HttpRequest, draft: Draft) -> list[str]:
    """What of the settings is taken, and will not be as it says."""
    try:
        found = replica_warnings(ctx_of(request), parse_table_config(draft.config))
    except InvalidInput:  # the form says what is wrong
        return []
    return [f"{warning['problem']} {warning['remedy']}" for warning in found]


def _source_page(request: HttpRequest, form: SourceForm, status: int = HTTPStatus.OK) -> HttpResponse:
    roots = format_html_join(", ", "<code>{}</code>", ((root,) for root in wiring.input_roots()))
    form.fields["address"].help_text = format_html(
        "A folder, or one file, in one of these places or below: {}. They are read where they are.", roots
    )
    cluster = cluster_of(request)
    context = {
        "form": form,
        "may_administer": may_somewhere(request, ADMINISTER),
        "logins": _logins(request),
        "reserved": " ".join(sorted(RESERVED)),
        "upload_to": address_of(f"{'' if cluster == default_cluster() else f'/clusters/{cluster}'}/api/v1/uploads"),
    }
    return render(request, "console/new_table/choose.html", context, status=status)


def _logins(request: HttpRequest) -> list[str] | None:
    """Names of stored logins for who may use all of them; None: there are none to name."""
    try:
        names = ctx_of(request).inputs.login_names
    except PinotAdminError:  # whoever names one is shown why it cannot be read
        names = []
    return None if not names else names if may(request, ADMINISTER) else []


def _design_page(
    request: HttpRequest, draft: Draft, form: TableForm, given: dict[str, str], status: int = HTTPStatus.OK
) -> HttpResponse:
    rows, reader = grid_rows(draft), draft.inferred.rows.reader
    if not creation.is_left_behind(ctx_of(request), draft.table.name, draft.schema):
        del form.fields["replace_schema"]
    context: dict[str, Any] = {
        "draft": draft, "form": form, "rows": rows, "types": TYPES, "kinds": KINDS, "indexes": INDEXES,
        "carried": [(k, given.get(k, "")) for k in _CARRIED], "sample": sample_rows(draft),
        "can_rename": draft.inferred.rows.is_text, "null_text": reader.null_string or "",
        "is_csv": reader.format == "csv", "has_names": reader.header is None or reader.skip_header,
        "reader": json.dumps(draft.inferred.job["recordReaderSpec"]), "job": json.dumps(draft.job, indent=2),
        "file_name": draft.inferred.file.rpartition("/")[2], "other_files": draft.inferred.files - 1,
        "again_no": _again(given, draft, "no"), "again_yes": _again(given, draft, "yes"),
        "json_is_open": bool({"schema", "config"} & set(draft.faults)), "risks": _risks(request, draft),
    }  # fmt: skip
    if request.headers.get("HX-Request"):  # htmx swaps only successful answers; the page says what is wrong
        status = HTTPStatus.OK
    return render(request, "console/new_table/design.html", context, status=status)
