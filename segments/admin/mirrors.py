"""Admin pages of what ZooKeeper holds: clusters, tables, segments, lineage entries."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from unfold.decorators import action

from segments.admin.readonly import ReadOnlyAdmin, segment_count
from segments.models import Cluster, ConsumingSegment, LineageEntry, Segment, Table
from segments.services.page_addresses import address_in
from segments.services.rights import has_right


@admin.register(Cluster)
class ClusterAdmin(ReadOnlyAdmin):
    """Clusters that this installation drives; they are added and changed in the console."""

    list_display = ["name", "kind", "state", "state_since", "version", "mirrored_at"]
    list_filter = ["kind", "state"]
    search_fields = ["name"]
    actions_detail = ["open_console"]

    @action(description="Open in the console", url_path="console")  # type: ignore[untyped-decorator]  # unfold ships no types
    def open_console(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The cluster's page."""
        return redirect(address_in(get_object_or_404(Cluster, pk=object_id).name, "console:cluster"))


@admin.register(Table)
class TableAdmin(ReadOnlyAdmin):
    """Tables with their sums."""

    read_by = ("cluster__name", "name")
    list_display = [
        "name",
        "cluster",
        "type",
        "ingestion_type",
        "rows_visible",
        "segments_visible",
        "segments_total",
        "replicas",
        "updated_at",
    ]
    list_filter = ["cluster", "type", "ingestion_type"]
    list_select_related = ["cluster"]
    search_fields = ["name"]
    actions_detail = ["open_console", "open_lineage", "open_passes"]

    @admin.display(description="Replicas online")
    def replicas(self, table: Table) -> str:
        """``3 of 4``."""
        return f"{table.replicas_online} of {table.replicas_wanted}"

    @action(description="Open in the console", url_path="console")  # type: ignore[untyped-decorator]  # unfold ships no types
    def open_console(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The table's page."""
        return _to(request, "console:table", object_id)

    @action(description="Roll back…", url_path="rollback", icon="undo")  # type: ignore[untyped-decorator]  # unfold ships no types
    def open_lineage(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The lineage, where each entry leads to its preview."""
        return _to(request, "console:lineage", object_id)

    @action(description="Run a pass…", url_path="passes", icon="play_arrow")  # type: ignore[untyped-decorator]  # unfold ships no types
    def open_passes(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The form that runs retention or validation, with a reason."""
        return _to(request, "console:table_passes", object_id)


@admin.register(Segment)
class SegmentAdmin(ReadOnlyAdmin):
    """Segments of all tables."""

    read_by = ("table__cluster__name", "table__name")
    list_display = ["name", "table", "status", "is_visible", "replicas_online", "replicas_wanted", "total_docs", "size_bytes"]
    list_filter = ["is_visible", "status", "table"]
    list_select_related = ["table"]
    search_fields = ["name"]


@admin.register(ConsumingSegment)
class ConsumingSegmentAdmin(ReadOnlyAdmin):
    """Segments that are being filled from a stream; the buttons lead to the console's pages, which ask for a reason."""

    read_by = ("table__cluster__name", "table__name")
    list_display = ["name", "table", "partition", "sequence", "state", "start_offset", "flush_rows", "replicas_online", "replicas_wanted"]
    list_filter = ["table"]
    list_select_related = ["table"]
    search_fields = ["name", "table__name"]
    actions_detail = ["pause", "resume", "force_commit"]
    actions_row = ["pause", "resume", "force_commit"]

    @admin.display(description="State")
    def state(self, segment: ConsumingSegment) -> str:
        """Of its table: paused or consuming."""
        return "paused" if segment.table.is_paused else "consuming"

    @action(description="Pause table…", url_path="pause", icon="pause")  # type: ignore[untyped-decorator]  # unfold ships no types
    def pause(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Pause its table."""
        return _to_consumption(request, "console:pause", object_id)

    @action(description="Resume table…", url_path="resume", icon="play_arrow")  # type: ignore[untyped-decorator]  # unfold ships no types
    def resume(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Resume its table."""
        return _to_consumption(request, "console:resume", object_id)

    @action(description="Force commit…", url_path="commit", icon="save")  # type: ignore[untyped-decorator]  # unfold ships no types
    def force_commit(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Commit the partition's consuming segment."""
        return _to_consumption(request, "console:commit", object_id)


@admin.register(LineageEntry)
class LineageEntryAdmin(ReadOnlyAdmin):
    """Replacements of all tables; the way back is on each."""

    read_by = ("table__cluster__name", "table__name")
    list_display = ["entry_id", "table", "state", "replaces", "by"]
    list_filter = ["state", "table"]
    list_select_related = ["table"]
    search_fields = ["entry_id", "table__name"]
    actions_detail = ["preview_rollback"]
    actions_row = ["preview_rollback"]

    @admin.display(description="From")
    def replaces(self, entry: LineageEntry) -> str:
        """How many segments are replaced."""
        return segment_count(entry.segments_from)

    @admin.display(description="To")
    def by(self, entry: LineageEntry) -> str:
        """How many replace them."""
        return segment_count(entry.segments_to)

    @action(description="Preview rollback…", url_path="rollback", icon="undo")  # type: ignore[untyped-decorator]  # unfold ships no types
    def preview_rollback(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The console's preview, from which it can be done."""
        entry = get_object_or_404(LineageEntry.objects.select_related("table__cluster"), pk=object_id)
        return _to_table(request, "console:rollback", entry.table, entry.entry_id)


def _to_consumption(request: HttpRequest, page: str, object_id: Any) -> HttpResponse:
    return _to_table(request, page, get_object_or_404(Segment.objects.select_related("table__cluster"), pk=object_id).table)


def _to(request: HttpRequest, page: str, object_id: Any) -> HttpResponse:
    return _to_table(request, page, get_object_or_404(Table.objects.select_related("cluster"), pk=object_id))


def _to_table(request: HttpRequest, page: str, table: Table, *more: str) -> HttpResponse:
    """A redirect names the table, so it is for those who may read it."""
    if not has_right(request.user, "read", table.cluster.name, table.name):
        raise Http404
    return redirect(address_in(table.cluster.name, page, table.name, *more))
