"""What each route of a server's port answers (``routes.ROUTES`` names them)."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.server.consuming_info import ConsumingInfo
from segments.dataplane.server.held.column_profiles import profile_segments, requested_segments
from segments.dataplane.server.held.disk import disk_usage
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.segment_uploads import SegmentUploads
from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.held.tar_stream import stream_tar
from segments.dataplane.server.http.guard import Admitted
from segments.dataplane.server.http.metrics import render_metrics
from segments.dataplane.server.query_runner import QueryRunner, Refusal
from segments.dataplane.server.reingestion import Reingestions
from segments.domain.access.cluster_signature import SEAL_BYTES, SEAL_HEADER
from segments.errors import InvalidInput, NotFound
from segments.metrics.exposition import CONTENT_TYPE
from segments.segmentfile import write_tar

T = TypeVar("T")
_PARTITION: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class ServerParts:
    """What the endpoints show. ``is_ready``: joined, and everything assigned at the start was loaded or has failed."""

    instance: str
    slots: Slots
    runner: QueryRunner
    is_ready: Callable[[], bool]
    pool: ThreadPoolExecutor
    consuming: ConsumingInfo
    uploads: SegmentUploads
    reingestions: Reingestions
    data_dir: Path
    keys: ServerKeys


class Endpoints:
    """One method for each ``endpoint`` of the routes; who may call it was decided before."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._slots = parts.slots

    async def health(self, _: Admitted) -> Response:
        """OK when joined and the first reconcile is done."""
        is_ready = self._parts.is_ready()
        return PlainTextResponse("OK" if is_ready else "STARTING", 200 if is_ready else 503)

    async def liveness(self, _: Admitted) -> Response:
        """OK as long as the process answers."""
        return PlainTextResponse("OK")

    async def disk(self, _: Admitted) -> Response:
        """How full the disk under the segments is."""
        return JSONResponse(
            await _in_thread(self._parts.pool, partial(disk_usage, self._parts.instance, self._parts.data_dir))
        )

    async def query(self, asked: Admitted) -> Response:
        """This server's part of a query (see ``segments.gateways.servers``)."""
        answer = await _in_thread(self._parts.pool, lambda: self._parts.runner.run(asked.body))
        if isinstance(answer, Refusal):
            return JSONResponse(answer.body, answer.status)
        return Response(answer, media_type="application/octet-stream")

    async def cancel_query(self, asked: Admitted) -> Response:
        """{"stopped": parts that ran}. Waits for no thread: queries may have them all."""
        return JSONResponse({"stopped": self._parts.runner.stops.stop(asked.request.path_params["query"])})

    async def tar(self, asked: Admitted) -> Response:
        """A segment as tar.gz, made for this request. ``crc``: only this version; ``compression``: made while it is
        sent.
        """
        table, name = asked.table, asked.segment
        held = self._held(table, name)
        wanted, compression = asked.request.query_params.get("crc"), asked.request.query_params.get("compression")
        if wanted is not None and wanted != str(held.crc):
            raise NotFound(f"This server holds segment '{name}' of table '{table}' with CRC {held.crc}, not {wanted}.")
        if compression is not None:
            return self._streamed(asked, stream_tar(held.folder, compression))
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

    def _streamed(self, asked: Admitted, pieces: Iterator[bytes]) -> Response:
        """A process of the cluster gets a signature behind what it gets."""
        call = asked.caller.call
        headers = {} if call is None else {SEAL_HEADER: str(SEAL_BYTES)}
        sent = pieces if call is None else call.sealed(pieces)
        return StreamingResponse(sent, media_type="application/octet-stream", headers=headers)

    async def tables(self, asked: Admitted) -> Response:
        """{"tables": typed names}, those that the caller may read"""
        names = self._slots.tables()
        return JSONResponse(
            {"tables": await _in_thread(self._parts.pool, lambda: [t for t in names if asked.caller.may_read(t)])}
        )

    async def segments(self, asked: Admitted) -> Response:
        """{"segments": names}, those that are being consumed too"""
        table = asked.table
        return JSONResponse({"segments": sorted({*self._slots.serving(table), *self._slots.consuming(table)})})

    async def crcs(self, asked: Admitted) -> Response:
        """{segment: CRC as text}"""
        return JSONResponse({n: str(h.crc) for n, h in sorted(self._slots.serving(asked.table).items())})

    async def size(self, asked: Admitted) -> Response:
        """Bytes on disk, in all and by segment."""
        table = asked.table
        sizes = {n: h.disk_bytes for n, h in sorted(self._slots.serving(table).items())}
        return JSONResponse({"tableName": table, "diskSizeInBytes": sum(sizes.values()), "segments": sizes})

    async def errors(self, asked: Admitted) -> Response:
        """{segment: why its last load failed}"""
        return JSONResponse(dict(sorted(self._slots.errors(asked.table).items())))

    async def metadata(self, asked: Admitted) -> Response:
        """What one segment says about itself."""
        name = asked.segment
        held = self._held(asked.table, name)
        info = held.info
        return JSONResponse(
            {
                "segmentName": name,
                "crc": str(held.crc),
                "totalDocs": held.num_docs,
                "diskSizeInBytes": held.disk_bytes,
                "creationTimeMillis": info.creation_time_ms,
                "startTimeMillis": info.start_time_ms,
                "endTimeMillis": info.end_time_ms,
                "indexVersion": info.index_version,
                "columns": sorted(info.columns),
            }
        )

    async def profile(self, asked: Admitted) -> Response:
        """Range and cardinality of every column over the segments named in the body."""
        names = requested_segments(asked.document())
        held = self._slots.serving(asked.table)
        return JSONResponse(await _in_thread(self._parts.pool, lambda: profile_segments(held, names)))

    async def consuming_info(self, asked: Admitted) -> Response:
        """Pinot's list of SegmentConsumerInfo."""
        return JSONResponse(await self._blocking(self._parts.consuming.pinot, asked.table))

    async def consumers(self, asked: Admitted) -> Response:
        """Ours: state, rows, memory, lag, bad messages and lost ranges of each consuming segment."""
        return JSONResponse(await self._blocking(self._parts.consuming.details, asked.table))

    async def segment_lives(self, asked: Admitted) -> Response:
        """Ours: when each of the last segments of a partition was consumed, built, uploaded, committed, downloaded."""
        partition = asked.request.path_params["partition"]
        if not _PARTITION.fullmatch(partition):
            raise InvalidInput(f"'{partition[:40]}' is not a partition.", remedy="It is a number.")
        return JSONResponse(self._parts.consuming.lives(asked.table, int(partition)))

    async def upload(self, asked: Admitted) -> Response:
        """The address of the uploaded segment, as plain text."""
        return PlainTextResponse(await self._uploaded(self._parts.uploads.location, asked))

    async def upload_short(self, asked: Admitted) -> Response:
        """{"segmentName", "crc", "dataCrc", "downloadUrl"}"""
        return JSONResponse(await self._uploaded(self._parts.uploads.short, asked))

    async def upload_record(self, asked: Admitted) -> Response:
        """The segment's record with the new address."""
        return JSONResponse(await self._uploaded(self._parts.uploads.record, asked))

    async def reingest(self, asked: Admitted) -> Response:
        """Read the segment's rows from the stream again: the job, as Pinot's servers answer it. ``acceptLoss=true``:
        build it without rows that the stream has lost.
        """
        given = asked.request.query_params
        by = given.get("by", "") if asked.caller.call is not None else "a user of the server's port"
        accepts_loss = given.get("acceptLoss", "").lower() == "true"
        begin = partial(self._parts.reingestions.begin, asked.segment, accepts_loss=accepts_loss, by=by)
        return JSONResponse((await self._blocking(begin)).to_pinot())

    async def reingestions(self, _: Admitted) -> Response:
        """The jobs that are queued or under way on this server."""
        return JSONResponse([job.to_pinot() for job in self._parts.reingestions.jobs()])

    async def _uploaded(self, run: Callable[[str, str, int], T], asked: Admitted) -> T:
        timeout = asked.request.query_params.get("uploadTimeoutMs", "-1")
        if not timeout.lstrip("-").isdigit():
            raise InvalidInput(f"'uploadTimeoutMs' is '{timeout}'.", remedy="Give milliseconds, or leave it out.")
        return await self._blocking(run, asked.table, asked.segment, int(timeout))

    async def _blocking(self, run: Callable[..., T], *arguments: Any) -> T:
        """On a thread that queries do not need: streams and stores may take their time."""
        return await asyncio.to_thread(run, *arguments)

    def _held(self, table: str, name: str) -> HeldSegment:
        held = self._slots.serving(table).get(name)
        if held is None:
            raise NotFound(f"This server does not hold segment '{name}' of table '{table}'.")
        return held

    async def metrics(self, _: Admitted) -> Response:
        """Prometheus text."""
        parts = self._parts
        runs, cached = (lambda: len(parts.reingestions.jobs())), parts.runner.cache_bytes
        page = await self._blocking(render_metrics, self._slots, parts.consuming, cached, parts.keys, runs)
        return Response(page, media_type=CONTENT_TYPE)


async def _in_thread(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(pool, copy_context().run, work)
