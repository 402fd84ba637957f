"""Fetch a file that a client named: only from allowed schemes, hosts and roots, bounded in size and time.

What is checked is what is read: the host is looked up once and exactly that address is connected to, every redirect is checked anew, and a
local file must lie below its root after all links are followed, also once it is open.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import httpx
import pyarrow as pa
import pyarrow.fs as pafs

from segments.errors import InvalidInput, PayloadTooLarge, Unavailable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_HTTP: Final = ("http", "https")
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MAX_REDIRECTS: Final = 5
_CHUNK: Final = 1 << 20
#: Seconds for a connection, and between two pieces of an answer.
_CONNECT_S: Final = 10.0
_SILENCE_S: Final = 60.0
#: IPv6 addresses below this prefix stand for IPv4 ones (RFC 6052).
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class FetchRules:
    """``roots``: below these (``https://files.example/segments``, ``s3://bucket/prefix``, ``file:///data/drop``) files may be read.

    Without any root nothing is read but, where ``loopback`` says so, from this machine's own addresses. Never reached: link-local (a
    cloud's own services), multicast and unspecified addresses.
    """

    roots: Sequence[str] = ()
    loopback: bool = False
    max_bytes: int = 20 * 1024**3
    timeout_s: float = 600.0


@dataclass(frozen=True)
class _Target:
    """Where an http address leads: what was looked up and allowed."""

    uri: str
    parts: SplitResult
    addresses: tuple[Address, ...]

    def urls(self) -> Iterator[str]:
        """The same address with each looked-up number in place of the host's name."""
        path = (self.parts.path or "/") + (f"?{self.parts.query}" if self.parts.query else "")
        for address in self.addresses:
            host = f"[{address}]" if address.version == 6 else str(address)
            yield f"{self.parts.scheme}://{host}:{_port(self.parts)}{path}"

    @property
    def host(self) -> str:
        """The Host header."""
        name = str(self.parts.hostname)
        shown = f"[{name}]" if ":" in name else name
        return shown if self.parts.port is None else f"{shown}:{self.parts.port}"


def fetch(uri: str, target: Path, rules: FetchRules) -> int:
    """Copy what ``uri`` names to ``target``; returns its bytes.

    Raises InvalidInput for what is not allowed, an answer that is no 200, or too many bytes; Unavailable when the host does not answer.
    """
    deadline = time.monotonic() + rules.timeout_s
    if urlsplit(uri).scheme not in _HTTP:
        return _fetch_below_root(uri, target, rules, deadline)
    asked = uri
    for _ in range(_MAX_REDIRECTS + 1):
        moved = _get(_http_target(uri, rules), target, rules, deadline)
        if moved is None:
            return target.stat().st_size
        uri = urljoin(uri, moved)
    raise InvalidInput(f"'{asked}' redirects more than {_MAX_REDIRECTS} times.", remedy="Give the final address.")


def check_address(uri: str, rules: FetchRules) -> None:
    """May a file be read from here? Raises InvalidInput."""
    if urlsplit(uri).scheme in _HTTP:
        _http_target(uri, rules)
    else:
        _root_of(uri, rules)


def _http_target(uri: str, rules: FetchRules) -> _Target:
    parts = _parts(uri)
    if not parts.hostname or parts.username is not None or "\\" in uri:
        raise InvalidInput(f"'{uri}' is no address that a file can be fetched from.", remedy="Give scheme, host and path only.")
    named = bool(rules.roots)
    if named:
        _root_of(uri, rules)
    elif parts.scheme not in _HTTP:
        raise _no_scheme(uri)
    try:
        found = socket.getaddrinfo(parts.hostname, _port(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"Host '{parts.hostname}' of '{uri}' is not known.", remedy="Check the address.") from error
    addresses = tuple(dict.fromkeys(ipaddress.ip_address(str(where[0]).partition("%")[0]) for *_, where in found))
    for address in addresses:
        if not named and not (rules.loopback and address.is_loopback):
            raise _no_scheme(uri)
        if is_forbidden(address, loopback=rules.loopback or named):
            raise InvalidInput(f"'{uri}' points to {address}, from which nothing is fetched.", remedy="Use an address of a file server.")
    return _Target(uri, parts, addresses)


def is_forbidden(address: Address, *, loopback: bool) -> bool:
    """Is this an address that nobody outside may make us call? IPv6 forms of IPv4 addresses count as those."""
    for one in _meanings(address):
        if one.is_link_local or one.is_multicast or one.is_unspecified or (one.version == 4 and one.is_reserved):
            return True
        if one.is_loopback and not loopback:
            return True
    return False


def _meanings(address: Address) -> list[Address]:
    found: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        found += [a for a in (address.ipv4_mapped, address.sixtofour) if a is not None]
        found += list(address.teredo or ())
        if address in _NAT64:
            found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return found


def _parts(uri: str) -> SplitResult:
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError as error:
        raise InvalidInput(f"'{uri}' is no address: {error}.") from error
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _root_of(uri: str, rules: FetchRules) -> str:
    """The configured root that the address lies below. Raises InvalidInput."""
    parts = _parts(uri)
    if ".." in unquote(parts.path).split("/") or "\x00" in unquote(parts.path):
        raise InvalidInput(f"'{uri}' climbs out of its folder.", remedy="Give the plain address.")
    for root in rules.roots:
        top = urlsplit(root)
        is_place = (parts.scheme, parts.hostname or "", _port(parts)) == (top.scheme, top.hostname or "", _port(top))
        if is_place and unquote(parts.path).startswith(unquote(top.path).rstrip("/") + "/"):
            return root
    raise _no_scheme(uri)


def _no_scheme(uri: str) -> InvalidInput:
    return InvalidInput(
        f"'{uri}' is no address to fetch a segment from: nothing configured allows it.",
        remedy="Upload the file, serve it from an allowed address, or have the administrator allow its root (PINOTADMIN_URI_PUSH_ROOTS).",
    )


def _get(where: _Target, target: Path, rules: FetchRules, deadline: float) -> str | None:
    """One request, tried on each looked-up address. The address to go on with, or None when the file is here."""
    failure: Exception | None = None
    for url in where.urls():
        timeout = httpx.Timeout(min(_SILENCE_S, max(0.1, deadline - time.monotonic())), connect=_CONNECT_S)
        extensions = {"sni_hostname": where.parts.hostname} if where.parts.scheme == "https" else {}
        try:
            with (
                httpx.Client(trust_env=False, timeout=timeout, follow_redirects=False) as client,
                client.stream("GET", url, headers={"Host": where.host}, extensions=extensions) as answer,
            ):
                if answer.status_code in _REDIRECTS and "location" in answer.headers:
                    return str(answer.headers["location"])
                if answer.status_code != httpx.codes.OK:
                    raise InvalidInput(f"'{where.uri}' answers {answer.status_code} instead of the file.", remedy="Check DOWNLOAD_URI.")
                _save(answer.iter_raw(_CHUNK), where.uri, target, rules, deadline)
                return None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure = error
        except httpx.HTTPError as error:
            raise Unavailable(f"'{where.uri}' could not be read: {error}.", remedy="Check the host, then try again.") from error
    raise Unavailable(f"'{where.uri}' could not be read: {failure}.", remedy="Check that the host answers, then try again.") from failure


def _fetch_below_root(uri: str, target: Path, rules: FetchRules, deadline: float) -> int:
    root = _root_of(uri, rules)
    if urlsplit(uri).scheme == "file":
        with _open_local(uri, root) as reader:
            _save(iter(lambda: reader.read(_CHUNK), b""), uri, target, rules, deadline)
        return target.stat().st_size
    try:
        system, path = pafs.FileSystem.from_uri(uri)
        with system.open_input_stream(path, compression=None) as reader:
            _save(iter(lambda: reader.read(_CHUNK), b""), uri, target, rules, deadline)
    except (ValueError, FileNotFoundError, pa.ArrowException) as error:
        raise InvalidInput(f"'{uri}' can not be opened: {error}.", remedy="Check DOWNLOAD_URI.") from error
    except OSError as error:
        raise Unavailable(f"'{uri}' could not be read: {error}.", remedy="Check the store and its credentials.") from error
    return target.stat().st_size


def _open_local(uri: str, root: str) -> BinaryIO:
    """The file, if it is a plain one below the root after all links are followed, before and after it is opened."""
    top = Path(os.path.realpath(unquote(urlsplit(root).path)))
    place = Path(os.path.realpath(unquote(urlsplit(uri).path)))
    refusal = InvalidInput(f"'{uri}' is no plain file below an allowed root.", remedy="Copy the file itself below the root.")
    if top not in place.parents:
        raise refusal
    try:
        opened = os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise refusal from error
    seen, now = os.fstat(opened.fileno()), Path(os.path.realpath(place))
    is_same = now == place and place.is_file() and os.path.samestat(seen, place.stat())
    if not is_same:
        opened.close()
        raise refusal
    return opened


def _save(chunks: Iterator[bytes], uri: str, target: Path, rules: FetchRules, deadline: float) -> None:
    size = 0
    with target.open("wb") as out:
        for chunk in chunks:
            size += len(chunk)
            if size > rules.max_bytes:
                raise PayloadTooLarge(
                    f"'{uri}' is larger than {rules.max_bytes} bytes.", remedy="Split it, or raise PINOTADMIN_MAX_UPLOAD_BYTES."
                )
            if time.monotonic() > deadline:
                raise Unavailable(f"'{uri}' took too long.", remedy="Try again, or upload the file.")
            out.write(chunk)
