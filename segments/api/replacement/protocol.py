"""/segments/{table}/...ReplaceSegments and lineage: the replacement protocol over REST."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, need_text, text_param
from segments.api.bodies import EndBody, RevertBody, StartBody, custom_map, read_body
from segments.api.replacement.lineage import end_in_background
from segments.names import TableName, resolve_table
from segments.services.jobs.queue import start_pass
from segments.services.replacement import protocol as replacement
from segments.services.segments import segments
from segments.services.tables import tables


class StartReplace(ApiView):
    """Open a replacement of segmentsFrom by segmentsTo."""

    on_pinot = frozenset(("POST",))
    bodies = {"POST": StartBody}
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "forceCleanup")}

    def post(self, request: Request, table: str) -> Response:
        """The entry's id. Nothing changes for queries before the end.

        403 when the bytes that ``customMap`` declares (``pinotadmin.declaredBytes``) do not fit the table's quota.
        """
        found = _table(request, table)
        body, force = read_body(request, StartBody), bool_param(request, "forceCleanup")
        old, new, custom = body.segments_from or [], body.segments_to or [], custom_map(body)
        entry = replacement.start_replace(
            self.ctx, found, old, new, force_cleanup=force, actor=self.actor, custom_map=custom
        )
        return Response({"segmentLineageEntryId": entry})


class EndReplace(ApiView):
    """Switch queries to the new segments."""

    answers = {"POST": {200: "empty", 202: "object"}}
    on_pinot = frozenset(("POST",))
    bodies = {"POST": EndBody}
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "segmentLineageEntryId", "cleanup", "overrideChecks", "strictSnapshot", "async")}

    def post(self, request: Request, table: str) -> HttpResponse:
        """Empty answer once all live brokers serve the new side. cleanup=true also starts a retention pass.

        412 when the table's checks refuse the new segments; overrideChecks=<reason> passes over them.
        strictSnapshot=true: 409 with names when segments came in since the start, which queries would see next to the
        new ones. With async=true 202 at once, with a job to follow at ``GET /api/v1/jobs/{id}``.
        """
        found = _table(request, table)
        entry, cleanup = need_text(request, "segmentLineageEntryId"), bool_param(request, "cleanup")
        new, override = (
            read_body(request, EndBody, optional=True).segments_to or [],
            text_param(request, "overrideChecks") or "",
        )
        if bool_param(request, "async"):
            return end_in_background(self, request, found, entry, new)
        replacement.end_replace(
            self.ctx,
            found,
            entry,
            segments_to=new,
            cleanup=cleanup,
            actor=self.actor,
            override=override,
            strict=bool_param(request, "strictSnapshot"),
        )
        if cleanup:
            start_pass(self.ctx, "RetentionManager", found.typed)
        return HttpResponse(b"", content_type="application/json")


class RevertReplace(ApiView):
    """Take queries back to the old segments."""

    answers = {"POST": {200: "json"}}
    on_pinot = frozenset(("POST",))
    bodies = {"POST": RevertBody}
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "segmentLineageEntryId", "forceRevert", "dryRun")}

    def post(self, request: Request, table: str) -> HttpResponse:
        """Empty answer once all live brokers serve the old side; with dryRun=true only what it would do."""
        found = _table(request, table)
        if "json" in (request.content_type or "json"):
            read_body(request, RevertBody, optional=True)
        entry, force = need_text(request, "segmentLineageEntryId"), bool_param(request, "forceRevert")
        if bool_param(request, "dryRun"):
            return Response(replacement.preview_revert(self.ctx, found, entry, force=force).to_json())
        replacement.revert_replace(self.ctx, found, entry, force=force, actor=self.actor)
        return HttpResponse(b"", content_type="application/json")


class LineageDocument(ApiView):
    """The lineage of a table."""

    answers = {"GET": {200: "json"}}
    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str) -> HttpResponse:
        """All entries, oldest first; an empty answer when there never was one."""
        body = segments.lineage_json(self.ctx, tables.one_table(self.ctx, table, need_text(request, "type")))
        return HttpResponse(b"", content_type="application/json") if body is None else Response(body)


class RevertPreview(ApiView):
    """What a rollback would do; writes nothing."""

    parameters = {"GET": ("type", "forceRevert")}

    def get(self, request: Request, table: str, entry: str) -> Response:
        """Rows, segments, bytes and time range before and after, and what stands in the way."""
        found = tables.one_table(self.ctx, table, text_param(request, "type"))
        force = bool_param(request, "forceRevert")
        return Response(replacement.preview_revert(self.ctx, found, entry, force=force).to_json())


def _table(request: Request, table: str) -> TableName:
    # Whether it exists the use case finds out with its first read anyway.
    return resolve_table(table, need_text(request, "type"))
