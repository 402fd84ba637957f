"""What every route of a server's port passes first: credentials, then the size of the body; and the form of refusals
and answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from segments import traces
from segments.dataplane.server.http.authorization import Asked, Authorization, Caller
from segments.dataplane.server.http.routes import ServerRoute
from segments.domain.access.browser_request import is_browser, is_foreign
from segments.domain.access.cluster_signature import ANSWER_HEADER, digest_of
from segments.domain.formats.bounded_json import parse_json
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.errors import Forbidden, InvalidInput, NotAuthenticated, PayloadTooLarge, PinotAdminError
from segments.names import REALTIME
from segments.request_ids import HEADER, request_of

log = logging.getLogger(__name__)

#: Bytes; hashing larger bodies would keep the event loop.
_LARGE: Final = 1 << 20


#: Seconds without a byte after which a body is given up.
_IDLE_S: Final = 30.0


class _TooSlow(PayloadTooLarge):
    """The body comes in too slowly to wait for."""

    status = 408


@dataclass(frozen=True)
class Admitted:
    """A request that may be answered, with its whole body."""

    request: Request
    caller: Caller
    body: bytes

    @property
    def table(self) -> str:
        """The table of the path."""
        return str(self.request.path_params["table"])

    @property
    def segment(self) -> str:
        """The segment of the path."""
        return str(self.request.path_params["segment"])

    def document(self) -> dict[str, Any]:
        """The JSON object of the body. InvalidInput."""
        found = parse_json(self.body, what="The request")
        if not isinstance(found, dict):
            raise InvalidInput("The request is not a JSON object.")
        return found


Endpoint = Callable[[Admitted], Awaitable[Response]]


def guarded(
    route: ServerRoute, endpoint: Endpoint, authorization: Authorization, pool: Executor
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint behind its checks. Nothing of a body is read before the credentials are right."""

    name = f"{route.method} {route.path}"

    async def answer(request: Request) -> Response:
        parent = request.headers.get(traces.HEADER)
        with request_of(request.headers.get(HEADER)) as request_id, traces.received(name, parent, may_begin=False):
            response = await answer_one(request)
        response.headers[HEADER] = request_id
        return response

    async def answer_one(request: Request) -> Response:
        caller = Caller()
        try:
            caller = await _admit(route, request, authorization, pool)
            body = await _read(request, route.max_body)
            if caller.call is not None:
                caller.call.check_body(await _digest(body))
            response = await endpoint(Admitted(request, caller, body))
        except PinotAdminError as error:
            response = _refusal(request, error)
        except Exception:
            log.exception("%s failed", request.scope["path"])
            response = JSONResponse({"message": "The server failed; its log says why.", "status": 500}, 500)
        return await _signed(caller, response)

    return answer


async def _admit(route: ServerRoute, request: Request, authorization: Authorization, pool: Executor) -> Caller:
    _check_origin(request)
    asked = Asked(
        request.headers.get("authorization", ""),
        request.client.host if request.client else "",
        request.method,
        request.scope["path"],
    )
    admit = partial(authorization.admit, route, asked, _target(request), _table_of(request.path_params))
    if not authorization.needs_thread(route, asked):
        return admit()
    return await asyncio.get_running_loop().run_in_executor(pool, admit)


def _check_origin(request: Request) -> None:
    """Forbidden for what a page of another origin makes a browser send with credentials that it remembers."""
    given = request.headers
    if given.get("authorization", "")[:6].lower() != "basic ":
        return
    own = f"{request.url.scheme}://{given.get('host', '')}"
    if is_foreign(given.get("sec-fetch-site", ""), given.get("origin", ""), own):
        raise Forbidden(
            "A page of another site started this request.", remedy="Ask without a browser, or send an API token."
        )


def _table_of(names: Mapping[str, Any]) -> str | None:
    """The table of the path, else the one that a consumed segment's name says; None: neither."""
    segment = str(names.get("segment", ""))
    if "table" in names or not is_llc_name(segment):
        return names.get("table")
    return f"{parse_llc_name(segment).raw}_{REALTIME}"


def _target(request: Request) -> str:
    """Path and query as on the request line."""
    path, query = str(request.scope["raw_path"], "latin-1"), str(request.scope["query_string"], "latin-1")
    return f"{path}?{query}" if query else path


async def _read(request: Request, most: int) -> bytes:
    """The whole body. PayloadTooLarge as soon as it is known to have more than ``most`` bytes."""
    length = request.headers.get("content-length", "0")
    if length == "0" and "transfer-encoding" not in request.headers:
        return b""
    if length.isdecimal() and int(length) > most:
        raise _too_large(most)
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        try:
            async with asyncio.timeout(_IDLE_S):
                message = await request.receive()
        except TimeoutError as error:
            raise _TooSlow("The body came in too slowly.", remedy="Send it again over a quicker connection.") from error
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece, more = message.get("body", b""), message.get("more_body", False)
        size += len(piece)
        if size > most:
            raise _too_large(most)
        pieces.append(piece)
    return b"".join(pieces)


async def _digest(body: bytes) -> str:
    return digest_of(body) if len(body) <= _LARGE else await asyncio.to_thread(digest_of, body)


def _too_large(most: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body of this request may have {most} bytes.", remedy="Ask for less at once.")


def _refusal(request: Request, error: PinotAdminError) -> Response:
    headers = {}
    if isinstance(error, NotAuthenticated) and not is_browser(
        request.headers.get("user-agent", ""), request.headers.get("sec-fetch-mode", "")
    ):  # which would remember the password, and send it along for every page
        headers["WWW-Authenticate"] = 'Basic realm="pinotadmin"'
    if "retry_after_s" in error.data:
        headers["Retry-After"] = str(error.data["retry_after_s"])
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        headers["Connection"] = "close"  # what is left of the body is not read
    return JSONResponse({"message": str(error), "status": error.status}, error.status, headers=headers)


async def _signed(caller: Caller, response: Response) -> Response:
    """An answer to a process of the cluster proves where it comes from; one that is made while it is sent does so at
    its end, if at all.
    """
    body = getattr(response, "body", None)
    if caller.call is not None and body is not None:
        response.headers[ANSWER_HEADER] = caller.call.sign_answer(response.status_code, await _digest(bytes(body)))
    return response
