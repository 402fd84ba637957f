"""Admin pages of file ingestion: sessions, their files, their runs. What changes them is in the console."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from unfold.decorators import action

from segments.admin.readonly import ReadOnlyAdmin
from segments.models import IngestionAttempt, IngestionFile, IngestionSession
from segments.services.core.page_addresses import address_in


@admin.register(IngestionSession)
class IngestionSessionAdmin(ReadOnlyAdmin):
    """Sessions of all tables."""

    read_by = ("table__cluster__name", "table__name")
    list_display = ["session_id", "table", "state", "retry_count", "files", "rows", "started_at", "ended_at"]
    list_filter = ["state", "mode", "swap", "table"]
    list_select_related = ["table"]
    search_fields = ["session_id", "table__name", "entry_id"]
    actions_detail = ["open_console"]

    @admin.display(description="Files")
    def files(self, session: IngestionSession) -> str:
        """``97 of 100, 3 failed``."""
        failed = f", {session.files_failed} failed" if session.files_failed else ""
        return f"{session.files_done} of {session.files_total}{failed}"

    @action(description="Open in the console", url_path="console")  # type: ignore[untyped-decorator]  # unfold ships no types
    def open_console(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The session's page, with its buttons."""
        session = get_object_or_404(self.get_queryset(request).select_related("table__cluster"), pk=object_id)
        table = session.table
        return redirect(address_in(table.cluster.name, "console:ingestion_session", table.name, session.session_id))


@admin.register(IngestionFile)
class IngestionFileAdmin(ReadOnlyAdmin):
    """Input files of sessions."""

    read_by = ("session__table__cluster__name", "session__table__name")
    list_display = ["uri", "session", "state", "rows", "bytes", "attempts", "line", "error"]
    list_filter = ["state"]
    list_select_related = ["session"]
    search_fields = ["uri", "session__session_id"]


@admin.register(IngestionAttempt)
class IngestionAttemptAdmin(ReadOnlyAdmin):
    """Runs of sessions."""

    read_by = ("session__table__cluster__name", "session__table__name")
    list_display = ["session", "number", "started_at", "ended_at", "files_ok", "files_failed"]
    list_select_related = ["session"]
    search_fields = ["session__session_id", "task"]
