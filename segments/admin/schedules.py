"""Schedules of the passes in plain words: how often, when next, what came of the last run; run one now; on record.

What Celery can do besides (calendars of the sun, paths of tasks, queues, arguments) is not a page: which task a
schedule runs is declared in the code.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from celery.schedules import ParseException
from django import forms
from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django_celery_beat.admin import CrontabScheduleAdmin as BaseCrontabScheduleAdmin
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.admin import ModelAdmin

from segments.admin.console_buttons import button, changelist, returning
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.services.upkeep.next_runs import how_often, last_result, next_runs

_MODELS: Final = (PeriodicTask, IntervalSchedule, CrontabSchedule, SolarSchedule, ClockedSchedule)
_MOMENT: Final = "%Y-%m-%d %H:%M:%S UTC"

for _model in _MODELS:
    admin.site.unregister(_model)
# The pages of the console call them so; Celery's names say how they are made.
PeriodicTask._meta.verbose_name, PeriodicTask._meta.verbose_name_plural = "schedule", "schedules"
apps.get_app_config("django_celery_beat").verbose_name = "Schedules"


class _CalendarField(forms.ModelChoiceField):  # type: ignore[type-arg]  # the model has no types
    """Calendars in words."""

    def label_from_instance(self, obj: Any) -> str:
        """``At 06:30 AM, Monday through Friday``."""
        return str(obj.human_readable)


class _ScheduleForm(forms.ModelForm):  # type: ignore[type-arg]  # the model has no types
    """Whether and when it runs."""

    class Meta:
        model = PeriodicTask
        fields = ("enabled", "interval", "crontab")
        field_classes: ClassVar = {"crontab": _CalendarField}
        labels: ClassVar = {"interval": "Interval", "crontab": "Calendar"}
        help_texts: ClassVar = {
            "enabled": "Switched off it runs only when somebody presses Run now.",
            "interval": "Either this or a calendar.",
            "crontab": "Either this or an interval.",
        }

    def clean(self) -> dict[str, Any]:
        """One of the two, in place of whatever it was."""
        values = self.cleaned_data
        self.instance.solar = self.instance.clocked = None
        if bool(values.get("interval")) == bool(values.get("crontab")):
            raise forms.ValidationError("Choose either an interval or a calendar.")
        return dict(super().clean() or values)


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """When the passes run. Their rows come from the code; a table's from its config."""

    form = _ScheduleForm
    list_display = ["name", "enabled", "runs", "next_run", "result"]
    list_filter = ["enabled"]
    list_select_related = ["interval", "crontab"]
    search_fields = ["name", "description"]
    fieldsets = [
        (None, {"fields": ["title", "does", "enabled"]}),
        ("When it runs", {"fields": ["interval", "crontab", "runs", "next_five"]}),
        ("Last run", {"fields": ["result"]}),
    ]
    readonly_fields = ["title", "does", "runs", "next_five", "result"]
    actions = ["enable_tasks", "disable_tasks"]
    actions_row = ["run_now"]
    actions_detail = ["run_now"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without what Celery does for its own sake."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.exclude(task__startswith="celery.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: rows are made from declarations and table configs."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: what is declared would only come back. A schedule that nobody wants is switched off."""
        return False

    @admin.display(description="Name")
    def title(self, row: PeriodicTask) -> str:
        """Without what Celery says about names."""
        return str(row.name)

    @admin.display(description="What it does")
    def does(self, row: PeriodicTask) -> str:
        """In words."""
        return str(row.description)

    @admin.display(description="Runs")
    def runs(self, row: PeriodicTask) -> str:
        """``every 5 minutes``."""
        return how_often(row)

    @admin.display(description="Next run")
    def next_run(self, row: PeriodicTask) -> str:
        """The first of them."""
        return next((f"{due:{_MOMENT}}" for due in next_runs(row, timezone.now(), 1)), "off")

    @admin.display(description="Next five runs")
    def next_five(self, row: PeriodicTask) -> str:
        """One a line."""
        lines = [(f"{due:{_MOMENT}}",) for due in next_runs(row, timezone.now())]
        return format_html_join("", "<div>{}</div>", lines) if lines else "It is off."

    @admin.display(description="Last result")
    def result(self, row: PeriodicTask) -> str:
        """Of the pass's last run."""
        return last_result(row)

    @button("Run now…", "run-now", "play_arrow")
    def run_now(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The console's page, which asks for a reason."""
        return redirect(returning(reverse("console:run_schedule", args=[object_id]), changelist(self)))

    @admin.action(description="Switch selected schedules on…")
    def enable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """The console's page, which asks for a reason."""
        return self._switching(request, queryset, "console:switch_schedules_on")

    @admin.action(description="Switch selected schedules off…")
    def disable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        """The same for the other way."""
        return self._switching(request, queryset, "console:switch_schedules_off")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """On record with what it was."""
        before = PeriodicTask.objects.select_related("interval", "crontab").get(pk=obj.pk)
        super().save_model(request, obj, form, change)
        words = {"before": _words(before), "after": _words(obj)}
        audit.record(_actor(request), "changeSchedule", target=obj.name, **words)

    def _switching(self, request: HttpRequest, queryset: QuerySet[Any], page: str) -> HttpResponse:
        numbers = [("s", str(pk)) for pk in queryset.order_by("name").values_list("pk", flat=True)]
        return redirect(returning(reverse(page), changelist(self), numbers))


class _Unlisted(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """Reached from a schedule's form, and in no menu."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Not in the menu."""
        return False


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(_Unlisted):
    """Every so often."""


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(BaseCrontabScheduleAdmin, _Unlisted):  # type: ignore[misc]  # celery-beat ships no types
    """At certain times."""

    inlines = ()

    @admin.display(description="Human readable")
    def human_readable(self, row: CrontabSchedule) -> str:
        """In words; nothing of what is wrong, which the form says below its field."""
        try:
            return str(row.human_readable)
        except (ParseException, ValueError):
            return ""


def _words(row: PeriodicTask) -> str:
    return f"{how_often(row)}, {'on' if row.enabled else 'off'}"


def _actor(request: HttpRequest) -> Actor:
    return Actor(request.user.get_username(), address=str(request.META.get("REMOTE_ADDR", "")))
