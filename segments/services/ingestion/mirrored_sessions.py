"""Sessions as the mirror has them: what pages and lists show. What decides reads ZooKeeper instead."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db.models import Case, IntegerField, QuerySet, Value, When

from segments.domain.ingestion.session import BadRow
from segments.errors import InvalidInput, NotFound
from segments.models import IngestionAttempt, IngestionFile, IngestionSession
from segments.names import TableName, shown

#: Files of one state stand together, those that need somebody first.
_ORDER: Final = ("FAILED", "RUNNING", "PENDING", "DEFERRED", "SKIPPED", "BUILT", "DONE", "DROPPED")


def sessions_of(cluster: str, table: TableName) -> QuerySet[IngestionSession]:
    """Sessions of a table, newest first, without the names of their segments."""
    rows = IngestionSession.objects.filter(table__cluster__name=cluster, table__name=table.typed)
    return rows.defer("segments_from", "segments_to")


def find_session(cluster: str, table: TableName, session_id: str) -> IngestionSession:
    """One of them. NotFound, also for one of another table."""
    rows = IngestionSession.objects.select_related("table__cluster")
    found = rows.filter(table__cluster__name=cluster, table__name=table.typed, session_id=session_id).first()
    if found is None:
        raise NotFound(
            f"Table '{table}' has no file ingestion session '{shown(session_id)}'.",
            remedy="List its sessions; only the newest are kept.",
        )
    return found


def files_of(
    session: IngestionSession, *, state: str = "", search: str = "", with_bad_rows: bool = False
) -> QuerySet[IngestionFile]:
    """Files of a session: those that need somebody first, then by address. ``with_bad_rows``: only those with rows that
    do not fit. InvalidInput for a state that is none.
    """
    rows = IngestionFile.objects.filter(session=session)
    if with_bad_rows:
        rows = rows.filter(bad_rows__gt=0)
    if state:
        if state not in IngestionFile.State.values:
            raise InvalidInput(
                f"'{shown(state)}' is not a state of a file.",
                remedy=f"Write one of {', '.join(IngestionFile.State.values)}.",
            )
        return _matching(rows.filter(state=state), search).order_by("uri")
    rank = Case(*(When(state=s, then=Value(i)) for i, s in enumerate(_ORDER)), output_field=IntegerField())
    return _matching(rows, search).order_by(rank, "uri")


def _matching(rows: QuerySet[IngestionFile], search: str) -> QuerySet[IngestionFile]:
    return rows.filter(uri__icontains=search) if search else rows


def session_document(session: IngestionSession) -> dict[str, Any]:
    """One session as JSON; times in epoch milliseconds, None for what has not happened."""
    return {
        "id": session.session_id,
        "state": session.state,
        "mode": session.mode,
        "swap": session.swap,
        "retryCount": session.retry_count,
        "maxRetries": session.max_retries,
        "inputDirURI": session.input_dir,
        "startTimeMs": _ms(session.started_at),
        "lastUpdateTimeMs": _ms(session.changed_at),
        "endTimeMs": _ms(session.ended_at),
        "endReason": session.end_reason,
        "error": session.error,
        "isBlocked": session.is_blocked,
        "triggeredBy": session.triggered_by,
        "currentTaskName": session.task,
        "lineageEntryId": session.entry_id,
        "files": {
            "total": session.files_total,
            **{s.lower(): getattr(session, f"files_{s.lower()}") for s in IngestionFile.State.values},
        },
        "rows": session.rows,
        "badRows": session.bad_rows,
        "bytes": session.bytes,
        "seconds": session.seconds,
        "rowsMayDuplicate": session.rows_may_duplicate,
        "uncoveredSegments": session.uncovered,
        "sparkUi": session.spark_ui,
        "isInZooKeeper": session.is_kept,
    }


def file_document(file: IngestionFile) -> dict[str, Any]:
    """One file as JSON."""
    return {
        "uri": file.uri,
        "fingerprint": file.fingerprint,
        "state": file.state,
        "segments": file.segments,
        "rows": file.rows,
        "bytes": file.bytes,
        "attempts": file.attempts,
        "error": file.error,
        "line": file.line,
        "badRows": file.bad_rows,
        "badValues": [row._asdict() for row in bad_rows(file)],
    }


def bad_rows(file: IngestionFile) -> list[BadRow]:
    """The first rows of a file that do not fit."""
    return [BadRow(*row) for row in file.bad]


def attempt_document(attempt: IngestionAttempt, *, with_log: bool = False) -> dict[str, Any]:
    """One run as JSON; its log only where asked for."""
    found = {
        "run": attempt.number,
        "task": attempt.task,
        "startTimeMs": _ms(attempt.started_at),
        "endTimeMs": _ms(attempt.ended_at),
        "filesOk": attempt.files_ok,
        "filesFailed": attempt.files_failed,
    }
    return found | {"log": attempt.log} if with_log else found


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)
