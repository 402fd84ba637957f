"""Sends requests and reads answers: credentials, time-outs, typed answers, typed errors."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from pinotadmin_client.errors import NoAnswer, TimedOut, UnexpectedAnswer, error_of
from pinotadmin_client.prepared_types import prepared

T = TypeVar("T")
_MAX_REASON: Final = 1000
_PIECE: Final = 1 << 20
#: Paths of the whole installation, which no cluster's name precedes.
_OF_THE_INSTALLATION: Final = (
    "/api/v1/clusters", "/api/v1/tokens", "/api/v1/webhooks", "/api/v1/schedules", "/health", "/metrics",
)  # fmt: skip


class Transport:
    """One connection pool to one installation. ``authorization`` is a header's value; it is never shown.
    ``authorities``: as of ``Credentials``.
    """

    def __init__(
        self,
        url: str,
        authorization: str,
        *,
        timeout_s: float,
        cluster: str = "",
        http: httpx.Client | None = None,
        authorities: str = "",
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise ValueError("The URL must be http://HOST:PORT or https://HOST, without user and password.")
        self.url = url.rstrip("/")
        self._prefix = f"/clusters/{quote(cluster, safe='')}" if cluster else ""
        self._authorization = authorization
        self._timeout_s = timeout_s
        # No redirects: credentials go to the address that was given, and to no other.
        self._http = http or httpx.Client(follow_redirects=False, verify=_checked_by(authorities))

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        answer: type[T],
        *,
        names: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        body: object = None,
        reason: str | None = None,
    ) -> T:
        """Fill ``names`` into the path, send, and read the answer as ``answer`` (Any: JSON, None where it is empty).

        What is None in ``query``, and in a ``body`` that is a mapping, is left out. Raises ApiError, NoAnswer,
        TimedOut, UnexpectedAnswer.
        """
        filled = path.format_map({k: quote(str(v), safe="") for k, v in (names or {}).items()})
        headers = {"Authorization": self._authorization, "Accept": "application/json"}
        params = {k: _text(v) for k, v in (query or {}).items() if v is not None}
        if reason:
            params["reason"] = reason[:_MAX_REASON]
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = msgspec.json.encode(_without_none(body))
        response = self._exchange(method, self.url + self._prefix_of(filled) + filled, params, headers, content)
        return _read(response, answer)

    def send_file(self, path: str, file: Path, answer: type[T], *, query: Mapping[str, str]) -> T:
        """As ``send``, with a file as the body, read in pieces."""
        headers = {
            "Authorization": self._authorization,
            "Accept": "application/json",
            "Content-Type": "application/octet-stream",
            "Content-Length": str(file.stat().st_size),
        }
        with file.open("rb") as reader:
            pieces = iter(lambda: reader.read(_PIECE), b"")
            response = self._exchange("POST", self.url + self._prefix_of(path) + path, query, headers, pieces)
        return _read(response, answer)

    def _prefix_of(self, path: str) -> str:
        return "" if path.startswith(_OF_THE_INSTALLATION) else self._prefix

    def _exchange(
        self,
        method: str,
        url: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        content: bytes | Iterator[bytes] | None,
    ) -> httpx.Response:
        try:
            return self._http.request(
                method, url, params=params, headers=headers, content=content, timeout=self._timeout_s
            )
        except httpx.TimeoutException as error:
            raise TimedOut(f"{self.url} did not answer {method} within {self._timeout_s:g} s.") from error
        except httpx.HTTPError as error:
            raise NoAnswer(f"{self.url} was not reached: {error}") from error


def _checked_by(authorities: str) -> ssl.SSLContext | bool:
    """A proxy before the installation may have a certificate of the usual ones."""
    if not authorities:
        return True
    made = ssl.create_default_context()
    try:
        made.load_verify_locations(authorities)
    except OSError as error:
        raise ValueError(f"{authorities} cannot be read as certificates of authorities: {error}.") from error
    return made


def _read(response: httpx.Response, answer: type[T]) -> T:
    if response.is_success:
        try:
            return msgspec.json.decode(response.content or b"null", type=prepared(answer))
        except msgspec.MsgspecError as error:
            raise UnexpectedAnswer(f"{response.request.method} {response.request.url.path}: {error}") from error
    try:
        body = response.json()
    except ValueError:
        body = None
    raise error_of(response.status_code, body, response.text)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _without_none(body: object) -> object:
    return {k: v for k, v in body.items() if v is not None} if isinstance(body, dict) else body
