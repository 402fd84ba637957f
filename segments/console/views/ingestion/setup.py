"""Switches file ingestion of a table on in two steps: a form, then a page that shows what the first session would do.
Changing it is the same; switching it off is a button.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import ADMINISTER, find_table, may, page, refusal, shown_status
from segments.console.cluster_address import ctx_of
from segments.console.forms import PlainForm
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters.ingestion.sessions import mode_words
from segments.console.rest_calls.call import Rest
from segments.console.views.ingestion.table_ingestion import configured
from segments.console.views.tables.tables import head
from segments.domain.formats.plural import counted
from segments.domain.schedules.cron_words import plain_words
from segments.domain.schedules.quartz import parse_cron
from segments.errors import PinotAdminError
from segments.models import Table
from segments.names import OFFLINE
from segments.services.core.context import Actor
from segments.services.ingestion import task_settings
from segments.services.ingestion.task_settings import FirstSession, TaskSettings, settings_of

_FORMATS: Final = ("csv", "json", "parquet", "orc", "avro")
_MODES: Final = [
    ("append", "Append: read new files, remove nothing"),
    ("sync", "Sync: follow the folder; replace changed files, remove the rows of deleted ones"),
    ("swap", "Swap: replace the whole table by all files of the folder, each time"),
]
#: Offered schedules; others are typed.
_SCHEDULES: Final = [
    ("", "Only when somebody presses the button"),
    ("0 */15 * * * ?", "Every 15 minutes"),
    ("0 0 * * * ?", "Every hour"),
    ("0 0 2 * * ?", "Every day at 02:00"),
    ("own", "Another one, as a cron expression"),
]
_MOST_RETRIES: Final = 2**31 - 1
#: What the services' keys are called in this form.
_KEYS: Final = {
    "inputDirURI": "folder",
    "inputFormat": "data_format",
    "includeFileNamePattern": "include",
    "schedule": "cron",
    "consistentPushMaxRetries": "retries",
    "recordReader.prop.delimiter": "delimiter",
}


class SetupForm(PlainForm):
    """What is read, how, when."""

    called = _KEYS

    folder = forms.CharField(label="Folder", max_length=2000, widget=forms.TextInput(attrs={"spellcheck": "false"}))
    data_format = forms.ChoiceField(label="Format", choices=[(f, f.upper()) for f in _FORMATS])
    delimiter = forms.CharField(
        label="Separator", required=False, max_length=2, strip=False, initial=",",
        help_text="Of CSV files: what stands between values, one character. Write \\t for a tab.",
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )  # fmt: skip
    include = forms.CharField(
        label="Only files whose names match", required=False, max_length=500,
        help_text="Empty: all files. For example glob:**/*.csv.gz",
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )  # fmt: skip
    mode = forms.ChoiceField(label="What the table does with the files", choices=_MODES)
    when = forms.ChoiceField(label="When", choices=_SCHEDULES, required=False)
    cron = forms.CharField(
        label="Cron expression", required=False, max_length=512,
        help_text="Only for another schedule. Seconds first: 0 30 6 ? * MON-FRI is 06:30 from Monday to Friday.",
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )  # fmt: skip
    retries = forms.IntegerField(
        label="Retries", min_value=0, max_value=_MOST_RETRIES, initial=3,
        help_text="How often the next triggers read only the files that failed. Without retries the next trigger reads "
        "all files again.",
    )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("when") == "own" and not self.cleaned_data.get("cron", "").strip():
            raise forms.ValidationError({"cron": "Write a cron expression, or choose another schedule."})
        return self.cleaned_data

    def settings(self) -> TaskSettings:
        """What was chosen; only of a valid form."""
        values = self.cleaned_data
        schedule = values["cron"].strip() if values["when"] == "own" else values["when"]
        return TaskSettings(
            values["folder"].strip(), values["data_format"], values["include"].strip(), values["mode"], schedule,
            values["retries"], values["delimiter"],
        )  # fmt: skip


@page
@require_safe
def setup(request: HttpRequest, typed: str) -> HttpResponse:
    """The form; when it is filled in rightly, on to the page that shows what would happen."""
    table, name = find_table(request, typed)
    if name.type != OFFLINE:
        raise Http404
    if "folder" not in request.GET:
        return _form_page(request, table, SetupForm(initial=_first_values(table)))
    refused = refusal(request, "updateTable", table.name, ADMINISTER, table=table.name)
    if refused:  # a preview names files
        return refused
    form = SetupForm(request.GET)
    if not form.is_valid():
        return _form_page(request, table, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    settings = form.settings()
    try:
        task_settings.preview_settings(ctx_of(request), name, settings)
    except PinotAdminError as error:
        form.refuse(error)
        return _form_page(request, table, form, shown_status(request, error))
    return redirect(f"{reverse('console:switch_on_ingestion', args=[table.name])}?{urlencode(_as_values(settings))}")


def _form_page(request: HttpRequest, table: Table, form: SetupForm, status: int = HTTPStatus.OK) -> HttpResponse:
    roots = format_html_join(", ", "<code>{}</code>", ((root,) for root in wiring.input_roots()))
    form.fields["folder"].help_text = format_html("It must be, or be below, one of these: {}.", roots)
    context = {
        **head(request, table, "ingestion"),
        "form": form,
        "may_administer": may(request, ADMINISTER, table.name),
        "is_on": configured(table).task is not None,
    }
    return render(request, "console/ingestion/setup.html", context, status=status)


def _first_values(table: Table) -> dict[str, Any]:
    """The settings as they are, or what fits most newcomers."""
    task = configured(table).task
    if task is None:
        return {"folder": wiring.input_roots()[0], "data_format": "csv", "mode": "append", "when": "", "retries": 3}
    known = settings_of(task)
    is_offered = known.schedule in dict(_SCHEDULES)
    return {
        "folder": known.folder,
        "data_format": known.data_format.lower(),
        "delimiter": known.delimiter,
        "include": known.include,
        "mode": known.mode,
        "when": known.schedule if is_offered else "own",
        "cron": "" if is_offered else known.schedule,
        "retries": known.retries,
    }


def _as_values(settings: TaskSettings) -> dict[str, str]:
    return {
        "folder": settings.folder,
        "data_format": settings.data_format,
        "include": settings.include,
        "mode": settings.mode,
        "schedule": settings.schedule,
        "retries": str(settings.retries),
        "delimiter": settings.delimiter,
    }


def _settings(target: Target) -> TaskSettings:
    """What the address, or the form behind it, carries. An odd value is refused by the service."""
    retries = target.value("retries")
    mode = next((value for value, _ in _MODES if value == target.value("mode")), "append")
    return TaskSettings(
        target.value("folder"),
        target.value("data_format"),
        target.value("include"),
        mode,  # type: ignore[arg-type]  # one of the choices
        target.value("schedule"),
        min(int(retries), _MOST_RETRIES) if retries.isascii() and retries.isdigit() else 0,
        target.value("delimiter"),
    )


def _to_switch_on(target: Target, plain: Operation) -> Operation:
    settings = _settings(target)
    shown = replace(plain, hold={key: [value] for key, value in _as_values(settings).items()})
    try:
        found = task_settings.preview_settings(target.ctx, target.name, settings)
    except PinotAdminError as error:
        return replace(shown, why_not=str(error))
    return replace(
        shown,
        explain=[*_chosen(settings), *_first_session(found), *plain.explain],
        warnings=[*([found.misfit] if found.misfit else []), *(f"{note.what}. {note.remedy}" for note in found.notes)],
        lists=[("Files that are read first", found.names), ("Segments that are replaced", found.replaces)],
        call=_call(target, settings),
    )


def _to_switch_off(target: Target, plain: Operation) -> Operation:
    if not may(target.request, ADMINISTER, target.table.name):
        return plain
    try:
        return replace(plain, call=_call(target, None))
    except PinotAdminError as error:
        return replace(plain, why_not=str(error))


def _call(target: Target, settings: TaskSettings | None) -> Rest:
    """The config as it will be, by the call that changes it; secrets that are masked in it stay as they are."""
    body = task_settings.shown_config(target.ctx, target.name, settings)
    return Rest("PUT", "tables/{table}", body=lambda _: body)


def _chosen(settings: TaskSettings) -> list[str]:
    """Mode, schedule and retries in words."""
    mode = mode_words(settings.mode.upper(), swap=settings.mode == "swap")
    when = plain_words(parse_cron(settings.schedule)) if settings.schedule else "only when somebody triggers it"
    retries = "no retry" if not settings.retries else f"up to {settings.retries:,} retries of files that failed"
    return [f"Mode {mode}.", f"It runs {when}, with {retries}."]


def _first_session(found: FirstSession) -> list[str]:
    if found.why_idle:
        return [f"The first session would have nothing to do: {found.why_idle}"]
    files = f"{counted(found.files, 'file')} of {counted(found.bytes, 'byte')}"
    gone = f", and replaces {counted(len(found.replaces), 'segment')} that queries see now" if found.replaces else ""
    return [f"The first session reads {files}{gone}.", *([found.left] if found.left else [])]


def _switch_on(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    task_settings.switch_on(target.ctx, target.name, _settings(target), actor=actor)
    return Outcome("File ingestion is on.", target.address("trigger_ingestion"), "Trigger a session now")


def _switch_off(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    task_settings.switch_off(target.ctx, target.name, actor=actor)
    return Outcome("File ingestion is off.", target.address("ingestion_setup"), "Switch it on again")


SWITCH_ON: Final = Operation(
    action="updateTable",
    title="File ingestion as it will be",
    button="Save",
    tab="ingestion",
    right=ADMINISTER,
    is_hidden=True,
    explain=[
        "The task is written into the table's config. Nothing is read before the schedule, or somebody, triggers it.",
        "It can be changed, and switched off again, at any time.",
    ],
    preview=_to_switch_on,
    run=_switch_on,
    back=back_to("ingestion_setup"),
    then=back_to("ingestion"),
)
SWITCH_OFF: Final = Operation(
    action="updateTable",
    title="Switch file ingestion off",
    button="Switch it off",
    tab="ingestion",
    right=ADMINISTER,
    explain=[
        "The task is removed from the table's config: no schedule triggers it any more. A run that is under way ends.",
        "Rows that queries see stay. Switched on again, it goes on from the files that the table has.",
    ],
    preview=_to_switch_off,
    run=_switch_off,
    back=back_to("ingestion"),
)
