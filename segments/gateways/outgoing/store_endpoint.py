"""The server of an object store that a config names: checked by the gate before any library connects to it."""

from __future__ import annotations

from segments.domain.access.outgoing import HTTP, Place, Rules, parse_url
from segments.errors import InvalidInput
from segments.gateways.outgoing.gate import allowed_addresses


def checked_endpoint(given: str, rules: Rules) -> str:
    """``scheme://host:port`` of an allowed endpoint. One that no root names, so that it is allowed by its number only,
    is given by that number: no later lookup leads elsewhere. Raises InvalidInput.
    """
    text = given if "://" in given else f"https://{given}"
    place = parse_url(f"{text.rstrip('/')}/", rules.kind, HTTP)
    if place.path != "/":
        raise InvalidInput(
            f"{given[:200]!r} is not an endpoint: it has a path.", remedy="Give scheme, host and port only."
        )
    addresses = allowed_addresses(place, rules)
    host = place.host if rules.is_named(place) else str(addresses[0])
    return str(Place(host, place.port, place.scheme))
