"""Connections to the Redis that a stream config names: through the gate, with the installation's own login only where
it belongs.
"""

from __future__ import annotations

import socket
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

import redis

from segments.domain.access.outgoing import Kind, Place, Rules, place_of, split_url
from segments.errors import InvalidInput, Unavailable
from segments.gateways.outgoing.gate import allowed_addresses, check_place, connect
from segments.gateways.streams.access import StreamAccess

_KEY: Final = "stream.redis.url"
_SCHEMES: Final = ("redis", "rediss")
_SOCKET_TIMEOUT_S: Final = 10.0


class GatedConnection(redis.Connection):
    """Connects to addresses that the gate allows, and to no other."""

    def __init__(self, *, rules: Rules, **options: Any) -> None:
        self._rules = rules
        super().__init__(**options)  # type: ignore[no-untyped-call]

    def _connect(self) -> socket.socket:
        try:
            link = connect(Place(self.host, self.port), self._rules, self.socket_connect_timeout or _SOCKET_TIMEOUT_S)
        except Unavailable as error:
            raise redis.ConnectionError(str(error)) from error
        link.settimeout(self.socket_timeout)
        return link


class GatedTlsConnection(redis.SSLConnection, GatedConnection):
    """The same with TLS; the certificate is checked against the host's name."""


def redis_pool(named: str, access: StreamAccess, connect_s: float) -> Any:
    """A pool of connections to the Redis that a config names, or to the installation's own; connects nowhere yet.

    Raises InvalidInput for an address that does not read or that nothing allows.
    """
    times: dict[str, Any] = {"socket_timeout": _SOCKET_TIMEOUT_S, "socket_connect_timeout": connect_s, "protocol": 2}
    own = _own_url(named, access)
    if own is not None:
        return redis.ConnectionPool.from_url(own, **times)
    place, parts = _read(named)
    check_place(place, access.redis)
    kind = GatedTlsConnection if parts.scheme == "rediss" else GatedConnection
    return redis.ConnectionPool(
        connection_class=kind, rules=access.redis, host=place.host, port=place.port, db=_database(parts),
        username=unquote(parts.username or "") or None, password=unquote(parts.password or "") or None, **times,
    )  # fmt: skip


def look_up_redis(named: str, access: StreamAccess) -> None:
    """Refuse (InvalidInput) a Redis whose name leads where nothing allows; calls nobody."""
    if _own_url(named, access) is None:
        allowed_addresses(_read(named)[0], access.redis)


def _own_url(named: str, access: StreamAccess) -> str | None:
    """The installation's own address, login and options included, when the config means it; None when it means another
    Redis.

    It means it without an address, with exactly that one, and with the same host and port and no login of its own.
    """
    own = access.redis_url
    if not named or named == own:
        return own or None
    place, parts = _read(named)
    mine = urlsplit(own)
    is_same = parts.scheme == mine.scheme and access.redis.is_own(place)
    if not is_same or parts.username or parts.password not in (None, mine.password):
        return None
    return mine._replace(path=f"/{_database(parts)}").geturl()


def _read(named: str) -> tuple[Place, SplitResult]:
    parts = split_url(named, Kind.REDIS)
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.query or parts.fragment:
        raise InvalidInput(
            f"'{_KEY}' is not an address that a table may give.",
            remedy="Write it as redis://[user:password@]host:port/number, or rediss:// for TLS, without parameters.",
            field=_KEY,
        )
    found = place_of(parts, named, Kind.REDIS)
    return Place(found.host, found.port), parts


def _database(parts: SplitResult) -> int:
    text = parts.path.strip("/")
    if text and not (text.isascii() and text.isdigit() and len(text) < 6):
        raise InvalidInput(f"'{_KEY}' names the database {text[:20]!r}, which is not a number.", field=_KEY)
    return int(text or 0)
