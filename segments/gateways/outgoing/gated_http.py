"""GET and POST of an address that a user's text names: through the gate at every step, redirects counted, the whole
bounded in time.

``http.client`` rather than a bigger library: it is given the very socket that the gate made.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final
from urllib.parse import SplitResult, urljoin

import httpx

from segments.domain.access.outgoing import HTTP, Place, Rules, parse_url, split_url
from segments.errors import InvalidInput, Unavailable
from segments.gateways.outgoing.gate import allowed_addresses, connect_to, silent

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MAX_REDIRECTS: Final = 5
#: Seconds for a connection, and between two pieces of an answer.
_CONNECT_S: Final = 10.0
_SILENCE_S: Final = 60.0
_PIECE: Final = 1 << 16
#: What a server may go wrong with between the first byte and the last.
_FAULTS: Final = (http.client.HTTPException, OSError, ValueError)


class Answer:
    """A final answer: ``status``, and its body by ``pieces``."""

    def __init__(self, place: Place, rules: Rules, deadline: float, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.location = response.headers.get("location") if response.status in _REDIRECTS else None
        self._place, self._rules, self._deadline, self._response = place, rules, deadline, response

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes. Raises Unavailable when it breaks off or time is up."""
        while True:
            with _reported(self._place, self._rules, self._deadline):
                piece = self._response.read1(_PIECE)
                if not piece and self._response.length:
                    raise http.client.IncompleteRead(b"", self._response.length)
            if not piece:
                return
            yield piece


def check_url(url: str, rules: Rules) -> Place:
    """May this be asked? Resolves the name, connects nowhere. Raises InvalidInput."""
    place = parse_url(url, rules.kind, HTTP)
    allowed_addresses(place, rules)
    return place


@contextlib.contextmanager
def gated_get(
    url: str,
    rules: Rules,
    *,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    redirects: int = _MAX_REDIRECTS,
) -> Iterator[Answer]:
    """The answer to a GET, redirects followed; ``timeout_s`` bounds all of it, reading the body too. ``headers`` go to
    the first host only.

    Raises InvalidInput for an address that no rule allows, the first or one that a redirect names, and Unavailable,
    also for what goes wrong while the body is read.
    """
    deadline, at = time.monotonic() + timeout_s, url
    for hop in range(redirects + 1):
        with _hop(at, url, rules, deadline, headers if hop == 0 else None) as answer:
            if answer.location is None or redirects == 0:
                yield answer
                return
        at = _joined(at, answer.location, url)
    raise InvalidInput(f"'{url}' redirects more than {redirects} times.", remedy="Give the final address.")


def gated_post(url: str, rules: Rules, body: bytes, *, headers: Mapping[str, str], timeout_s: float) -> int:
    """The status of the answer to a POST. Redirects are not followed, and of the answer's body nothing is read.

    Raises InvalidInput for an address that no rule allows, and Unavailable.
    """
    with _hop(url, url, rules, time.monotonic() + timeout_s, headers, body) as answer:
        return answer.status


def _joined(at: str, target: str, asked: str) -> str:
    try:
        return urljoin(at, target)
    except ValueError as error:
        raise _forbidden_redirect(asked) from error


def _forbidden_redirect(asked: str) -> InvalidInput:
    """The other side wrote the new address: it is not repeated."""
    return InvalidInput(
        f"'{asked}' redirects to an address that nothing configured allows.", remedy="Give the final address."
    )


@contextlib.contextmanager
def _hop(
    url: str, asked: str, rules: Rules, deadline: float, headers: Mapping[str, str] | None, body: bytes | None = None
) -> Iterator[Answer]:
    try:
        place = parse_url(url, rules.kind, HTTP)
        addresses = allowed_addresses(place, rules)
    except InvalidInput as error:
        if url == asked:
            raise
        raise _forbidden_redirect(asked) from error
    link = connect_to(place, addresses, rules, min(_CONNECT_S, max(0.1, deadline - time.monotonic())))
    with contextlib.ExitStack() as opened:
        with _reported(place, rules, deadline):
            link = opened.enter_context(_secured(link, place))
            clock = threading.Timer(max(0.1, deadline - time.monotonic()), _cut, (link,))
            clock.daemon = True
            clock.start()
            opened.callback(clock.cancel)
            response = opened.enter_context(
                contextlib.closing(_asked(link, split_url(url, rules.kind), place, headers or {}, body))
            )
        yield Answer(place, rules, deadline, response)


def _secured(link: socket.socket, place: Place) -> socket.socket:
    """The gate's socket, with TLS before the handshake if the address asks for it; the certificate is checked against
    the host's name.
    """
    link.settimeout(_SILENCE_S)
    if place.scheme != "https":
        return link
    return _tls().wrap_socket(link, server_hostname=place.host, do_handshake_on_connect=False)


def _asked(
    link: socket.socket, parts: SplitResult, place: Place, headers: Mapping[str, str], body: bytes | None
) -> http.client.HTTPResponse:
    """The answer to a GET, with a body to a POST, up to its headers."""
    if isinstance(link, ssl.SSLSocket):
        link.do_handshake()
    connection = http.client.HTTPConnection(place.host, place.port)
    connection.sock = link
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    method = "GET" if body is None else "POST"
    connection.request(method, path, body, {"Host": parts.netloc, "Accept-Encoding": "identity", **headers})
    return connection.getresponse()


@cache
def _tls() -> ssl.SSLContext:
    """One for all: reading the machine's certificates takes ten milliseconds of computing."""
    return httpx.create_ssl_context(trust_env=False)


def _cut(link: socket.socket) -> None:
    """Time is up: whoever reads from it is woken. A server that sends a byte now and then would keep it
    open for ever.
    """
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def _reported(place: Place, rules: Rules, deadline: float) -> Iterator[None]:
    """What goes wrong on the way -> Unavailable, in the same words whatever it was."""
    try:
        yield
    except _FAULTS as error:
        if time.monotonic() < deadline:
            raise silent(place, rules, f"{type(error).__name__}: {error}") from error
    if time.monotonic() >= deadline:
        raise Unavailable(
            f"The {rules.kind.noun} at {place.host}:{place.port} took too long.", remedy="Try again later."
        )
