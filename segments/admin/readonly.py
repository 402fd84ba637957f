"""The base of all our admin pages: read, search, filter; never add, change or delete."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from segments.admin.long_lists import OncePaginator
from segments.domain.formats.plural import counted
from segments.models import Table
from segments.services.access.read_rights import readable_rows, reads_all

#: A filter with more choices than these is slow to load, and nobody finds anything in it.
_MOST_TABLES: Final = 200


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """Rows that only our own code writes. Counting all rows of a big table is left out."""

    show_full_result_count = False
    paginator = OncePaginator
    list_per_page = 25
    actions: ClassVar[list[str] | None] = None
    #: Columns with the names of a row's cluster and (typed) table; None: rows are about no table.
    read_by: tuple[str, str] | None = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any, Any]:
        """The rows about tables that the person may read."""
        rows: QuerySet[Any, Any] = super().get_queryset(request)
        return (
            rows
            if self.read_by is None
            else readable_rows(rows, request.user, cluster=self.read_by[0], table=self.read_by[1])
        )

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        """None by table, whose choices would name them all, where reading is restricted or there are very many."""
        listed = list(super().get_list_filter(request))
        is_offered = reads_all(request.user) and Table.objects.count() <= _MOST_TABLES
        return listed if is_offered else [f for f in listed if f not in ("table", "table_name")]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: ZooKeeper or a use case is where rows come from."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody; see ``has_view_permission``."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False


def segment_count(names: list[str]) -> str:
    """``12 segments``."""
    return counted(len(names), "segment")
