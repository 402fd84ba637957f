"""The paths of a Pinot controller for instances and cluster settings, over the state inside."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import httpx
import orjson

from segments.errors import PinotAdminError
from segments.services.clusters import cluster_settings, instances
from segments.services.core.context import Actor, Context

_INSTANCE = re.compile(r"/instances/([^/]+)(/state)?")
_SETTING = re.compile(r"/cluster/configs/([^/]+)")
PINOT = Actor("pinot")


def change(ctx: Context, request: httpx.Request, path: str) -> httpx.Response | None:
    """The answer to a change of one of these; None for other paths."""
    if found := _INSTANCE.fullmatch(path):
        return _done(ctx, request, _of_instance, unquote(found[1]))
    if found := _SETTING.fullmatch(path):
        return _done(ctx, request, _remove_setting, unquote(found[1]))
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
    word = request.url.params.get("state") or request.content.decode()
    instances.set_instance_state(ctx, name, is_enabled=word == "ENABLE", actor=PINOT)


def _add_instance(ctx: Context, request: httpx.Request, _: str) -> None:
    body = orjson.loads(request.content)
    instances.add_instance(ctx, host=body["host"], port=body["port"], kind=body["type"], tags=body["tags"], actor=PINOT)


def _set_settings(ctx: Context, request: httpx.Request, _: str) -> None:
    cluster_settings.set_settings(ctx, orjson.loads(request.content), actor=PINOT)


def _remove_setting(ctx: Context, request: httpx.Request, key: str) -> None:
    cluster_settings.remove_setting(ctx, key, actor=PINOT)
