"""Copies of audit records and ended pushes in the deep store, so that they survive the loss of the database.

``Pinotadmin_History/GENERATION/``: each database has a generation of its own, the moment at which it was made, so that
a new one that counts from 1 again overwrites nothing. Audit records are in files by number, pushes in files by the day
on which they were begun; a file is written again while it grows. Each is a backup file with rows only.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import orjson
from django.conf import settings
from django.core import serializers
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from segments.errors import InvalidInput
from segments.gateways.deep_store.deepstore import HISTORY, DeepStore
from segments.models import AuditEvent, Push
from segments.services.backup.backup_file import BackupReader, BackupWriter
from segments.services.backup.database_rows import row_lines
from segments.services.core.context import Context
from segments.services.upkeep.housekeeping import OVER

#: Audit records in one file, and their files in one run: what is left is copied by the next.
_IN_FILE: Final = 1000
_FILES_A_RUN: Final = 40
_STATE: Final = "state.json"
#: By which an audit record is known, whatever its number.
_SAME: Final = ("at", "actor", "action", "target", "outcome", "request_id")
#: A push that ended while the run before was at work.
_OVERLAP: Final = timedelta(minutes=5)


def run(ctx: Context) -> list[str]:
    """Copy what is new since the last run; remove what is older than records are kept. Nothing without a deep store."""
    store = ctx.deep_store
    if not store.exists:
        return []
    folder = f"{HISTORY}/{_generation()}"
    state = orjson.loads(store.read(f"{folder}/{_STATE}") or b"{}")
    events, last = _copy_events(store, folder, int(state.get("audit", 0)))
    now = ctx.now()
    pushes = _copy_pushes(store, folder, state.get("pushes"))
    if events or pushes:
        store.write(f"{folder}/{_STATE}", orjson.dumps({"audit": last, "pushes": now.isoformat()}))
    removed = _remove_old(store, now)
    said = {"audit records": events, "pushes": pushes}
    copied = [f"Copied {count} {what} into the deep store." for what, count in said.items() if count]
    return copied + ([f"Removed {removed} copies of old records from the deep store."] if removed else [])


def restore_history(store: DeepStore) -> dict[str, int]:
    """Put back what the database lacks of all copies in this deep store; {kind of record: how many}. InvalidInput for a
    copy that was changed.
    """
    counts = {"audit records": 0, "pushes": 0}
    if not store.exists:
        return counts
    for generation in store.folders(HISTORY):
        for file in store.files(f"{HISTORY}/{generation}"):
            if file.name != _STATE:
                with tempfile.TemporaryDirectory() as folder:
                    copy = Path(folder) / file.name
                    store.fetch(f"{HISTORY}/{generation}/{file.name}", copy)
                    kind = "audit records" if file.name.startswith("audit-") else "pushes"
                    counts[kind] += _put_back(copy)
    return counts


def _generation() -> str:
    """When this database was made: no restore brings that along."""
    first = MigrationRecorder(connection).migration_qs.filter(app="segments").order_by("applied").first()
    return f"{first.applied:%Y%m%dT%H%M%S%f}" if first else "unknown"


def _copy_events(store: DeepStore, folder: str, last: int) -> tuple[int, int]:
    """Those after ``last``, with their files whole; how many there were, and the last one."""
    copied, newest = 0, last
    for _ in range(_FILES_A_RUN):
        first = AuditEvent.objects.filter(pk__gt=newest).order_by("pk").values_list("pk", flat=True).first()
        if first is None:
            break
        block = first // _IN_FILE
        rows = list(AuditEvent.objects.filter(pk__gte=block * _IN_FILE, pk__lt=(block + 1) * _IN_FILE).order_by("pk"))
        store.write(f"{folder}/audit-{block:010}.gz", _packed(rows))
        copied += sum(row.pk > newest for row in rows)
        newest = rows[-1].pk
    return copied, newest


def _copy_pushes(store: DeepStore, folder: str, since: str | None) -> int:
    ended = Push.objects.filter(state__in=OVER, finished_at__isnull=False)
    new = ended.filter(finished_at__gte=datetime.fromisoformat(since) - _OVERLAP) if since else ended
    days = sorted({created.astimezone(UTC).date() for created in new.values_list("created_at", flat=True)})
    for day in days:
        store.write(f"{folder}/pushes-{day}.gz", _packed(ended.filter(created_at__range=_of_day(day)).order_by("pk")))
    known = datetime.fromisoformat(since) if since else None
    return new.count() if known is None else new.filter(finished_at__gte=known).count()


def _of_day(day: date) -> tuple[datetime, datetime]:
    begin = datetime.combine(day, time(), UTC)
    return begin, begin + timedelta(days=1) - timedelta(microseconds=1)


def _packed(rows: Iterable[Model]) -> bytes:
    """As a backup file. What a push planned file by file is left out: only its worker needs it."""
    held = BytesIO()
    with gzip.GzipFile(fileobj=held, mode="wb", mtime=0) as packed:
        writer = BackupWriter(packed)  # type: ignore[arg-type]  # a GzipFile is a binary file
        writer.header(holds="history")
        for row in rows:
            if isinstance(row, Push):
                row.plan = {}
            for line in row_lines([row]):
                writer.add("row", line)
        writer.end()
    return held.getvalue()


def _put_back(copy: Path) -> int:
    """Rows that the database lacks; audit records get new numbers."""
    count = 0
    with transaction.atomic():
        for deserialized in serializers.deserialize("python", _wanted(BackupReader(copy).lines("row"))):
            row = deserialized.object
            if isinstance(row, AuditEvent):
                row.pk = None
            deserialized.save(force_insert=True)
            count += 1
    return count


def _wanted(lines: Iterable[dict[str, Any]]) -> Iterator[Any]:
    for line in lines:
        row, fields = line["row"], line["row"]["fields"]
        if row["model"] == "segments.push":
            is_there = Push.objects.filter(pk=row["pk"]).exists()
        elif row["model"] == "segments.auditevent":
            is_there = AuditEvent.objects.filter(**{name: fields[name] for name in _SAME}).exists()
        else:
            raise InvalidInput(f"A copy of the history holds a row of {str(row['model'])[:100]}.")
        if not is_there:
            yield row


def _remove_old(store: DeepStore, now: datetime) -> int:
    """Files to which nothing was added for as long as records are kept."""
    if settings.HISTORY_DAYS <= 0:
        return 0
    before = (now - timedelta(days=settings.HISTORY_DAYS)).timestamp() * 1000
    folders = [f"{HISTORY}/{name}" for name in store.folders(HISTORY)]
    old = [f"{folder}/{file.name}" for folder in folders for file in store.files(folder) if file.modified_ms < before]
    return sum(store.delete(path) for path in old)
