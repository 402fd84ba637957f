"""Asks Confluent's schema registry for the schema of an id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

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
            shown = _without_login(url)
            try:
                answer = self._client.get(f"{url}/schemas/ids/{number}")
                if answer.status_code == 404:
                    raise InvalidInput(f"The schema registry {shown} has no schema {number}.")
                if answer.status_code == 200:
                    return str(answer.json()["schema"])
            except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
                problem = f"{shown}: {type(error).__name__} {error}"
                continue
            problem = f"{shown} answers {answer.status_code}"
        raise Unavailable(f"The schema registry does not answer: {problem}.", remedy=f"Check {_URL} of the stream config.")


def _without_login(url: str) -> str:
    """For logs and people: user and password may stand in the URL."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
