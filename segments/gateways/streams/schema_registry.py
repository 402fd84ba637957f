"""Asks Confluent's schema registry for the schema of an id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from segments.errors import InvalidInput, Unavailable

_URL = "schema.registry.rest.url"
_USER = "schema.registry.basic.auth.user.info"


class SchemaRegistry:
    """Client of one registry, from a decoder's properties: URL (or several, comma separated), ``user:password`` when it asks for one."""

    def __init__(self, properties: Mapping[str, str], transport: Any = None) -> None:
        self._urls = [u.strip().rstrip("/") for u in properties[_URL].split(",") if u.strip()]
        user, _, password = properties.get(_USER, "").partition(":")
        self._client = httpx.Client(timeout=10.0, auth=(user, password) if user else None, transport=transport)

    def schema_text(self, number: int) -> str:
        """The schema's JSON. Raises InvalidInput when the registry has no schema of that id, Unavailable when no URL answers."""
        problem = "it has no URL"
        for url in self._urls:
            try:
                answer = self._client.get(f"{url}/schemas/ids/{number}")
            except httpx.HTTPError as error:
                problem = f"{url}: {error}"
                continue
            if answer.status_code == 404:
                raise InvalidInput(f"The schema registry {url} has no schema {number}.")
            if answer.status_code == 200:
                return str(answer.json()["schema"])
            problem = f"{url} answers {answer.status_code}"
        raise Unavailable(f"The schema registry does not answer: {problem}.", remedy=f"Check {_URL} of the stream config.")
