"""The paths of a Pinot controller for instances, cluster settings and messages to servers, over the state inside."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import httpx
import orjson

from segments.errors import PinotAdminError
from segments.names import TableName, split_table_name
from segments.services.clusters import cluster_settings, instances
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import observe
from segments.services.segments import segment_reset

_INSTANCE = re.compile(r"/instances/([^/]+)(/state|/updateTags)?")
_SETTING = re.compile(r"/cluster/configs/([^/]+)")
_SEGMENTS = re.compile(r"/segments/([^/]+)(?:/([^/]+))?/(reset|reload)")
PINOT = Actor("pinot")


def change(ctx: Context, request: httpx.Request, path: str) -> httpx.Response | None:
    """The answer to a change of one of these; None for other paths."""
    if found := _INSTANCE.fullmatch(path):
        return _done(ctx, request, _of_instance, unquote(found[1]))
    if found := _SETTING.fullmatch(path):
        return _done(ctx, request, _remove_setting, unquote(found[1]))
    if found := _SEGMENTS.fullmatch(path):
        return _of_segments(ctx, request, unquote(found[1]), unquote(found[2] or ""), found[3])
    known = {"/instances": _add_instance, "/cluster/configs": _set_settings}
    return _done(ctx, request, known[path], "") if path in known else None


def settings(ctx: Context) -> httpx.Response:
    """The answer to ``GET /cluster/configs``."""
    return httpx.Response(200, json=cluster_settings.read_settings(ctx))


def _done(ctx: Context, request: httpx.Request, work: Any, name: str) -> httpx.Response:
    try:
        work(ctx, request, name)
    except PinotAdminError as error:
        return httpx.Response(error.status, json={"code": error.status, "error": error.message})
    return httpx.Response(200, json={"status": "ok"})


def _of_instance(ctx: Context, request: httpx.Request, name: str) -> None:
    if request.method == "DELETE":
        instances.drop_instance(ctx, name, actor=PINOT)
        return
    if request.url.path.endswith("/updateTags"):
        ctx.engine.instances.set_instance_tags(ctx, name, request.url.params["tags"].split(","))
        return
    word = request.url.params.get("state") or request.content.decode()
    instances.set_instance_state(ctx, name, is_enabled=word == "ENABLE", actor=PINOT)


def _add_instance(ctx: Context, request: httpx.Request, _: str) -> None:
    body = orjson.loads(request.content)
    instances.add_instance(ctx, host=body["host"], port=body["port"], kind=body["type"], tags=body["tags"], actor=PINOT)


def _set_settings(ctx: Context, request: httpx.Request, _: str) -> None:
    cluster_settings.set_settings(ctx, orjson.loads(request.content), actor=PINOT)


def _remove_setting(ctx: Context, request: httpx.Request, key: str) -> None:
    cluster_settings.remove_setting(ctx, key, actor=PINOT)


def _of_segments(ctx: Context, request: httpx.Request, name: str, segment: str, word: str) -> httpx.Response:
    raw, kind = split_table_name(name)
    table, params = TableName(raw, kind or "OFFLINE"), request.url.params
    target, errors_only = params.get("targetInstance"), params.get("errorSegmentsOnly") == "true"
    try:
        if word == "reload":
            force = params.get("forceDownload") == "true"
            sent = segment_reset.reload_segments(
                ctx, table, segments=[segment] if segment else None, force_download=force, actor=PINOT
            )
            job, count = sent["reloadJobId"], sent["numMessagesSent"]
            text = f"Submitted reload job id: {job}, sent {count} reload messages."
            return httpx.Response(200, json={"status": text})
        if segment and target in (None, *_holders(ctx, table, segment)):  # Pinot passes over others and says nothing
            segment_reset.reset_segment(ctx, table, segment, target=target, actor=PINOT)
        elif not segment:
            segment_reset.reset_table(ctx, table, errors_only=errors_only, target=target, actor=PINOT)
    except PinotAdminError as error:
        return httpx.Response(error.status, json={"code": error.status, "error": error.message})
    return httpx.Response(200, json={"status": "Successfully invoked segment reset"})


def _holders(ctx: Context, table: TableName, segment: str) -> list[str]:
    return list(observe(ctx, table).ideal.maps.get(segment, {}))
