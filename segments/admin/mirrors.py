"""Admin pages of what ZooKeeper holds: clusters, tables, segments, lineage entries."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from segments.admin import reingestion
from segments.admin.console_buttons import (
    button,
    consuming,
    consuming_together,
    reingesting,
    rolling_back,
    running_pass,
    to_table,
)
from segments.admin.long_lists import fixed_choices
from segments.admin.readonly import ReadOnlyAdmin, segment_count
from segments.domain.segments.segment_metadata import STATUSES
from segments.models import Cluster, ConsumingSegment, LineageEntry, Segment, Table
from segments.names import REALTIME
from segments.services.access.read_rights import readable_rows
from segments.services.core.page_addresses import address_in


@admin.register(Cluster)
class ClusterAdmin(ReadOnlyAdmin):
    """Clusters that this installation drives; they are added and changed in the console."""

    list_display = ["name", "kind", "state", "state_since", "version", "mirrored_at"]
    list_filter = ["kind", "state"]
    search_fields = ["name"]
    actions_detail = ["open_console"]

    @button("Open in the console", "console")
    def open_console(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The cluster's page."""
        return redirect(address_in(get_object_or_404(Cluster, pk=object_id).name, "console:cluster"))


@admin.register(Table)
class TableAdmin(ReadOnlyAdmin):
    """Tables with their sums."""

    read_by = ("cluster__name", "name")
    list_display = ["name", "cluster", "type", "consumption", "rows", "segments_visible", "replicas"]
    list_filter = ["cluster", "type", "ingestion_type"]
    list_per_page = 12  # each row brings its own menu
    list_select_related = ["cluster"]
    search_fields = ["name"]
    actions: ClassVar[list[str] | None] = ["pause_selected", "resume_selected", "commit_selected"]
    actions_row = ["pause", "resume", "force_commit", "roll_back"]
    actions_detail = ["open_console", "pause", "resume", "force_commit", "roll_back", "run_pass"]

    @admin.display(description="Replicas online")
    def replicas(self, table: Table) -> str:
        """``3 of 4``."""
        return f"{table.replicas_online} of {table.replicas_wanted}"

    @admin.display(description="Rows visible")
    def rows(self, table: Table) -> str:
        """Of a REALTIME table those that are committed; queries also see what is being consumed."""
        return f"{table.rows_visible:,}{' committed' if table.type == REALTIME else ''}"

    @admin.display(description="Consumption")
    def consumption(self, table: Table) -> str:
        """Of a REALTIME table."""
        return "" if table.type != REALTIME else "paused" if table.is_paused else "consuming"

    @button("Open in the console", "console")
    def open_console(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The table's page."""
        return to_table(
            request, "console:table", get_object_or_404(Table.objects.select_related("cluster"), pk=object_id)
        )

    @button("Pause…", "pause", "pause")
    def pause(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Pause the table."""
        return self._consuming(request, object_id, "console:pause")

    @button("Resume…", "resume", "play_arrow")
    def resume(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Resume the table, also one that is paused as a whole and so has no consuming segment."""
        return self._consuming(request, object_id, "console:resume")

    @button("Force commit…", "commit", "save")
    def force_commit(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Commit its consuming segments."""
        return self._consuming(request, object_id, "console:commit")

    @button("Roll back…", "rollback", "undo")
    def roll_back(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Its newest replacement; older ones have their own rows."""
        return rolling_back(request, self, self._table(request, object_id), None)

    @button("Run a pass…", "passes", "autorenew")
    def run_pass(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Retention, validation and the others, once."""
        return running_pass(request, self, self._table(request, object_id))

    @admin.action(description="Pause selected tables…")
    def pause_selected(self, request: HttpRequest, rows: QuerySet[Table]) -> HttpResponse:
        """Pause those that consume."""
        return self._together(request, rows, "console:pause")

    @admin.action(description="Resume selected tables…")
    def resume_selected(self, request: HttpRequest, rows: QuerySet[Table]) -> HttpResponse:
        """Resume those that consume."""
        return self._together(request, rows, "console:resume")

    @admin.action(description="Force commit selected tables…")
    def commit_selected(self, request: HttpRequest, rows: QuerySet[Table]) -> HttpResponse:
        """Commit the consuming segments of those that consume."""
        return self._together(request, rows, "console:commit")

    def _table(self, request: HttpRequest, object_id: int) -> Table:
        table: Table = get_object_or_404(self.get_queryset(request).select_related("cluster"), pk=object_id)
        return table

    def _consuming(self, request: HttpRequest, object_id: int, page: str) -> HttpResponse:
        return consuming(request, self, page, self._table(request, object_id))

    def _together(self, request: HttpRequest, rows: QuerySet[Table], page: str) -> HttpResponse:
        """One table goes to its own page, several to the page of several."""
        tables = list(rows.select_related("cluster"))
        if len(tables) == 1:
            return consuming(request, self, page, tables[0])
        return consuming_together(request, self, f"{page}_tables", tables)


@admin.register(Segment)
class SegmentAdmin(ReadOnlyAdmin):
    """Segments of all tables."""

    read_by = ("table__cluster__name", "table__name")
    list_display = [
        "name",
        "table",
        "status",
        "is_visible",
        "replicas_online",
        "replicas_wanted",
        "total_docs",
        "size_bytes",
    ]
    list_filter = [reingestion.BrokenFilter, "is_visible", fixed_choices("status", *STATUSES), "table"]
    list_per_page = 12  # as of tables
    list_select_related = ["table"]
    search_fields = ["name"]
    readonly_fields = ["reingestion"]
    actions: ClassVar[list[str] | None] = ["reingest_selected"]
    actions_row = ["reingest"]
    actions_detail = ["reingest"]

    @admin.display(description="Reingestion")
    def reingestion(self, segment: Segment) -> str:
        """How far the latest one is."""
        return reingestion.progress(segment) or "-"

    @button("Reingest…", "reingest", "replay")
    def reingest(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Read its rows from the stream again, where no server has them."""
        segment = get_object_or_404(self.get_queryset(request).select_related("table__cluster"), pk=object_id)
        return reingesting(request, self, [segment])

    @admin.action(description="Reingest selected segments…")
    def reingest_selected(self, request: HttpRequest, rows: QuerySet[Segment]) -> HttpResponse:
        """Those of them that are broken."""
        return reingesting(request, self, list(rows.select_related("table__cluster")))


@admin.register(ConsumingSegment)
class ConsumingSegmentAdmin(ReadOnlyAdmin):
    """Segments that are being filled from a stream. A table that is paused has none: its own row has the button to
    resume it.
    """

    read_by = ("table__cluster__name", "table__name")
    list_display = [
        "name",
        "table",
        "partition",
        "sequence",
        "state",
        "start_offset",
        "flush_rows",
        "replicas_online",
        "replicas_wanted",
    ]
    list_filter = ["table"]
    list_select_related = ["table"]
    search_fields = ["name", "table__name"]
    actions_detail = ["pause", "resume", "force_commit", "reingest"]
    actions_row = ["pause", "resume", "force_commit", "reingest"]

    @admin.display(description="State")
    def state(self, segment: ConsumingSegment) -> str:
        """Of its table: paused or consuming."""
        return "paused" if segment.table.is_paused else "consuming"

    @button("Pause table…", "pause", "pause")
    def pause(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Pause its table."""
        return self._consuming(request, object_id, "console:pause")

    @button("Resume table…", "resume", "play_arrow")
    def resume(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Resume its table."""
        return self._consuming(request, object_id, "console:resume")

    @button("Force commit…", "commit", "save")
    def force_commit(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Commit the consuming segments of its table."""
        return self._consuming(request, object_id, "console:commit")

    @button("Reingest broken segments…", "reingest", "replay")
    def reingest(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Read the segments of its table again that no server has."""
        return self._consuming(request, object_id, "console:reingest")

    def _consuming(self, request: HttpRequest, object_id: int, page: str) -> HttpResponse:
        # Also of one that was committed since the list was shown: what is changed is its table.
        rows = readable_rows(
            Segment.objects.select_related("table__cluster"),
            request.user,
            cluster=self.read_by[0],
            table=self.read_by[1],
        )
        return consuming(request, self, page, get_object_or_404(rows, pk=object_id).table)


@admin.register(LineageEntry)
class LineageEntryAdmin(ReadOnlyAdmin):
    """Replacements of all tables; each can be taken back."""

    read_by = ("table__cluster__name", "table__name")
    list_display = ["entry_id", "table", "state", "replaces", "by"]
    list_filter = ["state", "table"]
    list_select_related = ["table"]
    search_fields = ["entry_id", "table__name"]
    actions_detail = ["roll_back"]
    actions_row = ["roll_back"]

    @admin.display(description="From")
    def replaces(self, entry: LineageEntry) -> str:
        """How many segments are replaced."""
        return segment_count(entry.segments_from)

    @admin.display(description="To")
    def by(self, entry: LineageEntry) -> str:
        """How many replace them."""
        return segment_count(entry.segments_to)

    @button("Roll back…", "rollback", "undo")
    def roll_back(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Together with the replacements that were built on it."""
        entry = get_object_or_404(self.get_queryset(request).select_related("table__cluster"), pk=object_id)
        return rolling_back(request, self, entry.table, entry)
