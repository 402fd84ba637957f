"""What the rows of one file ingestion session should be, computed from its record and its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint, IngestionSession
from segments.mirror.ingestion.database import FileValues, SessionRows
from segments.secret_texts import mask_text

#: Characters of an error that a page shows.
_LONGEST_ERROR: Final = 4_000


def session_rows(session: IngestionSession, files: Iterable[FileRecord] | None) -> SessionRows:
    """The rows of a session; ``files`` None: they are as they were."""
    found = None if files is None else list(files)
    of_files = None if found is None else {values[0]: values for values in map(_file_values, found)}
    logs = {mask_text(f.uri): mask_text(f.log) for f in found or () if f.log}
    return SessionRows(session.id, _session_values(session, of_files), of_files, _attempts(session), logs)


def _session_values(session: IngestionSession, files: FileValues | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "state": session.state.value,
        "retry_count": session.retry_count,
        "max_retries": session.max_retries,
        "mode": session.mode,
        "swap": session.swap,
        "consistent": session.consistent,
        "input_dir": mask_text(session.input_dir),
        "started_at": _time(session.start_ms),
        "changed_at": _time(session.updated_ms),
        "ended_at": _time(session.end_ms),
        "end_reason": session.end_reason,
        "error": mask_text(session.error)[:_LONGEST_ERROR],
        "triggered_by": session.triggered_by,
        "task": session.task,
        "entry_id": session.entry_id,
        "lease_owner": session.owner,
        "lease_until": _time(session.lease_until_ms),
        "manifest_version": session.manifest_version,
        "rows": session.rows,
        "bytes": session.bytes,
        "segments_from": list(session.segments_from),
        "segments_to": list(session.segments_to),
        "rows_may_duplicate": session.changed_files,
        "uncovered": list(session.uncovered),
        "is_blocked": session.blocked,
        "spark_ui": session.spark_ui,
        "is_kept": True,
    }
    return values | ({} if files is None else {**_counts(files), "bad_rows": sum(f[9] for f in files.values())})


def _counts(files: FileValues) -> dict[str, int]:
    """By state; files that left the folder are not part of the total."""
    found = Counter(values[2] for values in files.values())
    by_state = {f"files_{state.value.lower()}": found[state.value] for state in FileState}
    return {"files_total": sum(found.values()) - found[FileState.DROPPED.value], **by_state}


def _file_values(record: FileRecord) -> tuple[Any, ...]:
    """In the order of ``FILE_COLUMNS``."""
    return (
        mask_text(record.uri),
        _fingerprint(record.fingerprint),
        record.state.value,
        list(record.segments),
        record.rows,
        record.fingerprint.size,
        record.attempts,
        mask_text(record.error)[:_LONGEST_ERROR],
        record.line,
        record.bad_rows,
        [list(row) for row in record.bad],
    )


def _fingerprint(found: Fingerprint) -> str:
    """As a page shows it: when the file was changed last, and what says which bytes it holds."""
    changed = datetime.fromtimestamp(found.mtime_ns / 1e9, UTC)
    return " ".join((f"{changed:%Y-%m-%d %H:%M:%S}", *found.marks.values()))[:255]


def _attempts(session: IngestionSession) -> dict[int, Mapping[str, Any]]:
    """Of runs whose end is not on record ``database`` keeps what it has; it writes their logs."""
    return {
        run.number: {
            "task": run.task,
            "started_at": _time(run.start_ms),
            "ended_at": _time(run.end_ms),
            "files_ok": run.ok,
            "files_failed": run.failed,
        }
        for run in session.runs
    }


def _time(ms: int | None) -> datetime | None:
    return datetime.fromtimestamp(ms / 1000, UTC) if ms else None
