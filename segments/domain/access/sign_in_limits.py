"""How often somebody may try to sign in: by user and address together, by address, by user from addresses that are new
for that user.

Each kind has several windows. A short one stops a burst for a minute; who goes on is stopped by the next one for
longer. No window is longer than an hour, so nobody is locked out for ever.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final

MINUTE: Final = 60
HOUR: Final = 3600


@dataclass(frozen=True)
class Window:
    """At most ``attempts`` within ``seconds``."""

    attempts: int
    seconds: int


@dataclass(frozen=True)
class Kind:
    """What attempts are counted by. ``name`` stands in audit records and keys."""

    name: str
    windows: tuple[Window, ...]


#: One user from one address: strict. Nobody else is hit by it.
PAIR: Final = Kind("user and address", (Window(5, MINUTE), Window(15, 15 * MINUTE), Window(30, HOUR)))
#: One address, whatever the user: many people may share one behind a gateway.
ADDRESS: Final = Kind("address", (Window(30, MINUTE), Window(150, 15 * MINUTE), Window(300, HOUR)))
#: One user from all addresses that this user never signed in from: somebody guesses from many places.
USER: Final = Kind("user", (Window(20, MINUTE), Window(60, 15 * MINUTE), Window(150, HOUR)))
#: Seconds for which an address counts as known after a user signed in from it.
KNOWN_ADDRESS_S: Final = 30 * 24 * HOUR


def address_group(address: str) -> str:
    """What counts as one address: an IPv4 address itself, of IPv6 the /64 that one customer has whole; other text as it
    is.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 6:
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
