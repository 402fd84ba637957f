"""Which table a path names that takes a raw name, too."""

from __future__ import annotations

from rest_framework.request import Request

from segments.api.base import ApiView, text_param
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.tables import tables


def table_or_offline(view: ApiView, request: Request, table: str) -> TableName:
    """The table that exists by this name; a raw name without ``type`` means OFFLINE."""
    kind = text_param(request, "type") or (None if split_table_name(table)[1] else OFFLINE)
    return tables.one_table(view.ctx, table, kind)
