"""ASGI entry point of the web process: Django, plus the broker's life from start-up to shutdown."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import django
from django.conf import settings

from segments.processes.interpreter import collect_seldom, load_undisturbed, take_short_turns

load_undisturbed()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
django.setup(set_prefix=False)

from pinotadmin.configuration.path_prefix import check_prefix, without_prefix  # noqa: E402  (needs Django set up)
from pinotadmin.handler import ThreadedHandler  # noqa: E402  (needs Django set up)
from segments import traces, wiring  # noqa: E402  (needs Django set up)
from segments.answer_headers import DATA_HEADERS  # noqa: E402  (needs Django set up)
from segments.services.core.page_addresses import address_of  # noqa: E402  (needs Django set up)

Message = MutableMapping[str, Any]
check_prefix()
# Before the port opens: the first request would otherwise load every page and the API.
importlib.import_module(settings.ROOT_URLCONF)
_django = ThreadedHandler()
_LIVENESS = "/health/liveness"
_PROBED = ("/health", "/health/readiness")
_ALIVE = [
    (b"content-type", b"text/plain"),
    (b"content-length", b"2"),
    *((name.lower().encode(), value.encode()) for name, value in DATA_HEADERS.items()),
]


async def application(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Mapping[str, Any]], Awaitable[None]]
) -> None:
    """Serve one connection or the life cycle."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    scope = without_prefix(dict(scope))
    if scope["type"] == "http" and not scope["path"]:
        await _to_start_page(send)
    elif scope["type"] == "http" and scope["path"] == _LIVENESS and scope["method"] == "GET":
        await _say_alive(send)
    elif scope["type"] == "http" and scope["path"] in _PROBED:
        await _django(_probed(scope), receive, send)
    else:
        await _django(scope, receive, send)


def _probed(scope: Message) -> dict[str, Any]:
    """A kubelet, or a load balancer, asks by an address that nobody can list before: the answer depends on no name."""
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {**scope, "headers": [*others, (b"host", b"localhost")]}


async def _say_alive(send: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
    """On the event loop: also while every thread waits for replicas, say, the process is not a dead one."""
    await send({"type": "http.response.start", "status": 200, "headers": _ALIVE})
    await send({"type": "http.response.body", "body": b"OK"})


async def _to_start_page(send: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
    """The prefix alone, without the slash that every link is relative to."""
    headers = [*_ALIVE[2:], (b"location", address_of("/").encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 308, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _lifespan(
    receive: Callable[[], Awaitable[Message]], send: Callable[[Mapping[str, Any]], Awaitable[None]]
) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            try:
                await asyncio.to_thread(wiring.start_broker)
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": f"The broker could not start: {error}"})
                raise
            traces.begin("web", settings.TRACES)
            take_short_turns()
            collect_seldom()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await asyncio.to_thread(wiring.close)
            await asyncio.to_thread(traces.end)
            await send({"type": "lifespan.shutdown.complete"})
            return
