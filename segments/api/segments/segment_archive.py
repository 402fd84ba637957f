"""/api/v1/segments/{table}/...: deleted segments listed and brought back, the deletion queue, and deletions of many
reported one by one.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, text_param
from segments.api.bodies import SegmentsBody, read_body
from segments.domain.segments.archive import Outcome, summary
from segments.domain.segments.pending_deletion import Pending
from segments.errors import InvalidInput
from segments.names import OFFLINE, TableName, check_segment_name, split_table_name
from segments.services.replacement.undo.restore_switch import preview_switch, restore_switch
from segments.services.segments import archive, deletion, restore
from segments.services.segments.archive import KeptFile
from segments.services.tables import tables

#: Segments named in one request, and entries of one page.
_MOST: Final = 10_000
_PAGE: Final = 1000


class DeletedSegments(ApiView):
    """The archive of deleted segments."""

    parameters = {"GET": ("type", "offset", "limit", "prefix")}

    def get(self, request: Request, table: str) -> Response:
        """Latest deletion first: name, bytes, when and by whom deleted, until when it is kept, whether it can be
        restored.
        """
        offset, limit = _page(request, 100)
        found = _table(self, request, table)
        kept, total = archive.list_kept(
            self.ctx, found, offset=offset, limit=limit, prefix=text_param(request, "prefix") or ""
        )
        following = _next(offset, limit, total)
        return Response(
            {"table": found.typed, "total": total, "next": following, "segments": [_kept_json(k) for k in kept]}
        )


class RestoreSegments(ApiView):
    """Deleted segments come back."""

    bodies = {"POST": SegmentsBody}
    rights = {"POST": "administer"}
    parameters = {"POST": ("type", "dryRun", "includeHidden", "overwrite", "force", "switch")}

    def post(self, request: Request, table: str) -> Response:
        """Body: {"segments": [names]}. Record, file and row come back; each name is answered with what became of it,
        and why.

        "files": kept files as listed, where another than the newest version is wanted. A name that exists again is
        refused, unless "overwrite" says that the kept version takes its place; the present one is then kept in turn.
        What a replacement removed does not come back next to what stands for it now: with "switch" that is hidden in
        the same step. "force" passes over newer other data.
        """
        names, body = _names(request, may_name_files=True)
        is_dry = bool_param(request, "dryRun", body.dry_run is True)
        hidden = bool_param(request, "includeHidden", body.include_hidden is True)
        overwrite = bool_param(request, "overwrite", body.overwrite is True)
        found, force = _table(self, request, table), bool_param(request, "force", body.force is True)
        if bool_param(request, "switch", body.switch is True):
            outcome = (
                preview_switch(self.ctx, found, names)
                if is_dry
                else restore_switch(self.ctx, found, names, actor=self.actor)
            )
            return Response({"dryRun": is_dry, **outcome.to_json()})
        outcomes = restore.restore_segments(
            self.ctx,
            found,
            names,
            dry_run=is_dry,
            include_hidden=hidden,
            actor=self.actor,
            overwrite=overwrite,
            files=body.files or (),
            force=force,
        )
        return _outcomes(found, outcomes, is_dry)


class DeleteManySegments(ApiView):
    """Delete many, each for itself."""

    bodies = {"POST": SegmentsBody}
    rights = {"POST": "administer"}
    parameters = {"POST": ("type", "dryRun", "retention", "force")}

    def post(self, request: Request, table: str) -> Response:
        """Body: {"segments": [names]}. What may be deleted is, in one step; what may not is reported one by one."""
        names, body = _names(request)
        is_dry = bool_param(request, "dryRun", body.dry_run is True)
        force = bool_param(request, "force", body.force is True)
        term = text_param(request, "retention") or body.retention
        found = _table(self, request, table)
        outcomes = deletion.delete_segments(
            self.ctx, found, names, retention=term, dry_run=is_dry, force=force, actor=self.actor
        )
        return _outcomes(found, outcomes, is_dry)


class PendingDeletions(ApiView):
    """The deletion queue."""

    parameters = {"GET": ("type", "offset", "limit")}

    def get(self, request: Request, table: str) -> Response:
        """Segments that left the table and whose record and file are still in their place, oldest first."""
        offset, limit = _page(request, _PAGE)
        found = _table(self, request, table)
        now = self.ctx.clock()
        waiting = self.ctx.engine.segments.waiting_deletions(self.ctx, found)
        items = sorted(waiting.values(), key=lambda p: (p.requested_ms, p.segment))
        shown = [_pending_json(p, now) for p in items[offset : offset + limit]]
        return Response(
            {"table": found.typed, "total": len(items), "next": _next(offset, limit, len(items)), "segments": shown}
        )


class CancelDeletion(ApiView):
    """Take a deletion back."""

    rights = {"POST": "administer"}
    parameters = {"POST": ("type",)}

    def post(self, request: Request, table: str, segment: str) -> Response:
        """The segment leaves the queue and is served again; 404 when it is not in the queue, 409 when it
        is too late.
        """
        found = _table(self, request, table)
        outcome = restore.cancel_deletion(self.ctx, found, check_segment_name(segment), actor=self.actor)
        return Response({"status": outcome.message})


def _table(view: ApiView, request: Request, table: str) -> TableName:
    """The table by its suffix or ``type``, else the OFFLINE one, or the only one there is."""
    kind = text_param(request, "type")
    if kind or split_table_name(table)[1]:
        return tables.one_table(view.ctx, table, kind)
    found = tables.existing_tables(view.ctx, table)
    return next((t for t in found if t.type == OFFLINE), found[0])


def _page(request: Request, usual: int) -> tuple[int, int]:
    """``offset`` and ``limit``. Raises InvalidInput."""
    offset, limit = int_param(request, "offset") or 0, int_param(request, "limit") or usual
    if not 0 <= offset <= sys.maxsize - limit or not 1 <= limit <= _PAGE:
        raise InvalidInput(f"'offset' must be 0 or more, 'limit' 1 to {_PAGE}.")
    return offset, limit


def _next(offset: int, limit: int, total: int) -> int | None:
    return offset + limit if offset + limit < total else None


def _names(request: Request, *, may_name_files: bool = False) -> tuple[list[str], SegmentsBody]:
    body = read_body(request, SegmentsBody)
    listed = body.segments or []
    if not listed and not (may_name_files and body.files):
        raise InvalidInput("The body must name at least one segment.", remedy='Send {"segments": ["name", ...]}.')
    if max(len(listed), len(body.files or ())) > _MOST:
        raise InvalidInput(
            f"One request takes at most {_MOST} segments, not {len(listed)}.", remedy="Send several requests."
        )
    return [check_segment_name(n) for n in listed], body


def _outcomes(table: TableName, outcomes: list[Outcome], is_dry: bool) -> Response:
    return Response(
        {
            "table": table.typed,
            "dryRun": is_dry,
            "summary": summary(outcomes),
            "segments": [
                {
                    "segment": o.segment,
                    "outcome": o.outcome,
                    "message": o.message,
                    "remedy": o.remedy,
                    "bytes": o.bytes,
                    "crc": o.crc,
                }
                for o in outcomes
            ],
        }
    )


def _kept_json(one: KeptFile) -> dict[str, Any]:
    kept = one.kept
    can = kept is not None and (kept.bytes is None or kept.bytes == one.bytes)
    return {
        "segment": one.segment,
        "file": one.file if one.is_there else None,
        "bytes": one.bytes,
        "deletedAt": _time(one.deleted_ms),
        "deletedBy": kept.deleted_by if kept else None,
        "reason": kept.reason if kept else None,
        "expiresAt": _time(one.expires_ms),
        "restorable": can,
        "why": one.why,
        "replacedByCrc": kept.replaced_by if kept else None,
        "crc": kept.metadata.crc if kept else None,
        "rows": kept.metadata.total_docs if kept else None,
    }


def _pending_json(one: Pending, now_ms: int) -> dict[str, Any]:
    return {
        "segment": one.segment,
        "requestedAt": _time(one.requested_ms),
        "by": one.by,
        "reason": one.reason,
        "retention": one.retention,
        "doing": "restore" if one.restores else "delete",
        "cancellable": not one.restores and not one.is_claimed(now_ms),
    }


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
