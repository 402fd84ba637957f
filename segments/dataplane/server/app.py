"""The server's HTTP endpoints (storage-zk.md 2.7): health for everybody, all else with credentials only."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from segments.dataplane.server.authorization import Authorization
from segments.dataplane.server.column_profiles import profile_segments, requested_segments
from segments.dataplane.server.metrics import render_metrics
from segments.dataplane.server.query_runner import QueryRunner, Refusal
from segments.dataplane.server.slots import Slots
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.segmentfile import write_tar

log = logging.getLogger(__name__)

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
_UNAUTHORIZED: Final = {"WWW-Authenticate": 'Basic realm="pinotadmin"'}
_MAX_REQUEST: Final = 64 << 20


@dataclass(frozen=True)
class Parts:
    """What the endpoints show. ``is_ready``: joined, and everything assigned at the start was loaded or has failed."""

    instance: str
    slots: Slots
    runner: QueryRunner
    authorization: Authorization
    is_ready: Callable[[], bool]
    pool: ThreadPoolExecutor


def build_app(parts: Parts) -> Starlette:
    """The ASGI application."""
    endpoints = _Endpoints(parts)
    guarded: list[tuple[str, str, Handler]] = [
        ("GET", "/segments/{table}/{segment}", endpoints.tar),
        ("GET", "/tables", endpoints.tables),
        ("GET", "/tables/{table}/segments", endpoints.segments),
        ("GET", "/tables/{table}/segments/crc", endpoints.crcs),
        ("GET", "/tables/{table}/segments/{segment}/metadata", endpoints.metadata),
        ("GET", "/tables/{table}/size", endpoints.size),
        ("GET", "/tables/{table}/errors", endpoints.errors),
        ("GET", "/metrics", endpoints.metrics),
        ("POST", "/tables/{table}/segments/profile", endpoints.profile),
        ("POST", "/query", endpoints.query),
    ]
    routes = [
        Route("/health", endpoints.health),
        Route("/health/readiness", endpoints.health),
        Route("/health/liveness", endpoints.liveness),
        *(Route(path, _guard(parts, handler), methods=[method]) for method, path, handler in guarded),
    ]
    return Starlette(routes=routes)


def _guard(parts: Parts, handler: Handler) -> Handler:
    """Ask for credentials first; turn our errors into ``{"message", "status"}``."""

    async def guarded(request: Request) -> Response:
        header = request.headers.get("authorization", "")
        is_known = parts.authorization.is_cluster(header)
        if not is_known and header:
            is_known = await _in_thread(parts.pool, partial(parts.authorization.is_person, header))
        if not is_known:
            return JSONResponse({"message": "Credentials are missing or wrong.", "status": 401}, 401, headers=_UNAUTHORIZED)
        try:
            return await handler(request)
        except PinotAdminError as error:
            return JSONResponse({"message": str(error), "status": error.status}, error.status)
        except Exception:
            log.exception("%s failed", request.url.path)
            return JSONResponse({"message": "The server failed; its log tells why.", "status": 500}, 500)

    return guarded


class _Endpoints:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._slots = parts.slots

    async def health(self, _: Request) -> Response:
        """OK when joined and the first reconcile is done."""
        is_ready = self._parts.is_ready()
        return PlainTextResponse("OK" if is_ready else "STARTING", 200 if is_ready else 503)

    async def liveness(self, _: Request) -> Response:
        """OK as long as the process answers."""
        return PlainTextResponse("OK")

    async def query(self, request: Request) -> Response:
        """This server's part of a query (see ``segments.gateways.servers``)."""
        body = _parse(await request.body())
        answer = await _in_thread(self._parts.pool, lambda: self._parts.runner.run(body))
        if isinstance(answer, Refusal):
            return JSONResponse(answer.body, answer.status)
        return Response(answer, media_type="application/octet-stream")

    async def tar(self, request: Request) -> Response:
        """A segment as tar.gz, made for this request."""
        table, name = request.path_params["table"], request.path_params["segment"]
        held = self._slots.serving(table).get(name)
        if held is None:
            raise NotFound(f"This server does not hold segment '{name}' of table '{table}'.")
        work = Path(tempfile.mkdtemp(prefix="segment-"))
        try:
            await _in_thread(self._parts.pool, lambda: write_tar(held.folder, work / "segment.tar.gz"))
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
        return FileResponse(
            work / "segment.tar.gz",
            media_type="application/octet-stream",
            filename=f"{table}_{name}.tar.gz",
            background=BackgroundTask(shutil.rmtree, work, ignore_errors=True),
        )

    async def tables(self, _: Request) -> Response:
        """{"tables": typed names}"""
        return JSONResponse({"tables": self._slots.tables()})

    async def segments(self, request: Request) -> Response:
        """{"segments": names}"""
        return JSONResponse({"segments": sorted(self._slots.serving(request.path_params["table"]))})

    async def crcs(self, request: Request) -> Response:
        """{segment: CRC as text}"""
        return JSONResponse({n: str(h.crc) for n, h in sorted(self._slots.serving(request.path_params["table"]).items())})

    async def size(self, request: Request) -> Response:
        """Bytes on disk, in all and by segment."""
        table = request.path_params["table"]
        sizes = {n: h.disk_bytes for n, h in sorted(self._slots.serving(table).items())}
        return JSONResponse({"tableName": table, "diskSizeInBytes": sum(sizes.values()), "segments": sizes})

    async def errors(self, request: Request) -> Response:
        """{segment: why its last load failed}"""
        return JSONResponse(dict(sorted(self._slots.errors(request.path_params["table"]).items())))

    async def metadata(self, request: Request) -> Response:
        """What one segment says about itself."""
        table, name = request.path_params["table"], request.path_params["segment"]
        held = self._slots.serving(table).get(name)
        if held is None:
            raise NotFound(f"This server does not hold segment '{name}' of table '{table}'.")
        info = held.info
        return JSONResponse({
            "segmentName": name, "crc": str(held.crc), "totalDocs": held.num_docs, "diskSizeInBytes": held.disk_bytes,
            "creationTimeMillis": info.creation_time_ms, "startTimeMillis": info.start_time_ms, "endTimeMillis": info.end_time_ms,
            "indexVersion": info.index_version, "columns": sorted(info.columns),
        })  # fmt: skip

    async def profile(self, request: Request) -> Response:
        """Range and cardinality of every column over the segments named in the body."""
        names = requested_segments(_parse(await request.body()))
        held = self._slots.serving(request.path_params["table"])
        return JSONResponse(await _in_thread(self._parts.pool, lambda: profile_segments(held, names)))

    async def metrics(self, _: Request) -> Response:
        """Prometheus text."""
        return PlainTextResponse(render_metrics(self._slots, self._parts.runner))


def _parse(body: bytes) -> dict[str, Any]:
    if len(body) > _MAX_REQUEST:
        raise InvalidInput(f"The request has {len(body)} bytes, at most {_MAX_REQUEST} are taken.")
    try:
        found = json.loads(body)
    except ValueError as error:
        raise InvalidInput(f"The request is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise InvalidInput("The request is no JSON object.", remedy='Send {"sql", "table", "segments"}.')
    return found


async def _in_thread(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(pool, work)
