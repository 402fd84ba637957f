"""Mirror rows, records and people for tests of pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission, User
from django.utils import timezone

from segments.domain.replacement.history.contents import pack_changes, pack_contents
from segments.models import (
    AuditEvent,
    Cluster,
    Finding,
    IngestionAttempt,
    IngestionFile,
    IngestionSession,
    LineageEntry,
    PassRun,
    Push,
    PushSegment,
    Segment,
    Snapshot,
    Table,
)

#: The cluster that settings name by default; ``wiring.context()`` knows no other.
CLUSTER = "pinotadmin"
PASSWORD = "correct horse battery"
NOW_MS = 1_700_000_000_000

CONFIG = {
    "tableName": "flights",
    "tableType": "OFFLINE",
    "segmentsConfig": {"replication": "2", "timeColumnName": "day"},
    "ingestionConfig": {"batchIngestionConfig": {"segmentIngestionType": "REFRESH", "consistentDataPush": True}},
}
SCHEMA = {
    "schemaName": "flights",
    "dimensionFieldSpecs": [
        {"name": "carrier", "dataType": "STRING"},
        {"name": "stops", "dataType": "STRING", "singleValueField": False},
    ],
    "metricFieldSpecs": [{"name": "distance", "dataType": "INT"}],
    "dateTimeFieldSpecs": [
        {"name": "day", "dataType": "LONG", "format": "EPOCH|MILLISECONDS", "granularity": "1:DAYS"}
    ],
}


def make_user(name: str = "ann", *rights: str, is_staff: bool = False, is_superuser: bool = False) -> User:
    """Somebody who can log in with ``PASSWORD``; ``rights`` such as ``operate``."""
    user = User.objects.create_user(name, password=PASSWORD, is_staff=is_staff, is_superuser=is_superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights, content_type__app_label="segments"))
    return user


def make_table(name: str = "flights_OFFLINE", **values: Any) -> Table:
    """A healthy table with two replicas; the sums are given, not computed."""
    cluster = values.pop("cluster", None) or Cluster.objects.get_or_create(name=CLUSTER)[0]
    raw, _, kind = name.rpartition("_")
    defaults: dict[str, Any] = {
        "raw_name": raw,
        "type": kind,
        "config": CONFIG | {"tableName": raw},
        "schema": SCHEMA | {"schemaName": raw},
        "replication": 2,
        "ingestion_type": "REFRESH",
        "segments_total": 4,
        "segments_visible": 2,
        "replicas_wanted": 8,
        "replicas_online": 8,
        "rows_visible": 336_776,
        "bytes_total": 20_000_000,
        "bytes_visible": 10_500_000,
    }
    return Table.objects.create(cluster=cluster, name=name, **{**defaults, **values})


def make_snapshot(number: int = 1, table_name: str = "t_OFFLINE", *segments: str, **values: Any) -> Snapshot:
    """A snapshot that consists of these segments, with its whole list."""
    cluster = values.pop("cluster", None) or Cluster.objects.get_or_create(name=CLUSTER)[0]
    contents = dict.fromkeys(segments, 0)
    changes = dict.fromkeys(segments, (None, 0))
    packed = {"changes": pack_changes(changes), "whole": pack_contents(contents)}
    defaults: dict[str, Any] = {"at": timezone.now(), "kind": "first", "segments": len(segments)}
    return Snapshot.objects.create(
        cluster=cluster, table_name=table_name, number=number, **{**packed, **defaults, **values}
    )


def make_segments(table: Table, *names: str, **values: Any) -> list[Segment]:
    """Segments with both replicas online."""
    defaults: dict[str, Any] = {
        "crc": 3_735_928_559,
        "total_docs": 168_388,
        "size_bytes": 5_250_000,
        "start_ms": NOW_MS - 86_400_000,
        "end_ms": NOW_MS,
        "creation_ms": NOW_MS,
        "push_ms": NOW_MS,
        "replicas": {"Server_a_1": "ONLINE", "Server_b_1": "ONLINE"},
        "replicas_wanted": 2,
        "replicas_online": 2,
        "download_url": "http://127.0.0.1:9000/segments/flights/x",
    }
    return Segment.objects.bulk_create([Segment(table=table, name=n, **{**defaults, **values}) for n in names])


def make_entry(table: Table, entry_id: str = "entry-1", state: str = "COMPLETED", **values: Any) -> LineageEntry:
    """One replacement, old_* by new_*."""
    defaults: dict[str, Any] = {
        "segments_from": ["old_0", "old_1"], "segments_to": ["new_0", "new_1"],
        "timestamp_ms": int((timezone.now() - timedelta(minutes=5)).timestamp() * 1000),
    }  # fmt: skip
    return LineageEntry.objects.create(table=table, entry_id=entry_id, state=state, **{**defaults, **values})


def make_push(**values: Any) -> Push:
    """A push that is building."""
    now = timezone.now()
    defaults: dict[str, Any] = {
        "cluster": CLUSTER,
        "table_name": "flights",
        "state": "RUNNING",
        "stage": "BUILD",
        "actor": "ann",
        "reason": "nightly",
        "started_at": now - timedelta(seconds=40),
        "attempts": 1,
        "files_total": 8,
        "files_done": 3,
        "segments_total": 8,
        "segments_built": 3,
        "rows": 126_000,
        "bytes": 4_000_000,
        "stage_seconds": {"LIST": 0.4},
        "lease_owner": "worker-1",
        "lease_until": now + timedelta(seconds=30),
        "spec": {"jobType": "SegmentCreationAndMetadataPush"},
    }
    return Push.objects.create(**{**defaults, **values})


def make_push_segment(push: Push, name: str = "flights_0", **values: Any) -> PushSegment:
    """One segment of a push, built."""
    return PushSegment.objects.create(
        push=push, name=name, **{"state": "STAGED", "rows": 42_000, "bytes": 1_300_000, **values}
    )


def make_session(table: Table, session_id: str = "cp_1_0a0b0c0d", **values: Any) -> IngestionSession:
    """A file ingestion session whose first run ended: 3 files are built, 2 failed; with its run."""
    began = timezone.now() - timedelta(minutes=2)
    defaults: dict[str, Any] = {
        "state": "IN_PROGRESS",
        "max_retries": 3,
        "input_dir": "/data/in",
        "started_at": began,
        "changed_at": began,
        "triggered_by": "ann",
        "files_total": 5,
        "files_built": 3,
        "files_failed": 2,
        "rows": 3_000,
        "bytes": 90_000,
        "seconds": 12.5,
    }
    session = IngestionSession.objects.create(table=table, session_id=session_id, **{**defaults, **values})
    IngestionAttempt.objects.create(session=session, number=0, started_at=began, files_ok=3, files_failed=2)
    return session


def make_files(session: IngestionSession, state: str, *uris: str, **values: Any) -> list[IngestionFile]:
    """Files of a session in one state."""
    rows = [IngestionFile(session=session, key=uri[-40:], uri=uri, state=state, attempts=1, **values) for uri in uris]
    return IngestionFile.objects.bulk_create(rows)


def make_finding(**values: Any) -> Finding:
    """An open warning."""
    defaults = {
        "cluster": CLUSTER,
        "table_name": "flights_OFFLINE",
        "code": "replica-missing",
        "subject": "new_1",
        "severity": "warning",
        "message": "Segment new_1 has 1 of 2 replicas.",
    }
    return Finding.objects.create(**{**defaults, **values})


def make_run(**values: Any) -> PassRun:
    """A retention run that did one thing."""
    now = timezone.now()
    defaults: dict[str, Any] = {
        "cluster": CLUSTER,
        "task": "RetentionManager",
        "table_name": "flights_OFFLINE",
        "started_at": now,
        "finished_at": now,
        "sentences": ["Deleted 2 segments of lineage entry entry-0 (COMPLETED)."],
    }
    return PassRun.objects.create(**{**defaults, **values})


def make_event(**values: Any) -> AuditEvent:
    """An end of a replacement by ann."""
    defaults: dict[str, Any] = {
        "actor": "ann",
        "action": "endReplaceSegments",
        "cluster": CLUSTER,
        "target": "flights_OFFLINE",
        "reason": "nightly",
        "address": "127.0.0.1",
        "detail": {"entry": "entry-1", "deleted": []},
    }
    return AuditEvent.objects.create(**{**defaults, **values})
