"""The gate: the one place that resolves and connects to an address that a user's text names.

What is checked is what is connected to: a name is resolved once, ``segments.domain.access.outgoing`` judges the
numbers, and the socket goes to one of exactly these. Errors reveal neither whether a port is open nor what answered;
the log does.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import socket
import time
from collections.abc import Sequence

from segments.domain.access.outgoing import Address, Place, Rules
from segments.errors import Unavailable

log = logging.getLogger(__name__)


def check_place(place: Place, rules: Rules) -> None:
    """Refuse (InvalidInput) a place that no rule can allow, whatever its name leads to. Asks nobody."""
    if not rules.may_be_asked_for(place):
        raise rules.refusal(str(place))


def allowed_addresses(place: Place, rules: Rules) -> tuple[Address, ...]:
    """The numbers behind a place, all of them allowed; none when its name is not known. Raises InvalidInput for what no
    rule allows.
    """
    check_place(place, rules)
    found = _look_up(place)
    if found or not rules.is_named(place):
        rules.judge(place, found)
    return found


def connect(place: Place, rules: Rules, timeout_s: float) -> socket.socket:
    """A TCP connection to an allowed place; ``timeout_s`` bounds the whole attempt. Raises InvalidInput, and
    Unavailable.
    """
    return connect_to(place, allowed_addresses(place, rules), rules, timeout_s)


def connect_to(place: Place, addresses: Sequence[Address], rules: Rules, timeout_s: float) -> socket.socket:
    """A TCP connection to the first of ``addresses`` (from ``allowed_addresses``) that takes one. Raises
    Unavailable.
    """
    deadline, failure = time.monotonic() + timeout_s, "its name is not known"
    for address in addresses:
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        link = socket.socket(family, socket.SOCK_STREAM)
        try:
            link.settimeout(max(0.1, deadline - time.monotonic()))
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            link.connect((str(address), place.port))
        except OSError as error:
            link.close()
            failure = f"{address}: {error}"
        else:
            return link
    raise silent(place, rules, failure)


def silent(place: Place, rules: Rules, cause: object) -> Unavailable:
    """The error when an allowed place does not do what it should: the same whether it is closed, filtered or
    something else.
    """
    log.warning("%s %s cannot be used: %s", rules.kind.noun, place, cause)
    return Unavailable(
        f"The {rules.kind.noun} at {place.host}:{place.port} cannot be reached, or what answers there is not one.",
        remedy="Check the address. The cause stands in the log of the process that tried.",
    )


def _look_up(place: Place) -> tuple[Address, ...]:
    found: list[Address] = []
    with contextlib.suppress(OSError, UnicodeError):
        for *_, where in socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM):
            found.append(ipaddress.ip_address(str(where[0]).partition("%")[0]))
    return tuple(dict.fromkeys(found))
