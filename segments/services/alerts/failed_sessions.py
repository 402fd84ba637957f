"""File ingestion sessions that need somebody: blocked by their table's checks, failed and waiting for a retry, out of
retries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.db.models import Exists, OuterRef, Q

from segments.domain.upkeep.findings import Found
from segments.models import IngestionSession

SESSION_FAILED: Final = "session-failed"
SESSION_BLOCKED: Final = "session-blocked"
_EXHAUSTED: Final = "RETRIES_EXHAUSTED"


def failed_sessions() -> Iterator[tuple[tuple[str, str], Found]]:
    """((cluster, typed table), finding) of each table whose newest session needs somebody. A warning where the next
    trigger reads what failed again, else an error.
    """
    later = IngestionSession.objects.filter(table=OuterRef("table"), started_at__gt=OuterRef("started_at"))
    waits = (
        Q(end_reason="", task="")
        & ~Q(state=IngestionSession.State.DONE)
        & (Q(is_blocked=True) | Q(files_failed__gt=0) | ~Q(error=""))
    )
    rows = IngestionSession.objects.filter(waits | Q(end_reason=_EXHAUSTED), ~Exists(later), is_kept=True)
    for row in rows.select_related("table__cluster").order_by("pk"):
        yield (row.table.cluster.name, row.table.name), _found(row)


def _found(row: IngestionSession) -> Found:
    if row.is_blocked and not row.end_reason:
        blocked = (
            f"File ingestion session {row.session_id} of {row.table.name} is blocked by the table's checks and waits"
        )
        return Found(SESSION_BLOCKED, row.session_id, "error", f"{blocked} for a decision.")
    files = f"{row.files_failed:,} of {row.files_total:,} files failed" if row.files_failed else "its last run failed"
    what = f"File ingestion session {row.session_id} of {row.table.name}: {files}"
    why = f": {row.error}" if row.error else "."
    if row.end_reason == _EXHAUSTED:
        return Found(
            SESSION_FAILED, row.session_id, "error", f"{what}, and its {row.max_retries} retries are used up{why}"
        )
    return Found(SESSION_FAILED, row.session_id, "warning", f"{what}; the next trigger reads them again{why}")
