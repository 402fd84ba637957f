"""Admin pages of what we record: pushes, audit, findings, runs of passes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from segments.admin.console_buttons import button, changelist, returning
from segments.admin.long_lists import fixed_choices
from segments.admin.readonly import ReadOnlyAdmin
from segments.models import ApiToken, AuditEvent, Finding, FindingSnooze, PassRun, Push, PushSegment
from segments.services.access.read_rights import readable_events, readable_pushes, reads_all
from segments.services.core.audit import OUTCOMES
from segments.services.core.page_addresses import address_in


@admin.register(Push)
class PushAdmin(ReadOnlyAdmin):
    """Pushes."""

    list_display = ["id", "table_name", "state", "stage", "actor", "created_at", "rows"]
    list_filter = ["state", "stage", "table_name"]
    search_fields = ["table_name", "actor", "entry_id"]
    exclude = ["plan"]
    actions_detail = ["open_console", "again", "cancel", "finish", "override"]
    actions_row = ["again", "cancel", "finish"]
    list_per_page = 12  # as of tables

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any, Any]:
        """Pushes to tables that the person may read."""
        return readable_pushes(super().get_queryset(request), request.user)

    @button("Open in the console", "console")
    def open_console(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The push's page with live progress."""
        push = get_object_or_404(self.get_queryset(request), pk=object_id)
        return redirect(address_in(push.cluster, "console:push", push.pk))

    @button("Push again…", "again", "replay")
    def again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The form of a new push, filled in as this one was: the retry of one that failed."""
        push = get_object_or_404(self.get_queryset(request), pk=object_id)
        return redirect(f"{address_in(push.cluster, 'console:new_push')}?{urlencode({'again': push.pk})}")

    @button("Cancel…", "cancel", "cancel")
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """What it began is taken back."""
        return self._press(request, object_id, "console:cancel_push")

    @button("Check again…", "finish", "replay")
    def finish(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Retry one that its table's checks stopped."""
        return self._press(request, object_id, "console:finish_push")

    @button("Finish despite failed checks…", "override", "warning")
    def override(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Switch although checks failed."""
        return self._press(request, object_id, "console:override_push")

    def _press(self, request: HttpRequest, object_id: str, page: str) -> HttpResponse:
        push = get_object_or_404(self.get_queryset(request), pk=object_id)
        return redirect(returning(address_in(push.cluster, page, push.pk), changelist(self)))


@admin.register(PushSegment)
class PushSegmentAdmin(ReadOnlyAdmin):
    """Segments of pushes."""

    list_display = ["name", "push", "state", "rows", "bytes"]
    list_filter = ["state"]
    list_select_related = ["push"]
    search_fields = ["name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any, Any]:
        """Those of pushes that the person may read."""
        rows: QuerySet[Any, Any] = super().get_queryset(request)
        return (
            rows if reads_all(request.user) else rows.filter(push__in=readable_pushes(Push.objects.all(), request.user))
        )


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """The audit record; nobody deletes from it, not even a superuser."""

    list_display = ["at", "actor", "action", "target", "outcome", "reason"]
    list_filter = [fixed_choices("outcome", *OUTCOMES), "action", "at"]
    search_fields = ["actor", "action", "target", "reason"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any, Any]:
        """Events of tables that the person may read, and their own."""
        return readable_events(super().get_queryset(request), request.user)


@admin.register(Finding)
class FindingAdmin(ReadOnlyAdmin):
    """What waits for somebody: findings of the passes, and of pushes, sessions, pauses and workers."""

    read_by = ("cluster", "table_name")
    list_display = ["severity", "table_name", "message", "first_seen", "closed_at"]
    list_filter = ["severity", "code", ("closed_at", admin.EmptyFieldListFilter)]
    search_fields = ["table_name", "message"]
    actions_detail = ["fix", "assign", "snooze", "lift"]
    actions_row = ["fix", "assign", "snooze"]
    list_per_page = 12

    @button("Fix it…", "fix", "build")
    def fix(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """With every write shown beforehand. What concerns no table has nothing to write."""
        return self._press(request, object_id, "console:fix_finding", "")

    @button("Assign…", "assign", "person")
    def assign(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Who takes care of it."""
        return self._press(request, object_id, "console:assign_finding", "console:assign_installation_finding")

    @button("Snooze…", "snooze", "snooze")
    def snooze(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Nobody is notified of it for a while."""
        return self._press(request, object_id, "console:snooze_finding", "console:snooze_installation_finding")

    @button("Lift the snooze…", "lift", "notifications")
    def lift(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """People are notified of it again."""
        return self._press(request, object_id, "console:lift_snooze", "console:lift_installation_snooze")

    def _press(self, request: HttpRequest, object_id: int, page: str, of_none: str) -> HttpResponse:
        found = get_object_or_404(self.get_queryset(request), pk=object_id)
        if found.table_name:
            address = address_in(found.cluster, page, found.table_name, found.pk)
        elif of_none:
            address = address_in(found.cluster, of_none, found.pk)
        else:
            return redirect(address_in(found.cluster, "console:findings"))
        return redirect(returning(address, changelist(self)))


@admin.register(FindingSnooze)
class FindingSnoozeAdmin(ReadOnlyAdmin):
    """Findings of which nobody is notified for a while."""

    read_by = ("cluster", "table_name")
    list_display = ["table_name", "code", "subject", "until", "actor", "reason"]
    list_filter = ["code"]
    search_fields = ["table_name", "subject", "reason"]


@admin.register(PassRun)
class PassRunAdmin(ReadOnlyAdmin):
    """Runs of passes."""

    read_by = ("cluster", "table_name")
    list_display = ["task", "table_name", "finished_at", "succeeded"]
    list_filter = ["task", "succeeded"]
    search_fields = ["table_name"]


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """API tokens of everybody. They are made and revoked in the console, which asks for a reason."""

    list_display = ["name", "owner", "scopes", "tables", "expires_at", "last_used_at", "revoked_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter), "owner"]
    list_select_related = ["owner"]
    search_fields = ["name", "owner__username"]
    exclude = ["digest"]
    actions_detail = ["revoke"]

    @button("Revoke…", "revoke", "block")
    def revoke(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The console's page."""
        return redirect("console:revoke_token", token=get_object_or_404(ApiToken, pk=object_id).pk)
