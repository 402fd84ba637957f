"""Admin pages of file ingestion: sessions, their files, their runs. What changes them is in the console."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from segments.admin.console_buttons import button, changelist, to_table
from segments.admin.readonly import ReadOnlyAdmin
from segments.models import IngestionAttempt, IngestionFile, IngestionSession


@admin.register(IngestionSession)
class IngestionSessionAdmin(ReadOnlyAdmin):
    """Sessions of all tables."""

    read_by = ("table__cluster__name", "table__name")
    list_display = ["session_id", "table", "state", "retry_count", "files", "rows", "started_at", "ended_at"]
    list_filter = ["state", "mode", "swap", "table"]
    list_select_related = ["table"]
    search_fields = ["session_id", "table__name", "entry_id"]
    actions_detail = ["open_console", "retry", "cancel", "undo"]
    actions_row = ["retry", "cancel", "undo"]

    @admin.display(description="Files")
    def files(self, session: IngestionSession) -> str:
        """``97 of 100, 3 failed``."""
        failed = f", {session.files_failed} failed" if session.files_failed else ""
        return f"{session.files_done} of {session.files_total}{failed}"

    @button("Open in the console", "console")
    def open_console(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The session's page, with its buttons."""
        return self._to(request, object_id, "console:ingestion_session", "")

    @button("Retry…", "retry", "replay")
    def retry(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Its failed files again."""
        return self._to(request, object_id, "console:retry_ingestion", changelist(self))

    @button("Cancel…", "cancel", "cancel")
    def cancel(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Stop it."""
        return self._to(request, object_id, "console:cancel_ingestion", changelist(self))

    @button("Undo…", "undo", "undo")
    def undo(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Take back what it switched to."""
        return self._to(request, object_id, "console:undo_ingestion", changelist(self))

    def _to(self, request: HttpRequest, object_id: int, page: str, back: str) -> HttpResponse:
        session = get_object_or_404(self.get_queryset(request).select_related("table__cluster"), pk=object_id)
        return to_table(request, page, session.table, session.session_id, back=back)


@admin.register(IngestionFile)
class IngestionFileAdmin(ReadOnlyAdmin):
    """Input files of sessions."""

    read_by = ("session__table__cluster__name", "session__table__name")
    list_display = ["uri", "session", "state", "rows", "bytes", "attempts", "bad_rows", "line", "error"]
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
