"""Pinot's own paths of a real Pinot for which we have no use case: the request goes on to its controller, the answer
comes back as it is.

Only secrets of configs are masked in it.

Our credentials never go along, the cluster's never come back, redirects are not followed, what changes something is on
the audit record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView
from segments.api.permissions import Right
from segments.clusters.pinot import tables as pinot_tables
from segments.clusters.pinot.calls import controller
from segments.domain.pinot.answers import OF_FILES, kept_body, masked_answer, may_hold_config
from segments.domain.pinot.forwarded_paths import Needed, check_path, needed, quoted_path
from segments.errors import InvalidInput, NotFound, PayloadTooLarge, PinotAdminError
from segments.gateways.pinot import PinotController, PinotReply
from segments.names import OFFLINE, REALTIME, TABLE_TYPES, TableName, parse_table_type, split_table_name
from segments.services.access.read_rights import readable, reads_all
from segments.services.core import audit
from segments.services.core.streaming import in_threads
from segments.services.tables import schemas, tables

_READS: Final = ("GET", "HEAD", "OPTIONS")
#: Headers that go on to Pinot, besides those that begin with ``pinot-``. All else stays here: credentials, cookies,
#: hosts.
_SENT: Final = frozenset(
    ("content-type", "accept", "if-match", "if-none-match", "database", "upload-type", "download-uri", "crypter")
)
#: Headers that come back. The length does not where the body was unpacked on the way.
_RETURNED: Final = frozenset(("content-type", "content-disposition", "etag", "last-modified"))
#: Sent with underscores, as Pinot's clients do; Django knows them with dashes only.
_UNDERSCORED: Final = {"upload-type": "UPLOAD_TYPE", "download-uri": "DOWNLOAD_URI"}
#: Paths whose answers are names of tables and schemas.
_LISTS: Final = ("tables", "schemas")
_CHUNK: Final = 1 << 20
#: The largest answer that may hold secrets, in bytes: it is read whole and masked.
_MASKED: Final = 8 << 20
_MULTIPART: Final = "multipart/form-data"
#: A page of Pinot's must not run scripts under our address.
_POLICY: Final = "sandbox; default-src 'none'"


class PassThrough(ApiView):
    """Any other path of a cluster of kind pinot. 404 for the installation's own cluster, which answers all it has by
    itself.
    """

    schema = None  # type: ignore[assignment]  # as the framework documents it: not in the OpenAPI document
    on_pinot = frozenset(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"))

    @property
    def largest_body(self) -> int:
        """A segment's tar, say."""
        return int(settings.MAX_UPLOAD_BYTES)

    def needs(self, request: Request) -> tuple[Right | None, str | None]:
        """The right by method and path."""
        if "path" not in self.kwargs or not _is_sound(self.kwargs["path"]):
            return "administer", None
        found: Needed = needed(str(request.method), check_path(self.kwargs["path"]), set(request.query_params))
        return found.right, _in_database(found.table, request)

    @property
    def reading(self) -> str:  # type: ignore[override]  # it depends on the path
        """Lists of names are filtered; for everything else the right to the path's table is needed."""
        return "filtered" if self.request.method in _READS and self.kwargs.get("path") in _LISTS else "table"

    def get(self, request: Request, path: str) -> HttpResponseBase:
        """Pinot's answer; of lists of names those that the asker may read."""
        if path in _LISTS and not reads_all(request.user) and self.ctx.engine.offers.pass_through:
            return self._listed(request, path)
        return self._pass(request, path)

    def head(self, request: Request, path: str) -> HttpResponseBase:
        """Pinot's answer without its body."""
        return self._pass(request, path)

    def post(self, request: Request, path: str) -> HttpResponseBase:
        """Pinot's answer; on the audit record."""
        return self._pass(request, path)

    def put(self, request: Request, path: str) -> HttpResponseBase:
        """Pinot's answer; on the audit record."""
        return self._pass(request, path)

    def patch(self, request: Request, path: str) -> HttpResponseBase:
        """Pinot's answer; on the audit record."""
        return self._pass(request, path)

    def delete(self, request: Request, path: str) -> HttpResponseBase:
        """Pinot's answer; on the audit record."""
        return self._pass(request, path)

    def _pass(self, request: Request, path: str) -> HttpResponseBase:
        if not self.ctx.engine.offers.pass_through:
            raise NotFound(
                f"There is nothing at /{path[:300]} of cluster '{self.ctx.cluster}'.", remedy="See /api/docs/."
            )
        parts = check_path(path)
        target = quoted_path(parts)
        if needed(str(request.method), parts, set(request.query_params)).right == "read":
            return self._exchange(request, controller(self.ctx), parts)
        action = f"pinot {request.method}"
        try:
            answer = self._exchange(request, controller(self.ctx), parts)
        except PinotAdminError as error:
            outcome = "refused" if error.permanent else "failed"
            audit.record(
                self.actor, action, cluster=self.ctx.cluster, target=target[:600], outcome=outcome, error=str(error)
            )
            raise
        outcome = "done" if answer.status_code < HTTPStatus.BAD_REQUEST else "refused"
        detail = {"status": answer.status_code, "parameters": sorted(request.query_params)}
        audit.record(self.actor, action, cluster=self.ctx.cluster, target=target[:600], outcome=outcome, **detail)
        return answer

    def _exchange(self, request: Request, pinot: PinotController, parts: list[str]) -> HttpResponseBase:
        params = [(key, value) for key, values in request.query_params.lists() for value in values]
        held, target = ExitStack(), quoted_path(parts)
        try:
            body, headers = _body(request, parts, self.ctx.limits.upload_bytes)
            if isinstance(body, bytes) and body:
                body = kept_body(parts, body, self._stored)
                headers = {**headers, "Content-Length": str(len(body))}
            reply = held.enter_context(pinot.stream(str(request.method), target, params, body, headers=headers))
            return _answer(request, reply, held, parts)
        except BaseException:
            held.close()
            raise

    def _listed(self, request: Request, path: str) -> HttpResponseBase:
        may_read = readable(request.user, self.cluster_name)
        if path == "schemas":
            return Response([name for name in schemas.list_schemas(self.ctx) if may_read(name)])
        typed = [t for kind in TABLE_TYPES for t in tables.list_tables(self.ctx, kind) if may_read(t)]
        kind = parse_table_type(request.query_params.get("type"))
        names = (
            [t for t in typed if t.endswith(f"_{kind}")] if kind else sorted({split_table_name(t)[0] for t in typed})
        )
        return Response({"tables": names})

    def _stored(self, raw: str, kind: str) -> dict[str, Any] | None:
        return pinot_tables.read_config(self.ctx, TableName(raw, OFFLINE if kind == OFFLINE else REALTIME))


def _in_database(table: str | None, request: Request) -> str | None:
    """The table that Pinot takes a name for: header or parameter ``Database`` puts it into another database
    (``sales.orders``).
    """
    database = (request.headers.get("Database") or request.query_params.get("database") or "").strip()
    return (
        f"{database}.{table}" if table is not None and database not in ("", "default") and "." not in table else table
    )


def _is_sound(path: str) -> bool:
    try:
        check_path(path)
    except PinotAdminError:
        return False
    return True


def _body(request: Request, parts: list[str], most: int) -> tuple[bytes | Iterator[bytes] | None, dict[str, str]]:
    """What goes on, and the few headers that mean something to Pinot. Files go piece by piece; all else is read whole,
    since secrets that it has masked are to be put in.
    """
    headers = {
        _UNDERSCORED.get(k, k): v
        for name, v in request.headers.items()
        if (k := name.lower()) in _SENT or k.startswith("pinot-")
    }
    if request.method in _READS:
        headers.pop("content-type", None)
        return None, headers
    http = request._request
    if http._read_started and not hasattr(http, "_body"):  # type: ignore[attr-defined]  # Django's own mark
        raise InvalidInput("A form with files cannot be passed on from a browser's session.", remedy="Use HTTP Basic.")
    length = request.headers.get("Content-Length", "")
    if parts[0] not in OF_FILES:
        return b"".join(_pieces(http, min(most, settings.MAX_BODY_BYTES))), headers
    if length.isdecimal():
        if int(length) > most:
            raise PayloadTooLarge(
                f"{int(length):,} bytes are too many to be passed on.", remedy=f"Send at most {most:,}."
            )
        headers["Content-Length"] = length
    return _pieces(http, most), headers


def _pieces(source: Any, most: int) -> Iterator[bytes]:
    count = 0
    while piece := source.read(_CHUNK):
        count += len(piece)
        if count > most:
            raise PayloadTooLarge("The body is too large to be passed on.", remedy=f"Send at most {most:,} bytes.")
        yield piece


def _answer(request: Request, reply: PinotReply, held: ExitStack, parts: list[str]) -> HttpResponseBase:
    """Small answers whole, secrets masked; larger ones, which hold none, piece by piece while the connection is held.

    PayloadTooLarge for one that may hold secrets and is too large to be masked.
    """
    source = iter(reply.body) if request.method != "HEAD" else iter(())
    kind = next((v for k, v in reply.headers.items() if k.lower() == "content-type"), "application/json").lower()
    may_hold = may_hold_config(parts) and not kind.startswith(("application/octet-stream", "application/gzip"))
    whole = _MASKED if may_hold else _CHUNK
    first, size = [], 0
    for piece in source:
        first.append(piece)
        size += len(piece)
        if size > whole:
            break
    answer: HttpResponseBase
    if size > whole and may_hold:
        raise PayloadTooLarge(
            f"Pinot's answer has more than {whole:,} bytes; it is not passed on unread.", remedy="Ask for less."
        )
    if size <= whole:
        held.close()
        answer = HttpResponse(masked_answer(b"".join(first)), status=reply.status)
    else:
        pieces = _rest(first, source, held)
        answer = StreamingHttpResponse(
            in_threads(pieces) if isinstance(request._request, ASGIRequest) else pieces, status=reply.status
        )
    return _with_headers(answer, reply.headers)


def _rest(first: list[bytes], source: Iterator[bytes], held: ExitStack) -> Iterator[bytes]:
    with held:
        yield from first
        yield from source


def _with_headers(answer: HttpResponseBase, headers: Mapping[str, str]) -> HttpResponseBase:
    answer["Content-Type"] = "application/json"
    for name, value in headers.items():
        if name.lower() in _RETURNED:
            answer[name.title()] = value
    answer["Content-Security-Policy"] = _POLICY
    return answer
