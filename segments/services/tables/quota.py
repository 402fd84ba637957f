"""The storage quota of a table, checked before a push makes anything visible (rule `declared-size-fits`)."""

from __future__ import annotations

from segments.domain.segments import admission
from segments.domain.tables.table_config import TableConfig
from segments.services.core.context import Context
from segments.services.segments.segments import read_segments


def check_quota(ctx: Context, config: TableConfig, added: int) -> None:
    """Forbidden when the table's tars and ``added`` more bytes exceed the quota; the old snapshot counts until it is
    deleted.
    """
    if admission.quota_bytes(config) is not None:
        kept = sum(m.size_bytes or 0 for m in read_segments(ctx, config.table))
        admission.check_quota(config, kept, added)
