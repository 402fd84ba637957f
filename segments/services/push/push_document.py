"""A push as the REST API and the commands show it."""

from __future__ import annotations

from typing import Any

from segments.models import Push


def push_document(push: Push) -> dict[str, Any]:
    """A push without its plan. ``stageSeconds`` is {stage: seconds}; times are in UTC."""
    return {
        "id": str(push.pk),
        "cluster": push.cluster,
        "tableName": push.table_name,
        "state": push.state,
        "stage": push.stage,
        "actor": push.actor,
        "reason": push.reason,
        "segmentLineageEntryId": push.entry_id,
        "attempts": push.attempts,
        "createdAt": push.created_at,
        "startedAt": push.started_at,
        "finishedAt": push.finished_at,
        "filesTotal": push.files_total,
        "filesDone": push.files_done,
        "segmentsTotal": push.segments_total,
        "segmentsBuilt": push.segments_built,
        "segmentsUploaded": push.segments_uploaded,
        "rows": push.rows,
        "bytes": push.bytes,
        "stageSeconds": push.stage_seconds,
        "uncoveredSegments": push.uncovered,
        "error": push.error,
    }
