"""The base of all our admin pages: look, search, filter; never add, change or delete."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from unfold.admin import ModelAdmin


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """Rows that only our own code writes. Counting all rows of a big table is left out."""

    show_full_result_count = False
    list_per_page = 50
    actions = None

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
    return f"{len(names)} segment{'' if len(names) == 1 else 's'}"
