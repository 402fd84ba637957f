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
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from segments.dataplane.server.authorization import Authorization
from segments.dataplane.server.column_profiles import profile_segments, requested_segments
from segments.dataplane.server.consuming_info import ConsumingInfo
from segments.dataplane.server.disk import disk_usage
from segments.dataplane.server.held_segment import HeldSegment
from segments.dataplane.server.metrics import render_metrics
from segments.dataplane.server.query_runner import QueryRunner, Refusal
from segments.dataplane.server.segment_uploads import SegmentUploads
from segments.dataplane.server.slots import Slots
from segments.dataplane.server.tar_stream import stream_tar
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
    consuming: ConsumingInfo
    uploads: SegmentUploads
    data_dir: Path


def build_app(parts: Parts) -> Starlette:
    """The ASGI application."""
    endpoints = _Endpoints(parts)
    guarded: list[tuple[str, str, Handler]] = [
        ("GET", "/segments/{table}/{segment}", endpoints.tar),
        ("POST", "/segments/{table}/{segment}/upload", endpoints.upload),
        ("POST", "/segments/{table}/{segment}/uploadLLCSegment", endpoints.upload_short),
        ("POST", "/segments/{table}/{segment}/uploadCommittedSegment", endpoints.upload_record),
        ("GET", "/tables", endpoints.tables),
        ("GET", "/tables/{table}/consumingSegmentsInfo", endpoints.consuming_info),
        ("GET", "/tables/{table}/consumers", endpoints.consumers),
        ("GET", "/tables/{table}/segments", endpoints.segments),
        ("GET", "/tables/{table}/segments/crc", endpoints.crcs),
        ("GET", "/tables/{table}/segments/{segment}", endpoints.tar),
        ("GET", "/tables/{table}/segments/{segment}/metadata", endpoints.metadata),
        ("GET", "/tables/{table}/size", endpoints.size),
        ("GET", "/tables/{table}/errors", endpoints.errors),
        ("GET", "/instance/diskUtilization", endpoints.disk),
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

    async def disk(self, _: Request) -> Response:
        """How full the disk under the segments is."""
        return JSONResponse(await _in_thread(self._parts.pool, partial(disk_usage, self._parts.instance, self._parts.data_dir)))

    async def query(self, request: Request) -> Response:
        """This server's part of a query (see ``segments.gateways.servers``)."""
        body = _parse(await request.body())
        answer = await _in_thread(self._parts.pool, lambda: self._parts.runner.run(body))
        if isinstance(answer, Refusal):
            return JSONResponse(answer.body, answer.status)
        return Response(answer, media_type="application/octet-stream")

    async def tar(self, request: Request) -> Response:
        """A segment as tar.gz, made for this request. ``crc``: only this version; ``compression``: made while it is sent."""
        table, name = request.path_params["table"], request.path_params["segment"]
        held = self._held(table, name)
        wanted, compression = request.query_params.get("crc"), request.query_params.get("compression")
        if wanted is not None and wanted != str(held.crc):
            raise NotFound(f"This server holds segment '{name}' of table '{table}' with CRC {held.crc}, not {wanted}.")
        if compression is not None:
            return StreamingResponse(stream_tar(held.folder, compression), media_type="application/octet-stream")
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
        """{"segments": names}, those that are being consumed too"""
        table = request.path_params["table"]
        return JSONResponse({"segments": sorted({*self._slots.serving(table), *self._slots.consuming(table)})})

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
        name = request.path_params["segment"]
        held = self._held(request.path_params["table"], name)
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

    async def consuming_info(self, request: Request) -> Response:
        """Pinot's list of SegmentConsumerInfo."""
        return JSONResponse(await self._blocking(self._parts.consuming.pinot, request.path_params["table"]))

    async def consumers(self, request: Request) -> Response:
        """Ours: state, rows, memory, lag, bad messages and lost ranges of each consuming segment."""
        return JSONResponse(await self._blocking(self._parts.consuming.details, request.path_params["table"]))

    async def upload(self, request: Request) -> Response:
        """The address of the uploaded segment, as plain text."""
        return PlainTextResponse(await self._uploaded(self._parts.uploads.location, request))

    async def upload_short(self, request: Request) -> Response:
        """{"segmentName", "crc", "dataCrc", "downloadUrl"}"""
        return JSONResponse(await self._uploaded(self._parts.uploads.short, request))

    async def upload_record(self, request: Request) -> Response:
        """The segment's record with the new address."""
        return JSONResponse(await self._uploaded(self._parts.uploads.record, request))

    async def _uploaded(self, run: Callable[[str, str, int], T], request: Request) -> T:
        timeout = request.query_params.get("uploadTimeoutMs", "-1")
        if not timeout.lstrip("-").isdigit():
            raise InvalidInput(f"'uploadTimeoutMs' is '{timeout}'.", remedy="Give milliseconds, or leave it out.")
        return await self._blocking(run, request.path_params["table"], request.path_params["segment"], int(timeout))

    async def _blocking(self, run: Callable[..., T], *arguments: Any) -> T:
        """On a thread that queries do not need: streams and stores may take their time."""
        return await asyncio.to_thread(run, *arguments)

    def _held(self, table: str, name: str) -> HeldSegment:
        held = self._slots.serving(table).get(name)
        if held is None:
            raise NotFound(f"This server does not hold segment '{name}' of table '{table}'.")
        return held

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
