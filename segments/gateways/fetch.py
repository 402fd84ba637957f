"""Download a file over HTTP for a URI push: bounded in size and time, never from addresses that nobody outside may name."""

from __future__ import annotations

import ipaddress
import socket
import time
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx

from segments.errors import InvalidInput, Unavailable

_SCHEMES: Final = ("http", "https")
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MAX_REDIRECTS: Final = 5
_CHUNK: Final = 1 << 20
#: Seconds for a connection, and between two pieces of an answer.
_CONNECT_S: Final = 10.0
_SILENCE_S: Final = 60.0


def fetch(uri: str, target: Path, *, max_bytes: int, timeout_s: float, allow_loopback: bool) -> int:
    """GET ``uri`` into ``target``; returns its bytes.

    Raises InvalidInput for a scheme or address that is not allowed, an answer that is no 200, or too many bytes; Unavailable when
    the host does not answer in time. Redirects are followed, each one checked again.
    """
    deadline = time.monotonic() + timeout_s
    for _ in range(_MAX_REDIRECTS + 1):
        check_address(uri, allow_loopback=allow_loopback)
        moved = _get(uri, target, max_bytes, deadline)
        if moved is None:
            return target.stat().st_size
        uri = urljoin(uri, moved)
    raise InvalidInput(f"'{uri}' redirects more than {_MAX_REDIRECTS} times.", remedy="Give the final address.")


def check_address(uri: str, *, allow_loopback: bool) -> None:
    """Only http and https, never link-local addresses (cloud metadata), loopback only if allowed. Raises InvalidInput."""
    parts = urlsplit(uri)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise InvalidInput(
            f"'{uri}' can not be fetched: only http and https addresses can.", remedy="Upload the file, or serve it over HTTP."
        )
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InvalidInput(f"Host '{parts.hostname}' of '{uri}' is not known.", remedy="Check the address.") from error
    for *_, where in found:
        address = ipaddress.ip_address(str(where[0]).partition("%")[0])
        is_forbidden = address.is_link_local or address.is_multicast or address.is_unspecified
        if is_forbidden or (address.is_loopback and not allow_loopback):
            raise InvalidInput(f"'{uri}' points to {address}, from which nothing is fetched.", remedy="Use an address of a file server.")


def _get(uri: str, target: Path, max_bytes: int, deadline: float) -> str | None:
    """One request. The address to go on with, or None when the file is here."""
    timeout = httpx.Timeout(min(_SILENCE_S, max(0.1, deadline - time.monotonic())), connect=_CONNECT_S)
    try:
        with httpx.stream("GET", uri, timeout=timeout, follow_redirects=False, trust_env=False) as answer:
            if answer.status_code in _REDIRECTS and "location" in answer.headers:
                return str(answer.headers["location"])
            if answer.status_code != httpx.codes.OK:
                raise InvalidInput(f"'{uri}' answers {answer.status_code} instead of the file.", remedy="Check DOWNLOAD_URI.")
            _save(answer, uri, target, max_bytes, deadline)
    except httpx.HTTPError as error:
        raise Unavailable(f"'{uri}' could not be read: {error}.", remedy="Check that the host answers, then try again.") from error
    return None


def _save(answer: httpx.Response, uri: str, target: Path, max_bytes: int, deadline: float) -> None:
    size = 0
    with target.open("wb") as out:
        for chunk in answer.iter_raw(_CHUNK):
            size += len(chunk)
            if size > max_bytes:
                raise InvalidInput(f"'{uri}' is larger than {max_bytes} bytes.", remedy="Split the segment or raise the limit.")
            if time.monotonic() > deadline:
                raise Unavailable(f"'{uri}' took too long.", remedy="Try again, or upload the file.")
            out.write(chunk)
