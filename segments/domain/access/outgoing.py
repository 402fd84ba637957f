"""Which addresses this installation connects to because a user's text names them: places, configured roots by kind,
numbers never called.

Pure: the caller resolves a name once, asks here about the addresses, and connects to exactly those.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from segments.errors import InvalidInput

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

HTTP: Final = ("http", "https")
#: IPv6 addresses below this prefix stand for IPv4 ones (RFC 6052).
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_PORTS: Final = {"https": 443, "http": 80, "redis": 6379, "rediss": 6379, "kafka": 9092}
_NAME_SIGNS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-_:")
_LONGEST: Final = 2_000


class Kind(Enum):
    """What is called: the word for people, and the setting with the roots."""

    FILES = ("file server", "PINOTADMIN_URI_PUSH_ROOTS")
    KAFKA = ("Kafka broker", "PINOTADMIN_KAFKA_ROOTS")
    REDIS = ("Redis", "PINOTADMIN_REDIS_ROOTS")
    REGISTRY = ("schema registry", "PINOTADMIN_REGISTRY_ROOTS")
    STORE = ("server of an object store", "PINOTADMIN_OBJECT_STORE_ROOTS")
    WEBHOOK = ("receiver of webhooks", "PINOTADMIN_WEBHOOK_ROOTS")

    @property
    def noun(self) -> str:
        """For people."""
        return self.value[0]

    @property
    def setting(self) -> str:
        """Name of the environment variable with the roots of this kind."""
        return self.value[1]


@dataclass(frozen=True)
class Place:
    """Where a connection goes: host in lower case without brackets, port; scheme and path where the
    address has them.
    """

    host: str
    port: int
    scheme: str = ""
    path: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}" if self.scheme else f"{host}:{self.port}"


@dataclass(frozen=True)
class Rules:
    """What may be called of one kind.

    ``own``: the installation's own ``host:port``, always allowed. ``roots``: ``host``, ``host:port`` or
    ``*.domain[:port]`` for brokers, the beginning of an address (``https://files.example/segments``,
    ``s3://bucket/prefix``) for files and registries. Without any root only this machine's own addresses are, and those
    only if ``loopback``: nobody but this machine reaches the installation. Link-local (a cloud's own services),
    multicast, reserved and unspecified numbers are never called for a root either.
    """

    kind: Kind
    roots: Sequence[str] = ()
    own: Sequence[str] = ()
    loopback: bool = False

    def is_own(self, place: Place) -> bool:
        """Is it the installation's own?"""
        return any(parse_broker(one, self.kind) == Place(place.host, place.port) for one in self.own)

    def is_named(self, place: Place) -> bool:
        """Is it own, or below a root?"""
        return self.is_own(place) or any(_is_below(place, root) for root in self.roots)

    def may_be_asked_for(self, place: Place) -> bool:
        """May its name be resolved? A name that no rule can allow is not even resolved."""
        return self.is_named(place) or (self.loopback and not self.roots)

    def judge(self, place: Place, addresses: Sequence[Address]) -> None:
        """May these numbers, found for the place, be connected to? Raises InvalidInput, with the same words for every
        reason.
        """
        if self.is_own(place):
            return
        named = self.is_named(place)
        if not named and not (
            self.loopback and not self.roots and addresses and all(_is_own_machine(a) for a in addresses)
        ):
            raise self.refusal(str(place))
        if any(is_forbidden(a, loopback=True) for a in addresses):
            raise self.refusal(str(place))

    def refusal(self, shown: str) -> InvalidInput:
        """The error for an address that is not allowed, the same whatever is behind it."""
        return InvalidInput(
            f"'{shown[:_LONGEST]}' is not an address of a {self.kind.noun} that may be called from here: nothing "
            "configured allows it.",
            remedy=f"Use an allowed address, or have the administrator allow it ({self.kind.setting}).",
        )


def is_of_this_machine(host: str) -> bool:
    """Is a name, or number, one that only this machine itself reaches? ``testserver`` is that of Django's tests."""
    bare = host.strip("[]").lower()
    if bare in ("localhost", "testserver"):
        return True
    try:
        return _is_own_machine(ipaddress.ip_address(bare))
    except ValueError:
        return False


def is_forbidden(address: Address, *, loopback: bool) -> bool:
    """Is this an address that nobody outside may make us call? IPv6 forms of IPv4 addresses count as those."""
    for one in _meanings(address):
        if one.is_link_local or one.is_multicast or one.is_unspecified or (one.version == 4 and one.is_reserved):
            return True
        if one.is_loopback and not loopback:
            return True
    return False


def parse_url(text: str, kind: Kind, schemes: Sequence[str]) -> Place:
    """The place of an address that gives scheme, host and path only. Raises InvalidInput."""
    parts = split_url(text, kind)
    if not parts.hostname or parts.username is not None or parts.scheme not in schemes:
        raise _unread(text, kind, "give scheme, host and path only")
    return place_of(parts, text, kind)


def split_url(text: str, kind: Kind) -> SplitResult:
    """The parts of an address. Raises InvalidInput for what different programs read differently."""
    try:
        parts = urlsplit(text)
        _ = parts.port, parts.hostname
    except ValueError as error:
        raise _unread(text, kind, "it does not read") from error
    if len(text) > _LONGEST or "\\" in text or not text.isprintable() or " " in text:
        raise _unread(text, kind, "it has characters that do not belong there")
    return parts


def place_of(parts: SplitResult, text: str, kind: Kind) -> Place:
    """The place that a split address names; its path may not climb. Raises InvalidInput."""
    path = unquote(parts.path)
    if ".." in path.split("/") or "\0" in path:
        raise _unread(text, kind, "it climbs out of its folder")
    return Place(_host(parts.hostname or "", text, kind), parts.port or _PORTS.get(parts.scheme, 0), parts.scheme, path)


def store_address(text: str, rules: Rules) -> tuple[str, str]:
    """(address to open, its root) of a file in a store such as ``s3://bucket/prefix/file`` or ``file:///folder/file``.

    Options (``?endpoint_override=...``) and a login in the address say where and as whom a store is asked, so they are
    the root's only; an address without them has the root's. Raises InvalidInput.
    """
    parts = split_url(text, rules.kind)
    place_of(parts._replace(netloc=""), text, rules.kind)
    for root in rules.roots:
        top = urlsplit(root)
        same = (top.netloc.lower(), top.netloc.lower().rpartition("@")[2] if top.scheme == "s3" else "")
        is_store = parts.scheme == top.scheme and parts.netloc.lower() in same[: 2 if same[1] else 1]
        is_below = unquote(parts.path).startswith(unquote(top.path).rstrip("/") + "/")
        if is_store and is_below and parts.query in ("", top.query) and not parts.fragment:
            return parts._replace(netloc=top.netloc, query=top.query).geturl(), root
    raise rules.refusal(text.partition("?")[0])


def parse_broker(text: str, kind: Kind) -> Place:
    """``host``, ``host:port`` or ``[v6]:port``, a protocol (``SSL://``) before it left out. Raises InvalidInput."""
    bare = text.strip().rpartition("://")[2]
    try:
        parts = urlsplit(f"//{bare}")
        port = parts.port
    except ValueError as error:
        raise _unread(text, kind, "give host:port") from error
    if not parts.hostname or parts.username is not None or parts.netloc != bare:
        raise _unread(text, kind, "give host:port")
    return Place(_host(parts.hostname, text, kind), port or _PORTS["redis" if kind is Kind.REDIS else "kafka"])


def _host(name: str, text: str, kind: Kind) -> str:
    lowered = name.lower().removesuffix(".")
    if not _NAME_SIGNS.issuperset(lowered) or len(lowered) > 253:
        raise _unread(text, kind, "the host's name has characters that do not belong there")
    return lowered


def _is_below(place: Place, root: str) -> bool:
    if "://" in root:
        top = urlsplit(root)
        where = (top.scheme, (top.hostname or "").removesuffix("."), top.port or _PORTS.get(top.scheme, 0))
        return (place.scheme, place.host, place.port) == where and place.path.startswith(
            unquote(top.path).rstrip("/") + "/"
        )
    wanted = urlsplit(f"//{root}")
    name = (wanted.hostname or "").removesuffix(".")
    is_host = place.host.endswith(name[1:]) if name.startswith("*.") else place.host == name
    return is_host and wanted.port in (None, place.port)


def _is_own_machine(address: Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def _meanings(address: Address) -> list[Address]:
    found: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        found += [a for a in (address.ipv4_mapped, address.sixtofour) if a is not None]
        found += list(address.teredo or ())
        if address in _NAT64:
            found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return found


def _unread(text: str, kind: Kind, why: str) -> InvalidInput:
    return InvalidInput(f"{text[:200]!r} is not an address of a {kind.noun}: {why}.", remedy="Correct the address.")
