"""Schedules of the passes in the style of the rest of the admin, whose lists show the button that runs an action; on
record.
"""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django_celery_beat.admin import ClockedScheduleAdmin as BaseClockedScheduleAdmin
from django_celery_beat.admin import CrontabScheduleAdmin as BaseCrontabScheduleAdmin
from django_celery_beat.admin import PeriodicTaskAdmin as BasePeriodicTaskAdmin
from django_celery_beat.admin import PeriodicTaskForm as BasePeriodicTaskForm
from django_celery_beat.admin import TaskSelectWidget
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from segments.services.core import audit
from segments.services.core.context import Actor

_MODELS: Final = (PeriodicTask, IntervalSchedule, CrontabSchedule, SolarSchedule, ClockedSchedule)

for _model in _MODELS:
    admin.site.unregister(_model)


class _TaskWidget(UnfoldAdminSelectWidget, TaskSelectWidget):  # type: ignore[misc]  # unfold and celery-beat ship no types
    """The registered tasks to choose from."""


class _TaskForm(BasePeriodicTaskForm):  # type: ignore[misc]  # celery-beat ships no types
    """With the widgets of the other forms."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = _TaskWidget()


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(BasePeriodicTaskAdmin, ModelAdmin):  # type: ignore[misc]  # unfold and celery-beat ship no types
    """When the passes run; *Run selected tasks* runs them now."""

    form = _TaskForm

    @admin.action(description="Enable selected tasks")
    def enable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """They run by their schedules again."""
        self._do(request, queryset, "enableSchedule", super().enable_tasks)

    @admin.action(description="Disable selected tasks")
    def disable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """They do not run until they are enabled."""
        self._do(request, queryset, "disableSchedule", super().disable_tasks)

    @admin.action(description="Toggle activity of selected tasks")
    def toggle_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Enabled ones are disabled, disabled ones enabled."""
        self._do(request, queryset, "toggleSchedule", super().toggle_tasks)

    @admin.action(description="Run selected tasks")
    def run_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """They run once, now, on a worker."""
        self._do(request, queryset, "runSchedule", super().run_tasks)

    def _do(self, request: HttpRequest, queryset: QuerySet[Any], action: str, run: Any) -> None:
        names = list(queryset.values_list("name", flat=True))
        run(request, queryset)
        actor = Actor(request.user.get_username(), address=str(request.META.get("REMOTE_ADDR", "")))
        for name in names:
            audit.record(actor, action, target=name)


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """Every so often."""


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(BaseCrontabScheduleAdmin, ModelAdmin):  # type: ignore[misc]  # unfold and celery-beat ship no types
    """At certain times."""

    inlines = ()


@admin.register(SolarSchedule)
class SolarScheduleAdmin(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """By the sun."""


@admin.register(ClockedSchedule)
class ClockedScheduleAdmin(BaseClockedScheduleAdmin, ModelAdmin):  # type: ignore[misc]  # unfold and celery-beat ship no types
    """Once, at a time."""

    inlines = ()
