"""Asks Confluent's schema registry for the schema of an id."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from segments.domain.access.outgoing import HTTP, Kind, Place, Rules, parse_url, split_url
from segments.errors import InvalidInput, PinotAdminError, Unavailable
from segments.gateways.outgoing.gate import allowed_addresses, check_place
from segments.gateways.outgoing.gated_http import gated_get

log = logging.getLogger(__name__)

_URL: Final = "schema.registry.rest.url"
_USER: Final = "schema.registry.basic.auth.user.info"
_TIMEOUT_S: Final = 10.0
_LARGEST: Final = 4 << 20
_MOST: Final = 20
#: The registry's own codes for what it does not have; a 404 without one comes from something else.
_UNKNOWN: Final = range(40400, 40500)


class SchemaRegistry:
    """Client of one registry, from a decoder's properties: URL (or several, comma separated), ``user:password`` when it
    asks for one.

    Redirects are not followed. Raises InvalidInput for an address that ``rules`` do not allow.
    """

    def __init__(self, properties: Mapping[str, str], rules: Rules) -> None:
        given = [u.strip().rstrip("/") for u in properties[_URL].split(",")[: _MOST + 1] if u.strip()]
        if not given or len(given) > _MOST:
            raise InvalidInput(f"'{_URL}' of the stream config names no registry, or more than {_MOST}.", field=_URL)
        self._rules = rules
        self._registries = [_split(url, properties.get(_USER, "")) for url in given]
        for place in self._places():
            check_place(place, rules)

    def look_up(self) -> None:
        """Refuse (InvalidInput) registries whose names lead where nothing allows; calls none of them."""
        for place in self._places():
            allowed_addresses(place, self._rules)

    def schema_text(self, number: int) -> str:
        """The schema's JSON. Raises InvalidInput when the registry has no schema of that id, Unavailable when no URL
        answers as one.
        """
        for url, headers in self._registries:
            try:
                status, body = self._ask(f"{url}/schemas/ids/{number}", headers)
            except PinotAdminError as error:
                log.warning("The schema registry %s is not used: %s", url, error)
                continue
            if status == 200 and isinstance(body.get("schema"), str):
                return str(body["schema"])
            if status == 404 and body.get("error_code") in _UNKNOWN:
                raise InvalidInput(f"The schema registry {url} has no schema {number}.")
            log.warning("The schema registry %s answers %s, which is not a schema.", url, status)
        shown = ", ".join(url for url, _ in self._registries)
        raise Unavailable(
            f"The schema registry {shown} cannot be reached, refuses the login, or is not one.",
            remedy=f"Check {_URL} of the stream config. The cause stands in the log of the server.",
        )

    def _places(self) -> list[Place]:
        return [parse_url(f"{url}/schemas/ids/0", Kind.REGISTRY, HTTP) for url, _ in self._registries]

    def _ask(self, url: str, headers: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        with gated_get(url, self._rules, timeout_s=_TIMEOUT_S, headers=headers, redirects=0) as answer:
            body = bytearray()
            for piece in answer.pieces():
                body += piece
                if len(body) > _LARGEST:
                    raise InvalidInput(f"'{url}' answers with more than {_LARGEST} bytes.")
            try:
                found = json.loads(body)
            except (ValueError, RecursionError):
                found = None
            return answer.status, found if isinstance(found, dict) else {}


def _split(url: str, user_info: str) -> tuple[str, dict[str, str]]:
    """(address without a login, headers with it)."""
    parts = split_url(url, Kind.REGISTRY)
    login, _, netloc = parts.netloc.rpartition("@")
    user = user_info or unquote(login)
    headers = {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()} if user else {}
    return parts._replace(netloc=netloc).geturl(), {"Accept": "application/json", **headers}
