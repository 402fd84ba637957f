"""HTTP to the embedded servers: queries, sizes and checksums, over connections that stay open.

``http.client`` opens them, ``server_exchange`` uses them: a query is one small request per server, and what a library
adds per request is most of what it costs. A server that stays silent is asked on a second connection whether it is
alive, so that a frozen process does not hold a query for its whole time (rule `another-replica-at-once`).
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote, urlsplit

import msgspec

from segments import traces
from segments.domain.access.cluster_signature import ANSWER_HEADER, digest_of
from segments.domain.segments import column_profile
from segments.domain.segments.column_profile import ColumnProfile
from segments.errors import NotAuthenticated, NotFound, PinotAdminError, Rejected, Unavailable
from segments.gateways.answer_budget import AnswerBudget
from segments.gateways.server_exchange import receive, send
from segments.gateways.signed_calls import CallSigner, SentCall, check_answer
from segments.gateways.tls.trust import Trust
from segments.request_ids import HEADER, current_request

#: Faults of one connection; the server may be fine.
_BROKEN: Final = (
    http.client.RemoteDisconnected,
    http.client.BadStatusLine,
    ConnectionError,
    BrokenPipeError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)
_CONTENT_TYPE: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
_ANSWER: Final = ANSWER_HEADER.lower()


@dataclass(frozen=True)
class QueryReply:
    """A server's part of an answer. ``partial`` is None when it could not take part: it lacks ``missing`` segments, has
    fewer rows than it was asked for of those ``behind``, or does not know the schema of the requested version and wants
    it sent (``needs_schema``).
    """

    partial: bytes | None
    missing: tuple[str, ...] = ()
    needs_schema: bool = False
    behind: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSize:
    """Bytes on a server's disk: in all, and by segment."""

    table: str
    total_bytes: int
    segments: Mapping[str, int]


@dataclass(frozen=True)
class Profile:
    """Columns of the asked segments that this server holds, added up, and the names of those that it does not hold."""

    columns: tuple[ColumnProfile, ...]
    missing: tuple[str, ...]


class Servers(Protocol):
    """What broker and services ask of servers. ``url`` is a server's admin address, without a slash at the end.

    Every call raises Rejected (with ``error_code`` for queries) when the server refuses, and Unavailable when it does
    not answer, whose ``data`` say more: ``is_dead`` (no connection, or broken, or silent even to a liveness probe),
    ``silent``, ``timed_out``.
    """

    def query(
        self,
        url: str,
        request: Mapping[str, Any],
        timeout_s: float,
        *,
        is_patient: bool = False,
        room: AnswerBudget | None = None,
    ) -> QueryReply:
        """POST /query. A patient call waits the whole time for a server that seems frozen. Rejected for more bytes than
        ``room`` has.
        """

    def cancel(self, url: str, query: str, timeout_s: float) -> None:
        """DELETE /query/{query}: end what it does for the query of this ``requestId``, now or when it comes."""

    def is_alive(self, url: str, timeout_s: float) -> bool:
        """Does it answer at all?"""

    def table_size(self, url: str, table: str) -> TableSize:
        """Bytes on disk of a typed table."""

    def segments(self, url: str, table: str) -> list[str]:
        """Names of the segments it holds."""

    def crcs(self, url: str, table: str) -> dict[str, str]:
        """{segment: CRC} of what it holds."""

    def ask(self, url: str, method: str, path: str, timeout_s: float) -> Any:
        """The JSON that a server's admin endpoint answers. The request may be repeated once: it must bear that."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One attempt at a request."""

    url: str
    method: str
    path: str
    body: bytes
    call: SentCall


class HttpServers:
    """``Servers`` over HTTP, signed with the cluster's secret; safe to share between threads.

    An answer that is not signed with it counts as none: Unavailable. NotAuthenticated where a server refuses our
    signature, but for queries, which another replica may answer.

    ``connect_s``: seconds for a connection and for a liveness question; ``silence_s``: seconds of silence before that
    question. ``trust``: whom we believe that speaks TLS.
    """

    def __init__(
        self, secret: str, *, connect_s: float = 2.0, silence_s: float = 1.0, trust: Trust | None = None
    ) -> None:
        self._signer, self._trust = CallSigner(secret), trust or Trust()
        self._connect_s, self._silence_s = connect_s, silence_s
        self._lock = threading.Lock()
        self._idle: dict[str, list[http.client.HTTPConnection]] = defaultdict(list)

    def query(
        self,
        url: str,
        request: Mapping[str, Any],
        timeout_s: float,
        *,
        is_patient: bool = False,
        room: AnswerBudget | None = None,
    ) -> QueryReply:
        """POST /query."""
        try:
            status, body = self._call(
                url, "POST", "/query", msgspec.json.encode(request), timeout_s, is_patient=is_patient, room=room
            )
        except NotAuthenticated as error:  # perhaps it is only this server that has another secret, or is none of ours
            raise Unavailable(str(error), is_dead=True) from error
        if status == http.client.CONFLICT:
            lacks = _document(url, body)
            missing, behind = tuple(lacks.get("missing", ())), tuple(lacks.get("behind", ()))
            return QueryReply(None, missing, bool(lacks.get("needsSchema")), behind)
        _raise_for(url, status, body)
        return QueryReply(body)

    def cancel(self, url: str, query: str, timeout_s: float) -> None:
        """DELETE /query/{query}."""
        self.ask(url, "DELETE", f"/query/{quote(query, safe='')}", timeout_s)

    def is_alive(self, url: str, timeout_s: float) -> bool:
        """GET /health/liveness on a connection of its own."""
        connection = self._connect(url, timeout_s)
        try:
            connection.request("GET", "/health/liveness")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def table_size(self, url: str, table: str) -> TableSize:
        """GET /tables/{table}/size."""
        found = self._get(url, f"/tables/{quote(table, safe='')}/size")
        return TableSize(table, int(found["diskSizeInBytes"]), {str(k): int(v) for k, v in found["segments"].items()})

    def segments(self, url: str, table: str) -> list[str]:
        """GET /tables/{table}/segments."""
        names: Sequence[str] = self._get(url, f"/tables/{quote(table, safe='')}/segments")["segments"]
        return list(names)

    def crcs(self, url: str, table: str) -> dict[str, str]:
        """GET /tables/{table}/segments/crc."""
        return {str(k): str(v) for k, v in self._get(url, f"/tables/{quote(table, safe='')}/segments/crc").items()}

    def errors(self, url: str, table: str) -> dict[str, str]:
        """GET /tables/{table}/errors: {segment: why its last load failed}."""
        return {str(k): str(v) for k, v in self._get(url, f"/tables/{quote(table, safe='')}/errors").items()}

    def profile(self, url: str, table: str, segments: Sequence[str]) -> Profile:
        """POST /tables/{table}/segments/profile: ranges and cardinalities of the columns of these
        segments, added up.
        """
        body = json.dumps({"segments": list(segments)}).encode()
        status, answer = self._call(url, "POST", f"/tables/{quote(table, safe='')}/segments/profile", body, 30.0)
        _raise_for(url, status, answer)
        found = _document(url, answer)
        try:
            return Profile(
                tuple(column_profile.from_json(c) for c in found["columns"]), tuple(map(str, found["missing"]))
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(
                f"Server {url} sent no profile of columns: {error}.", remedy="Check its version.", url=url
            ) from error

    def ask(self, url: str, method: str, path: str, timeout_s: float) -> Any:
        """One request to an admin endpoint, without a body."""
        status, body = self._call(url, method, path, b"", timeout_s)
        _raise_for(url, status, body)
        return _document(url, body)

    def close(self) -> None:
        """Close what is idle."""
        with self._lock:
            idle, self._idle = self._idle, defaultdict(list)
        for connection in (c for connections in idle.values() for c in connections):
            connection.close()

    def _get(self, url: str, path: str, timeout_s: float = 10.0) -> dict[str, Any]:
        status, body = self._call(url, "GET", path, b"", timeout_s)
        _raise_for(url, status, body)
        return _document(url, body)

    def _call(
        self,
        url: str,
        method: str,
        path: str,
        body: bytes,
        timeout_s: float,
        *,
        is_patient: bool = False,
        room: AnswerBudget | None = None,
    ) -> tuple[int, bytes]:
        """One request; repeated once when an idle connection turned out to be closed (our requests only read, or bear
        it).
        """
        room = room or AnswerBudget()
        deadline = time.monotonic() + timeout_s
        while True:
            connection, is_reused = self._take(url)
            try:
                # Signed for each attempt: a server takes a request once.
                asked = _Asked(url, method, path, body, self._signer.sign(method, url, path, digest_of(body)))
                status, content, signature = self._exchange(connection, asked, deadline, is_patient, room)
            except PinotAdminError:
                connection.close()
                raise
            except _BROKEN as error:
                connection.close()
                if not is_reused:
                    raise _dead(f"Server {url} broke the connection: {error}.") from error
                continue
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise _dead(f"Server {url} does not answer: {self._trust.why(error)}.") from error
            if status == http.client.UNAUTHORIZED and not signature:
                raise _not_authenticated(url, content)
            check_answer(asked.call, f"Server {url}", signature, status, content)
            return status, content

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        asked: _Asked,
        deadline: float,
        is_patient: bool,
        room: AnswerBudget,
    ) -> tuple[int, bytes, str | None]:
        """Status, body and signature of the answer."""
        if connection.sock is None:
            connection.connect()
        connection.sock.settimeout(max(0.05, deadline - time.monotonic()))
        heads = {"Authorization": asked.call.header, HEADER: current_request(), **traces.sent(), **_CONTENT_TYPE}
        send(connection.sock, asked.url, asked.method, asked.path, heads, asked.body)
        self._await_reply(connection.sock, asked.url, deadline, is_patient)
        answer = receive(connection.sock, room, deadline)
        if answer.stays_open:
            with self._lock:
                self._idle[asked.url].append(connection)
        else:
            connection.close()
        return answer.status, answer.content, answer.headers.get(_ANSWER)

    def _await_reply(self, sock: socket.socket, url: str, deadline: float, patient: bool) -> None:
        while not _is_readable(sock, min(self._silence_s, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                raise Unavailable(
                    f"Server {url} did not answer in time.", remedy="Ask for less, or allow more time.", timed_out=True
                )
            if not patient and not self.is_alive(url, self._connect_s):
                raise Unavailable(f"Server {url} is silent.", remedy="Check that it runs.", is_dead=True, silent=True)

    def _take(self, url: str) -> tuple[http.client.HTTPConnection, bool]:
        """An idle connection that the server has not closed (the one used last), or a new one."""
        while True:
            with self._lock:
                connection = self._idle[url].pop() if self._idle[url] else None
            if connection is None:
                return self._connect(url, self._connect_s), False
            if connection.sock is not None and not _is_readable(connection.sock, 0.0):
                return connection, True
            connection.close()

    def _connect(self, url: str, timeout_s: float) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        if parts.scheme == "https":
            context = self._trust.context
            return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)


def _is_readable(sock: socket.socket, timeout_s: float) -> bool:
    """``poll``, because ``select`` cannot handle descriptors above 1023."""
    watcher = select.poll()
    watcher.register(sock, select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(watcher.poll(timeout_s * 1000))


def _document(url: str, body: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(body)
    except ValueError as error:
        raise Unavailable(
            f"Server {url} sent no JSON.", remedy="Check that another program has not taken its port.", url=url
        ) from error
    return found


def _dead(text: str) -> Unavailable:
    return Unavailable(text, remedy="Check that it runs.", is_dead=True)


def _not_authenticated(url: str, body: bytes) -> NotAuthenticated:
    try:
        cause = str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        cause = "It says no more."
    return NotAuthenticated(f"Server {url} does not take our signature: {cause[:300]}", url=url)


def _raise_for(url: str, status: int, body: bytes) -> None:
    if status == http.client.OK:
        return
    try:
        found = json.loads(body)
        text, code = str(found.get("message") or found.get("error")), found.get("errorCode")
    except (ValueError, AttributeError):
        text, code = body[:200].decode(errors="replace"), None
    if status >= http.client.INTERNAL_SERVER_ERROR:
        raise Unavailable(f"Server {url} failed: {text}", remedy="See its log.", url=url, error_code=code)
    if status == http.client.NOT_FOUND:
        raise NotFound(text, url=url)
    raise Rejected(text, url=url, error_code=code)
