"""Django's ASGI handler with the whole request, signals and middleware included, on one thread of a lasting pool, and the short way
of ``segments.api.direct`` beside it.

Django itself moves between event loop and threads for every synchronous middleware and for its signals, and makes a new thread, and so
a new database connection, per request: 7 ms of a request that does nothing. ``bench/lineage.py`` prints what is left.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, Final

from asgiref.sync import ThreadSensitiveContext
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from segments.api import direct

#: Requests at work at once; one may wait minutes for replicas (end of a replacement), so there are many more than cores.
WORKERS: Final = 64

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class ThreadedHandler(ASGIHandler):
    """Serves synchronous views. Streaming, disconnects and limits are as in Django's own handler."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="request")

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request. A view goes on when its client leaves; only a stream is cut then."""
        loop = asyncio.get_running_loop()
        run = contextvars.copy_context().run
        if direct.has_route(scope):
            content = await _whole_body(receive)
            if content is None:
                return
            answer = await loop.run_in_executor(self._pool, run, self._respond_directly, scope, content)
            if answer is not None:
                await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
                await send({"type": "http.response.body", "body": answer.body})
                return
            receive = _again(content, receive)
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        response = await loop.run_in_executor(self._pool, run, self._respond, scope, body)
        if not response.streaming:
            await self.send_response(response, send)
            return
        try:
            async with ThreadSensitiveContext():
                await self._stream(response, receive, send)
        finally:
            await loop.run_in_executor(self._pool, run, self._finish, response, body)

    def _respond_directly(self, scope: dict[str, Any], body: bytes) -> direct.Answer | None:
        """Runs on the pool; the signals look after the thread's database connection."""
        signals.request_started.send(sender=self.__class__, scope=scope)
        try:
            return direct.answer(scope, body)
        finally:
            signals.request_finished.send(sender=self.__class__)

    def _respond(self, scope: dict[str, Any], body: Any) -> HttpResponseBase:
        """Runs on the pool: the signals, the request, the view; and all that follows it unless the answer is a stream."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: HttpResponseBase = refusal if request is None else self.get_response(request)  # type: ignore[assignment]  # one is None
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # as Django's own method does
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            self._finish(response, body)
        return response

    def create_request(self, scope: Mapping[str, Any], body_file: IO[bytes]) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        """As Django's. A body that comes in chunks, as files of Pinot's Java clients do, names no length and would count as empty."""
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


async def _whole_body(receive: Receive) -> bytes | None:
    """All of it; None when the client left."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(content: bytes, then: Receive) -> Receive:
    """The body once more, for a request that does go Django's way; then what the server tells."""
    bodies = [content]

    async def receive() -> Any:
        return {"type": "http.request", "body": bodies.pop(), "more_body": False} if bodies else await then()

    return receive
