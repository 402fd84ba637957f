"""One request and its answer over an open connection to a server. The request goes out in one piece, which wakes the
server once; the answer is read by the parser that uvicorn reads requests with, because ``http.client`` parses a head as
that of a mail, which costs more than all else that a small query does in the broker.
"""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpResponseParser

from segments.domain.access.cluster_signature import address_of
from segments.gateways.answer_budget import AnswerBudget

#: A head that is not whole after so many bytes is none.
_MOST_HEAD: Final = 64 << 10
_PIECE: Final = 64 << 10
_LEAST_S: Final = 0.05
_NO_TARGET: Final = re.compile(r"[\x00-\x20\x7f]")


class Answered(NamedTuple):
    """Status, headers by their names in lower case, the whole body, and whether another request may follow."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    stays_open: bool


def send(sock: socket.socket, url: str, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
    """Send the whole request. Raises OSError, and InvalidURL for a target or header that would be more than one."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    if _NO_TARGET.search(target) or not lines.count("\r") == lines.count("\n") == len(headers):
        raise http.client.InvalidURL(f"The address {target!r} or a header holds a blank or a control character.")
    head = f"{method} {target} HTTP/1.1\r\nHost: {address_of(url)}\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    sock.sendall(head.encode("ascii") + body)


def receive(sock: socket.socket, room: AnswerBudget, deadline: float) -> Answered:
    """The answer, of which something has come; ``deadline`` is of ``time.monotonic``.

    Raises as ``room`` when it is too large, ConnectionError when the connection ended before it, OSError and
    HTTPException.
    """
    data = sock.recv(_PIECE)
    if not data:
        raise http.client.RemoteDisconnected("The connection was closed without an answer")
    answer = _Answer(room)
    answer.feed(data)
    while not answer.is_whole:
        sock.settimeout(max(_LEAST_S, deadline - time.monotonic()))
        answer.feed(sock.recv(_PIECE))
    return Answered(answer.status, answer.headers, b"".join(answer.pieces), answer.stays_open)


class _Answer:
    """What has come of an answer; the parser calls the methods that begin with ``on_``."""

    def __init__(self, room: AnswerBudget) -> None:
        self.status, self.is_whole, self.stays_open = 0, False, False
        self.headers: dict[str, str] = {}
        self.pieces: list[bytes] = []
        self._room, self._head_bytes = room, 0
        self._has_head = self._is_counted = False
        self._parser = HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Bytes that came next; none at the end of the connection. What follows a whole answer only means that the
        connection is of no more use. Raises HTTPException for what is no answer, and as the budget does.
        """
        if not data:
            self._end()
            return
        if not self._has_head:
            if self._head_bytes >= _MOST_HEAD:
                raise http.client.LineTooLong("head of the answer")
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserCallbackError as error:
            if not self.is_whole:
                raise error.__context__ or error from None
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self.is_whole:
                raise http.client.BadStatusLine(f"{data[:80]!r}: {error}") from error

    def on_message_begin(self) -> None:
        """Of the answer itself, after one that only says that it will come, or of one that nobody asked for."""
        if self.is_whole:
            self.stays_open = False
            raise http.client.BadStatusLine("a second answer")
        self.headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One line of the head."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1").rstrip(" \t")

    def on_headers_complete(self) -> None:
        """Too large an answer is refused before its body comes."""
        self.status = self._parser.get_status_code()
        self._has_head = self.status >= http.client.OK
        length = self.headers.get("content-length")
        self._is_counted = length is not None
        if length is not None:
            self._room.take(int(length))

    def on_body(self, piece: bytes) -> None:
        """The next bytes of the body."""
        if not self._is_counted:
            self._room.take(len(piece))
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        """The end of the answer, or of one that only says that it will come."""
        self.is_whole = self._has_head
        self.stays_open = self._parser.should_keep_alive()

    def _end(self) -> None:
        """Where no length is named, the body goes to the end of the connection."""
        is_open_ended = not self._is_counted and "transfer-encoding" not in self.headers
        if not (self._has_head and is_open_ended):
            raise http.client.IncompleteRead(b"")
        self.is_whole, self.stays_open = True, False
