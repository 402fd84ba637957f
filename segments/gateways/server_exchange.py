"""One request and its answer over an open connection to a server. The request goes out in one piece, which wakes the
server once; the head of a usual answer is read here, because ``http.client`` parses it as that of a mail, which costs
more than all else that a small query does in the broker. What is unusual is left to ``http.client``.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from segments.domain.access.cluster_signature import address_of
from segments.gateways.answer_budget import AnswerBudget

#: Bytes of a head, and of a body that is read along with it; larger ones are read in place.
_MOST_HEAD: Final = 64 << 10
_MOST_BODY: Final = 1 << 20
_PIECE: Final = 64 << 10
_LEAST_S: Final = 0.05
_NO_TARGET: Final = re.compile(r"[\x00-\x20\x7f]")
_STATUS: Final = re.compile(rb"HTTP/1\.1 ([2-5][0-9][0-9])(?: [^\r\n]*)?")
_WITHOUT_BODY: Final = frozenset({204, 304})
_PLAIN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\x00]*")


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
    while (end := data.find(b"\r\n\r\n")) < 0 and len(data) <= _MOST_HEAD:
        data += _more(sock, deadline)
    found = _plain_head(data[:end]) if end >= 0 else None
    if found is None:
        return _by_library(sock, data, room, deadline)
    status, headers, length = found
    room.take(length)
    content = data[end + 4 :]
    while len(content) < length:
        content += _more(sock, deadline)
    stays_open = len(content) == length and "close" not in headers.get("connection", "").lower()
    return Answered(status, headers, content[:length], stays_open)


def _more(sock: socket.socket, deadline: float) -> bytes:
    sock.settimeout(max(_LEAST_S, deadline - time.monotonic()))
    data = sock.recv(_PIECE)
    if not data:
        raise http.client.IncompleteRead(b"")
    return data


def _plain_head(head: bytes) -> tuple[int, dict[str, str], int] | None:
    """Status, headers and bytes of the body, of an HTTP/1.1 answer whose head names its small size; None else."""
    first, *lines = head.split(b"\r\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        return None
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        key = name.decode("latin-1").lower()
        if key in headers or not _PLAIN.fullmatch(line):
            return None
        headers[key] = value.strip(b" \t").decode("latin-1")
    length = headers.get("content-length", "")
    if (
        "transfer-encoding" in headers
        or not length.isdecimal()
        or not length.isascii()
        or int(status[1]) in _WITHOUT_BODY
    ):
        return None
    return (int(status[1]), headers, int(length)) if len(length) < len(str(_MOST_BODY)) else None


def _by_library(sock: socket.socket, read: bytes, room: AnswerBudget, deadline: float) -> Answered:
    """The answer that begins with what was read already."""
    sock.settimeout(max(_LEAST_S, deadline - time.monotonic()))
    response = http.client.HTTPResponse(_Replayed(read, sock))  # type: ignore[arg-type]  # makefile is all it uses
    response.begin()
    content = room.read(response)
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answered(response.status, headers, content, not response.will_close)


class _Replayed(io.RawIOBase):
    """A socket of which something was read: that again, then the rest."""

    def __init__(self, read: bytes, sock: socket.socket) -> None:
        self._read, self._sock = memoryview(read), sock

    def makefile(self, mode: str) -> io.BufferedReader:
        """Its bytes, as ``HTTPResponse`` reads them."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer
        """Bytes of what was read first; none at the end."""
        if not self._read:
            return self._sock.recv_into(into)
        count = min(len(into), len(self._read))
        into[:count], self._read = self._read[:count], self._read[count:]
        return count
