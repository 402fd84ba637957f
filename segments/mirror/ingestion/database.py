"""Write the rows of file ingestion sessions: in bulk, nothing where nothing changed, a bounded history."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any, Final

from django.db import transaction

from segments.mirror.bulk_rows import write_rows
from segments.mirror.fitting import REFUSED, Fitted
from segments.mirror.ingestion import run_log
from segments.models import Cluster, IngestionAttempt, IngestionFile, IngestionSession, Table

#: Sessions of a table whose rows are kept when ZooKeeper has forgotten them, and of how many of these the files too.
SESSIONS_KEPT: Final = 50
FILES_KEPT_OF: Final = 5
#: What ends a session that was neither done nor given up when its znode went.
CLEARED: Final = "CLEARED"
FILE_COLUMNS: Final = (
    "uri",
    "fingerprint",
    "state",
    "segments",
    "rows",
    "bytes",
    "attempts",
    "error",
    "line",
    "bad_rows",
    "bad",
)
_ATTEMPT_COLUMNS: Final = ["task", "started_at", "ended_at", "files_ok", "files_failed", "log"]
#: Files in one short transaction, and seconds between two: others wait for SQLite's only writer.
_PIECE: Final = 500
_PAUSE_S: Final = 0.005

FileValues = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class SessionRows:
    """The rows that one session is to have. ``files``: values of ``FILE_COLUMNS`` by URI; None: as they are.
    ``attempts``: column values by the number of the run. ``logs``: those of failed tasks, by the URI of their file.
    """

    session_id: str
    values: Mapping[str, Any]
    files: FileValues | None
    attempts: Mapping[int, Mapping[str, Any]]
    logs: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Written:
    """What stands in the database of one session, so that nothing is written, or even asked, that is there already."""

    pk: int
    values: Mapping[str, Any]
    files: FileValues = field(default_factory=dict)
    attempts: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


def find_table(cluster: Cluster, typed: str) -> Table | None:
    """The table's row; None while the mirror of tables has not made it, or when the table is gone."""
    return Table.objects.filter(cluster=cluster, name=typed).first()


def load(table: Table, session_id: str) -> Written | None:
    """What stands of a session; of its own values only what its log is made of."""
    rows = IngestionSession.objects.filter(table=table, session_id=session_id)
    row = rows.only("pk", "state", "error", "task").first()
    if row is None:
        return None
    files = {f[0]: f for f in row.files.order_by().values_list(*FILE_COLUMNS)}
    runs = {run.pop("number"): run for run in map(dict, row.attempts.values("number", *_ATTEMPT_COLUMNS))}
    return Written(row.pk, {"state": row.state, "error": row.error, "task": row.task}, files, runs)


def write_session(table: Table, rows: SessionRows, before: Written | None) -> Written:
    """Write what differs from ``before``. Files come first, so that no page counts what it does not list yet. What the
    database refuses, such as a line of a file with U+0000 in an error, is made to fit.
    """
    try:
        return _write_session(table, rows, before)
    except REFUSED:
        return _write_session(table, _fitting(rows), before)


def _fitting(rows: SessionRows) -> SessionRows:
    fitted = Fitted()

    def of_file(values: tuple[Any, ...]) -> tuple[Any, ...]:
        fitting = fitted.values(IngestionFile, dict(zip(FILE_COLUMNS, values, strict=True)), "")
        return tuple(fitting[column] for column in FILE_COLUMNS)

    files = None if rows.files is None else {f[0]: f for f in map(of_file, rows.files.values())}
    return SessionRows(
        rows.session_id,
        fitted.values(IngestionSession, rows.values, ""),
        files,
        {number: fitted.values(IngestionAttempt, values, "") for number, values in rows.attempts.items()},
        {uri: str(fitted.values(IngestionAttempt, {"log": text}, "")["log"]) for uri, text in rows.logs.items()},
    )


def _write_session(table: Table, rows: SessionRows, before: Written | None) -> Written:
    if before is None:
        made, _ = IngestionSession.objects.update_or_create(
            table=table, session_id=rows.session_id, defaults=dict(rows.values)
        )
        before = Written(made.pk, {})
    files = before.files if rows.files is None else rows.files
    if files is not before.files:
        write_files(before.pk, before.files, files)
    runs = {number: _as_known(run, before.attempts.get(number)) for number, run in rows.attempts.items()}
    if runs:
        last = runs[max(runs)]
        news = run_log.news(before.values, rows.values, before.files, files, rows.logs)
        last["log"] = run_log.continued(last["log"], news)
    # Counts of files stay as they were where these were not read.
    values = {**before.values, **rows.values, "seconds": sum(map(_seconds, runs.values()))}
    with transaction.atomic():
        _write_attempts(before.pk, before.attempts, runs)
        if before.values != values:
            IngestionSession.objects.filter(pk=before.pk).update(**rows.values, seconds=values["seconds"])
    return Written(before.pk, values, files, runs)


def keep_history(table: Table, in_zookeeper: Iterable[str]) -> None:
    """Sessions whose znodes are gone become history, of which the newest stay."""
    gone = IngestionSession.objects.filter(table=table).exclude(session_id__in=list(in_zookeeper))
    newly = gone.filter(is_kept=True)
    newly.exclude(state=IngestionSession.State.DONE).filter(end_reason="").update(end_reason=CLEARED)
    newly.update(is_kept=False, lease_owner="", task="")
    old = list(gone.values_list("pk", flat=True))
    IngestionFile.objects.filter(session__in=old[FILES_KEPT_OF:]).delete()
    IngestionSession.objects.filter(pk__in=old[SESSIONS_KEPT:]).delete()


def write_files(session: int, before: FileValues, now: FileValues) -> None:
    """Make the rows of a session's files what ``now`` has; ``before`` is what stands there."""
    changed = [(session, _key(uri), *values) for uri, values in now.items() if before.get(uri) != values]
    for i in range(0, len(changed), _PIECE):
        with transaction.atomic():
            write_rows(IngestionFile, ("session_id", "key"), FILE_COLUMNS, changed[i : i + _PIECE])
        time.sleep(_PAUSE_S)
    gone = [_key(uri) for uri in before.keys() - now.keys()]
    for i in range(0, len(gone), _PIECE):
        IngestionFile.objects.filter(session=session, key__in=gone[i : i + _PIECE]).delete()


def _write_attempts(
    session: int, before: Mapping[int, Mapping[str, Any]], now: Mapping[int, Mapping[str, Any]]
) -> None:
    changed: Sequence[IngestionAttempt] = [
        IngestionAttempt(session_id=session, number=number, **values)
        for number, values in now.items()
        if before.get(number) != values
    ]
    if changed:
        IngestionAttempt.objects.bulk_create(
            changed, update_conflicts=True, unique_fields=["session", "number"], update_fields=_ATTEMPT_COLUMNS
        )


def _as_known(run: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Records have no log, and not the end of every run."""
    known = before or {"ended_at": None, "log": ""}
    return {**run, "ended_at": run["ended_at"] or known["ended_at"], "log": known["log"]}


def _seconds(run: Mapping[str, Any]) -> float:
    began, ended = run["started_at"], run["ended_at"]
    return max(0.0, (ended - began).total_seconds()) if began and ended else 0.0


def _key(uri: str) -> str:
    return sha1(uri.encode(), usedforsecurity=False).hexdigest()
