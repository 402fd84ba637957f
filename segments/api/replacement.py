"""/segments/{table}/...ReplaceSegments and lineage: the replacement protocol over REST (lineage.md 10)."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, json_body, need_text, text_param
from segments.api.lineage import end_in_background
from segments.api.task_queue import run_periodic
from segments.errors import InvalidInput
from segments.names import TableName, resolve_table
from segments.services import replacement, segments, tables

_START_KEYS = frozenset({"segmentsFrom", "segmentsTo", "customMap"})
_END_KEYS = frozenset({"segmentsTo", "customMap"})
_REVERT_KEYS = frozenset({"customMap"})


class StartReplace(ApiView):
    """Open a replacement of segmentsFrom by segmentsTo."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "forceCleanup")}

    def post(self, request: Request, table: str) -> Response:
        """The entry's id. Nothing changes for queries before the end.

        403 when the bytes that ``customMap`` declares (``pinotadmin.declaredBytes``) do not fit the table's quota.
        """
        found = _table(request, table)
        body, force = _checked(json_body(request), _START_KEYS), bool_param(request, "forceCleanup")
        old, new, custom = _list(body, "segmentsFrom"), _list(body, "segmentsTo"), _custom_map(body)
        entry = replacement.start_replace(self.ctx, found, old, new, force_cleanup=force, actor=self.actor, custom_map=custom)
        return Response({"segmentLineageEntryId": entry})


class EndReplace(ApiView):
    """Switch queries to the new segments."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "segmentLineageEntryId", "cleanup", "overrideChecks", "async")}

    def post(self, request: Request, table: str) -> HttpResponse:
        """Empty answer once all live brokers serve the new side. cleanup=true also starts a retention pass.

        412 when the table's checks refuse the new segments; overrideChecks=<reason> passes over them. With async=true 202 at once, with a
        job to follow at ``GET /api/v1/jobs/{id}``.
        """
        found = _table(request, table)
        entry, cleanup = need_text(request, "segmentLineageEntryId"), bool_param(request, "cleanup")
        body = _checked(json_body(request, optional=True), _END_KEYS)
        new, override = _list(body, "segmentsTo"), text_param(request, "overrideChecks") or ""
        if bool_param(request, "async"):
            return end_in_background(self, request, found, entry, new)
        replacement.end_replace(self.ctx, found, entry, segments_to=new, cleanup=cleanup, actor=self.actor, override=override)
        if cleanup:
            run_periodic("RetentionManager", found.typed, self.cluster)
        return HttpResponse(b"", content_type="application/json")


class RevertReplace(ApiView):
    """Take queries back to the old segments."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "segmentLineageEntryId", "forceRevert", "dryRun")}

    def post(self, request: Request, table: str) -> HttpResponse:
        """Empty answer once all live brokers serve the old side; with dryRun=true only what it would do."""
        found = _table(request, table)
        if "json" in (request.content_type or "json"):
            _checked(json_body(request, optional=True), _REVERT_KEYS)
        entry, force = need_text(request, "segmentLineageEntryId"), bool_param(request, "forceRevert")
        if bool_param(request, "dryRun"):
            return Response(replacement.preview_revert(self.ctx, found, entry, force=force).to_json())
        replacement.revert_replace(self.ctx, found, entry, force=force, actor=self.actor)
        return HttpResponse(b"", content_type="application/json")


class LineageDocument(ApiView):
    """The lineage of a table."""

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


def _checked(body: Any, known: frozenset[str]) -> dict[str, Any]:
    """The body, {} when there is none. Raises InvalidInput for what is no object, unknown fields and a ``customMap`` that is not flat."""
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise InvalidInput("The body must be a JSON object.", remedy=f"Its fields are {', '.join(sorted(known))}.")
    surprises = sorted(set(body) - known)
    if surprises:
        raise InvalidInput(f"Field '{surprises[0]}' is not known here.", remedy=f"The fields are {', '.join(sorted(known))}.")
    _custom_map(body)
    return body


def _custom_map(body: dict[str, Any]) -> dict[str, str]:
    """``customMap`` with its values as text. Raises InvalidInput when it is no flat object."""
    found = body.get("customMap") or {}
    if not isinstance(found, dict) or not all(isinstance(v, str | int | float | bool | None) for v in found.values()):
        raise InvalidInput("'customMap' must be an object of texts.")
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in found.items() if v is not None}


def _list(body: dict[str, Any], key: str) -> list[str]:
    """A list of names; null and absent count as empty (lineage.md 4.1). Raises InvalidInput."""
    value = body.get(key) or []
    if not isinstance(value, list) or not all(isinstance(s, str) for s in value):
        raise InvalidInput(f"'{key}' must be a list of segment names.")
    return value
