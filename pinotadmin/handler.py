"""Django's ASGI handler with the whole request, middleware included, on one thread of a lasting pool.

Django itself moves between event loop and threads for every synchronous middleware and makes a new thread, and so a new database
connection, per request: 5 ms of a request that does nothing. ``bench/lineage.py`` prints what is left.
"""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import close_old_connections
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase

#: Requests at work at once; one may wait minutes for replicas (end of a replacement), so there are many more than cores.
WORKERS: Final = 64


class ThreadedHandler(ASGIHandler):
    """Serves synchronous views. Streaming, disconnects and limits are as in Django's own handler."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="request")

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        """The response, made on a thread of the pool."""
        run = contextvars.copy_context().run
        response = await asyncio.get_running_loop().run_in_executor(self._pool, run, self._respond, request)
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # as Django's own method does
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        return response

    def _respond(self, request: HttpRequest) -> HttpResponseBase:
        close_old_connections()
        try:
            return self.get_response(request)
        finally:
            close_old_connections()
