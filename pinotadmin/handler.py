"""Django's ASGI handler with the whole request, signals and middleware included, on one thread of a lasting pool,
and next to it the short way of ``segments.api.fast_path``.

Django itself moves between event loop and threads for every synchronous middleware and for its signals, and makes a new
thread, and so a new database connection, per request: 7 ms of a request that does nothing. ``bench/lineage.py`` prints
what is left.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, Final, TypeVar

from asgiref.sync import ThreadSensitiveContext
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from pinotadmin.body_reader import BodyReader, Receive, Reservation, Send, read_small, refuse
from pinotadmin.configuration.path_prefix import with_prefix
from pinotadmin.response_headers import with_headers
from pinotadmin.thread_limits import ThreadLimits
from segments import traces
from segments.api import body_gate, fast_path
from segments.api.clusters import cluster_calls
from segments.errors import PinotAdminError, TooManyRequests
from segments.metrics.request_times import Timed
from segments.request_ids import begin_new

#: Requests at work at once; one may wait minutes for replicas (end of a replacement), so there are many more than
#: cores.
WORKERS: Final = 64
#: Seconds that a client may take to read a piece of an answer before it is cut off: what is held for it is wanted by
#: others.
STALLED_S: Final = 60.0
_TRACE: Final = traces.HEADER.encode()
_T = TypeVar("_T")
#: Requests of everybody that are at work or wait.
_IN_ALL: Final = 4096


class ThreadedHandler(ASGIHandler):
    """Serves synchronous views. Streaming, disconnects and limits are as in Django's own handler."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="request")
        self._turns = ThreadLimits(settings.MAX_REQUESTS_PER_USER, settings.MAX_WAITING_PER_USER, _IN_ALL)
        self._bodies = BodyReader()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request. A view goes on when its client leaves; only a stream is cut then."""
        with Timed(str(scope["path"]), send) as timed, _traced(scope, timed.asked):
            await self._limited(scope, receive, timed.send)
            traces.note(answer=timed.status)

    async def _limited(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        cluster_calls.receive(scope)
        sender = body_gate.sender(scope)
        try:
            if sender is not None:
                await self._turns.begin(sender)
        except TooManyRequests as error:
            await self._refuse(error, receive, send)
            return
        try:
            await self._serve(scope, sender, receive, send)
        except PinotAdminError as error:  # of a body
            await self._refuse(error, receive, send)
        finally:
            if sender is not None:
                self._turns.end(sender)

    async def _serve(self, scope: dict[str, Any], sender: bytes | None, receive: Receive, send: Send) -> None:
        length, most = body_gate.body_length(scope), body_gate.SMALL
        is_direct = length is not None and fast_path.has_route(scope)
        if length is None or length > (most if is_direct else 0):
            verdict = await self._on_thread(self._judge, scope)
            if verdict.refusal is not None:
                await refuse(verdict.refusal, receive, send)
                return
            most = verdict.most
        held: Reservation | None = None
        try:
            if is_direct:
                content = await read_small(receive)
                answer = await self._on_thread(self._respond_directly, scope, content)
                if answer is not None:
                    await self._send_directly(answer, receive, send)
                    return
                body: IO[bytes] = io.BytesIO(content)
            else:
                body, held = await self._bodies.read(receive, length, most, sender)
        except RequestAborted:
            return
        try:
            await self._answer(scope, body, receive, send)
        finally:
            if held is not None:
                held.close()

    async def _send_directly(self, answer: fast_path.Answer, receive: Receive, send: Send) -> None:
        """Pieces are only made while there is somebody who takes them."""
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        if answer.pieces is None:
            await send({"type": "http.response.body", "body": answer.body})
            return
        leaving = asyncio.ensure_future(receive())  # the body is read: what comes next is that the client has left
        try:
            while not leaving.done() and (piece := await self._on_thread(next, answer.pieces, None)) is not None:
                async with asyncio.timeout(STALLED_S):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body"})
        finally:
            leaving.cancel()
            await self._on_thread(answer.close)

    async def _on_thread(self, work: Callable[..., _T], *args: Any) -> _T:
        run = contextvars.copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._pool, run, work, *args)

    async def _answer(self, scope: dict[str, Any], body: IO[bytes], receive: Receive, send: Send) -> None:
        """Django's way."""
        response = await self._on_thread(self._respond, scope, body)
        if not response.streaming:
            await self.send_response(response, send)
            return

        async def send_in_time(message: Any) -> None:
            async with asyncio.timeout(STALLED_S):
                await send(message)

        try:
            async with ThreadSensitiveContext():
                await self._stream(response, receive, send_in_time)
        finally:
            await self._on_thread(self._finish, response, body)

    def _judge(self, scope: dict[str, Any]) -> body_gate.Verdict:
        """Runs on the pool, as views do."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        try:
            return body_gate.judge(scope)
        finally:
            signals.request_finished.send(sender=self.__class__)

    async def _refuse(self, error: PinotAdminError, receive: Receive, send: Send) -> None:
        await refuse(body_gate.encoded(error), receive, send)

    def _respond_directly(self, scope: dict[str, Any], body: bytes) -> fast_path.Answer | None:
        """Runs on the pool; the signals open and close the thread's database connection."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        try:
            return fast_path.answer(scope, body)
        finally:
            signals.request_finished.send(sender=self.__class__)

    def _respond(self, scope: dict[str, Any], body: Any) -> HttpResponseBase:
        """Runs on the pool: the signals, the request, the view; and all that follows it unless the
        answer is a stream.
        """
        begin_new()  # Django logs what was answered after the last middleware
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        path = str(scope["path"])
        request, refusal = self.create_request(with_prefix(scope), body)
        response: HttpResponseBase = (
            with_headers(refusal, path) if refusal is not None else self.get_response(request)  # type: ignore[arg-type]  # one is None
        )
        if request is not None and request.resolver_match is not None:
            traces.rename(str(request.method), request.resolver_match.route)
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # as Django's own method does
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            self._finish(response, body)
        return response

    def create_request(
        self, scope: Mapping[str, Any], body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        """As Django's. A body that comes in chunks, as files of Pinot's Java clients do, names no length and would
        count as empty.
        """
        headers = scope.get("headers", ())
        length = body_file.seek(0, os.SEEK_END)
        body_file.seek(0)
        if length and not any(name == b"content-length" for name, _ in headers):
            scope = {**scope, "headers": [*headers, (b"content-length", str(length).encode())]}
        return super().create_request(scope, body_file)

    def _finish(self, response: HttpResponseBase, body: Any) -> None:
        """Also sends the signal that ends the request, on a thread that has its database connection."""
        try:
            response.close()
        finally:
            body.close()

    async def _stream(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        """Send until the end or until the client has left."""
        sending = asyncio.create_task(self.send_response(response, send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            results = await asyncio.gather(sending, leaving, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, RequestAborted):
                raise result


def _traced(scope: Mapping[str, Any], asked: str) -> AbstractContextManager[Any]:
    """Files and probes are not worth a trace, and servers ask all the time whether they may commit."""
    if not traces.is_on():
        return nullcontext()
    parent = next((value.decode("latin-1") for name, value in scope["headers"] if name == _TRACE), None)
    is_routine = asked in ("static", "completion") or str(scope["path"]).startswith(("/health", "/metrics"))
    return traces.received(f"{scope['method']} {asked}", parent, may_begin=not is_routine)
