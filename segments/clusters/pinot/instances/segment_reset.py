"""Reset and reload of segments of a real Pinot. Both may be requested twice."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

from segments.clusters.pinot.calls import quoted, version
from segments.clusters.pinot.changes import Request, send_change
from segments.domain.pinot import capabilities
from segments.domain.segments.ideal_state import ERROR
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.segment_reset import Rows, not_assigned, not_held
from segments.store import paths

_JOB: Final = re.compile(r"[jJ]ob ?[iI]d\W+([0-9a-f-]{36})")
_SENT: Final = re.compile(r"numMessagesSent\W+(\d+)|sent (\d+) reload")


def reset_segment(ctx: Context, table: TableName, segment: str, *, target: str | None) -> int:
    """Reset a segment on its replicas, or on ``target``; returns how many that are. NotFound: not held there."""
    replicas = _replicas(ctx, table, [segment], target)
    if target is not None and not replicas and target not in _shown(ctx, table).get(segment, {}):
        # Pinot would answer that it was done.
        raise not_held(segment, table, target)
    path = f"/segments/{quoted(table.typed)}/{quoted(segment)}/reset"
    send_change(ctx, Request("POST", path, {"targetInstance": target}), is_done=lambda: False)
    return replicas


def reset_table(ctx: Context, table: TableName, *, errors_only: bool, target: str | None) -> int:
    """Of every segment; ``errors_only``: only those in ERROR, one by one where the version cannot choose them."""
    rows = _shown(ctx, table)
    broken = sorted(s for s, row in rows.items() if any(v == ERROR and target in (None, i) for i, v in row.items()))
    if errors_only and not capabilities.has(version(ctx), capabilities.RESET_ERRORS):
        return sum(reset_segment(ctx, table, s, target=target) for s in broken)
    count = _replicas(ctx, table, broken if errors_only else None, target)
    params = {"targetInstance": target, "errorSegmentsOnly": errors_only}
    send_change(ctx, Request("POST", f"/segments/{quoted(table.typed)}/reset", params), is_done=lambda: False)
    return count


def reload_segments(
    ctx: Context, table: TableName, segments: Collection[str] | None, *, force_download: bool
) -> dict[str, Any]:
    """Have servers load segments, or all of the table, again; Pinot's answer, of the last segment when several are
    named.
    """
    if segments:  # all of them are there, or none is loaded again
        rows = _rows(ctx, table)
        missing = sorted(set(segments) - set(rows))
        if missing:
            raise not_assigned(missing[0], table)
    params = {"type": table.type, "forceDownload": force_download}
    answer: Any = None
    for segment in [None] if segments is None else sorted(segments):
        path = f"/segments/{quoted(table.typed)}/" + (f"{quoted(segment)}/reload" if segment else "reload")
        answer = send_change(ctx, Request("POST", path, params), is_done=lambda: False)
    return _reload_answer(answer)


def _reload_answer(answer: Any) -> dict[str, Any]:
    """Messages sent and job in the text of Pinot's answer, which each version words differently."""
    text = str(answer.get("status") or "") if isinstance(answer, dict) else str(answer or "")
    sent, job = _SENT.search(text), _JOB.search(text)
    stored = "FAILED" if "FAILED" in text else "SUCCESS"
    return {
        "numMessagesSent": next((g for g in sent.groups() if g), "") if sent else "",
        "reloadJobId": job.group(1) if job else "",
        "reloadJobMetaZKStorageStatus": stored,
        "status": text,
    }


def _replicas(ctx: Context, table: TableName, segments: Sequence[str] | None, target: str | None) -> int:
    rows = _rows(ctx, table)
    chosen = rows if segments is None else {s: rows[s] for s in segments if s in rows}
    if segments and not chosen:
        raise not_assigned(segments[0], table)
    return sum(1 for row in chosen.values() for i in row if target in (None, i))


def _shown(ctx: Context, table: TableName) -> Rows:
    view = ctx.store.get(paths.external_view(table.typed))
    return view.record.maps if view and view.record else {}


def _rows(ctx: Context, table: TableName) -> Rows:
    ideal = ctx.store.get(paths.ideal_state(table.typed))
    return ideal.record.maps if ideal and ideal.record else {}
