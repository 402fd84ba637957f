"""``PinotController`` over HTTP: which address is asked, when a request is repeated, and what a failure means for a
change.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import orjson

from segments.errors import OutcomeUnknown
from segments.gateways.pinot.answers import (
    GATEWAY,
    NEVER_SENT,
    cluster_of,
    fault_of,
    is_page,
    json_value,
    query_params,
    raise_for,
    raise_for_status,
    version_of,
)
from segments.gateways.pinot.circuit import Breaker, Circuit
from segments.gateways.pinot.client import open_client
from segments.gateways.pinot.connection import Connection
from segments.gateways.pinot.controller import Params, PinotReply
from segments.gateways.pinot.refusals import DOWN, REFUSED, UNTRUSTED, WRONG_CLUSTER, ControllerFault
from segments.gateways.pinot.shared_client import SharedClient
from segments.gateways.pinot.whole_answer import SMALL, AnswerTooLarge, read_whole

_CLUSTER_INFO: Final = "/cluster/info"
#: Seconds between two rounds over the addresses; for which an address counts as that of its cluster; for which a
#: version is kept.
_PAUSE_S: Final = 0.3
_VERIFIED_FOR_S: Final = 60.0
_VERSION_KEPT_S: Final = 60.0


@dataclass(frozen=True)
class _Request:
    """One request as it is given to httpx."""

    method: str
    path: str
    params: Sequence[tuple[str, str]] = ()
    content: bytes | Iterator[bytes] | None = None
    files: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None


class HttpPinotController:
    """``PinotController`` over httpx. ``transport``, ``clock_ms`` and ``sleep`` are there for tests."""

    def __init__(
        self,
        connection: Connection,
        *,
        transport: httpx.BaseTransport | None = None,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connection, self._transport, self._sleep = connection, transport, sleep
        self._breaker = Breaker(connection.name, clock_ms)
        self._lock = threading.Lock()
        self._clients: dict[bool, SharedClient] = {}
        self._is_closed = False
        self._first = 0
        self._verified: dict[str, float] = {}
        self._cluster = ""
        self._version: tuple[float, str] | None = None
        self._calls = 0

    @property
    def url(self) -> str:
        return self._connection.urls[self._first]

    # Reads

    def get(self, path: str, params: Params | None = None, *, timeout: float | None = None) -> Any:
        return self._json(self._read(_Request("GET", path, query_params(params), timeout=timeout)))

    def text(self, path: str, params: Params | None = None, *, timeout: float | None = None) -> str:
        return self._read(_Request("GET", path, query_params(params), timeout=timeout)).text

    def read(
        self, method: str, path: str, params: Params | None = None, body: Any = None, *, timeout: float | None = None
    ) -> Any:
        content, headers = _content(body)
        response = self._read(_Request(method, path, query_params(params), content, headers=headers, timeout=timeout))
        return self._json(response) if is_page(response) else _value(response)

    def version(self) -> str:
        if self._version is None or time.monotonic() - self._version[0] > _VERSION_KEPT_S:
            self._version = (time.monotonic(), version_of(self.get("/version")))
        return self._version[1]

    def cluster(self) -> str:
        if not self._cluster:
            self._read(_Request("GET", _CLUSTER_INFO))
        return self._cluster

    # Changes

    def send(
        self,
        method: str,
        path: str,
        params: Params | None = None,
        body: Any = None,
        files: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        content, kind = _content(body)
        wait = timeout or self._connection.write_s
        request = _Request(method, path, query_params(params), content, files, {**kind, **(headers or {})}, wait)
        with self._once(request) as unread:
            try:
                response = read_whole(unread, wait_s=wait)
            except AnswerTooLarge as error:
                raise _unknown(request, error.message.rstrip(".")) from error
            if response.is_success and is_page(response):
                raise _unknown(request, f"{self.url} answered with a page")
            raise_for(response)
            return _value(response)

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        params: Params | list[tuple[str, str]] | None = None,
        body: bytes | Iterator[bytes] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Iterator[PinotReply]:
        is_read = method in ("GET", "HEAD")
        wait = timeout or (self._connection.read_s if is_read else self._connection.write_s)
        request = _Request(method, path, query_params(params), body, headers=headers or {}, timeout=wait)
        with self._over_all(request) if is_read else self._once(request) as response:
            yield PinotReply(response.status_code, response.headers, response.iter_bytes())

    # What is known of it

    def circuit(self) -> Circuit:
        return self._breaker.circuit

    def calls(self) -> int:
        return self._calls

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._give_up_clients()

    # How a request meets the addresses

    def _read(self, request: _Request) -> httpx.Response:
        with self._over_all(request) as unread:
            response = read_whole(unread, wait_s=request.timeout or self._connection.read_s)
            raise_for(response)
            return response

    def _json(self, response: httpx.Response) -> Any:
        try:
            return json_value(response)
        except ControllerFault as fault:
            if is_page(response):  # one odd answer of Pinot is no reason to leave it alone
                self._breaker.failed(fault)
            raise

    @contextmanager
    def _over_all(self, request: _Request) -> Iterator[httpx.Response]:
        """The answer of the first address that has one; two rounds, so that one broken connection is no outage."""
        self._breaker.require()
        is_first_round = not self._breaker.circuit.is_open
        while True:
            response, fault = self._round(request)
            if response is not None:
                break
            assert fault is not None
            if not is_first_round or fault.state != DOWN or fault.data.get("silent"):
                (self._breaker.was_silent if fault.data.get("silent") else self._breaker.failed)(fault)
                raise fault
            is_first_round = False
            self._sleep(_PAUSE_S)
        try:
            yield response
        except httpx.HTTPError as error:
            raise fault_of(error, self.url) from error
        finally:
            response.close()

    def _round(self, request: _Request) -> tuple[httpx.Response | None, ControllerFault | None]:
        last: ControllerFault | None = None
        for turn in self._turns():
            url = self._connection.urls[turn]
            try:
                self._verify(url)
                response = self._usable(self._ask(url, request, keep_alive=True))
            except ControllerFault as fault:
                self._forget(url, fault)
                last = last if last is not None and last.state != DOWN else fault
                continue
            except httpx.HTTPError as error:
                self._verified.pop(url, None)
                last = last if last is not None and last.state != DOWN else fault_of(error, url)
                continue
            self._first = turn
            self._breaker.succeeded()
            return response, None
        return None, last

    def _usable(self, response: httpx.Response) -> httpx.Response:
        """The answer, unless its status says that the controller cannot be used: then its connection is given back."""
        try:
            raise_for_status(response)
        except ControllerFault:
            response.close()
            raise
        return response

    @contextmanager
    def _once(self, request: _Request) -> Iterator[httpx.Response]:
        """The answer to a request that is sent to one address, once: to the next one only if not a byte of it went to
        the first.
        """
        self._breaker.require()
        last: ControllerFault | None = None
        for turn in self._turns():
            url = self._connection.urls[turn]
            try:
                self._verify(url)
            except ControllerFault as fault:
                self._forget(url, fault)
                last = fault
                continue
            except httpx.HTTPError as error:
                last = fault_of(error, url)
                continue
            try:
                response = self._ask(url, request, keep_alive=False)
            except httpx.HTTPError as error:
                self._verified.pop(url, None)
                last = fault_of(error, url)
                if isinstance(error, NEVER_SENT) or last.state == UNTRUSTED:
                    continue
                self._breaker.was_silent(last)
                raise _unknown(request, last.message.rstrip(".")) from error
            self._first = turn
            yield from self._answered(request, response)
            return
        assert last is not None
        self._breaker.failed(last)
        raise last

    def _answered(self, request: _Request, response: httpx.Response) -> Iterator[httpx.Response]:
        try:
            if response.status_code in GATEWAY:
                raise _unknown(request, f"{self.url} answered {response.status_code}")
            raise_for_status(response)
            self._breaker.succeeded()
            yield response
        except httpx.HTTPError as error:
            raise _unknown(request, fault_of(error, self.url).message.rstrip(".")) from error
        except ControllerFault as fault:
            self._breaker.failed(fault)
            raise
        finally:
            response.close()

    def _turns(self) -> list[int]:
        """Addresses, the one that answered last first."""
        count = len(self._connection.urls)
        return [(self._first + step) % count for step in range(count)]

    def _ask(self, url: str, request: _Request, *, keep_alive: bool) -> httpx.Response:
        client = self._joined_client(keep_alive)
        wait = request.timeout or self._connection.read_s
        self._calls += 1
        return client.send(
            request.method,
            url + request.path,
            params=list(request.params) or None,
            content=request.content,
            files=request.files,
            headers=request.headers,
            timeout=httpx.Timeout(wait, connect=self._connection.connect_s),
        )

    def _verify(self, url: str) -> None:
        """Ask an address which cluster it belongs to, before anything else and again now and then: it may be another
        one tomorrow.
        """
        asked = self._verified.get(url)
        if not self._connection.is_controller or (asked is not None and time.monotonic() - asked < _VERIFIED_FOR_S):
            return
        unread = self._ask(url, _Request("GET", _CLUSTER_INFO), keep_alive=False)
        try:
            response = read_whole(unread, SMALL)
        finally:
            unread.close()
        found = cluster_of(response, url)
        wanted = self._connection.cluster or self._cluster
        if wanted and found != wanted:
            text = f"{url} belongs to the Pinot cluster '{found}', not to '{wanted}'."
            remedy = "Correct the address; a cluster that was created again under another name has to be added again."
            raise ControllerFault(WRONG_CLUSTER, text, remedy=remedy)
        self._cluster = found
        self._verified[url] = time.monotonic()

    def _forget(self, url: str, fault: ControllerFault) -> None:
        """Ask the address again which cluster it is; after refused credentials read the secret again: it may have
        been changed.
        """
        self._verified.pop(url, None)
        if fault.state == REFUSED:
            with self._lock:
                self._give_up_clients()

    def _give_up_clients(self) -> None:
        for client in self._clients.values():
            client.give_up()
        self._clients.clear()

    def _joined_client(self, keep_alive: bool) -> SharedClient:
        with self._lock:
            client = self._clients.get(keep_alive)
            if client is None:
                client = SharedClient(open_client(self._connection, keep_alive=keep_alive, transport=self._transport))
                self._clients[keep_alive] = client
            client.join()
            if self._is_closed:  # who is in the middle of something goes on, and leaves nothing open
                self._give_up_clients()
            return client


def _content(body: Any) -> tuple[bytes | Iterator[bytes] | None, dict[str, str]]:
    if body is None or isinstance(body, bytes | Iterator):
        return body, {}
    if isinstance(body, str):
        return body.encode(), {"Content-Type": "application/json"}
    return orjson.dumps(body), {"Content-Type": "application/json"}


def _value(response: httpx.Response) -> Any:
    try:
        return orjson.loads(response.content) if response.content.strip() else None
    except orjson.JSONDecodeError:
        return response.text


def _unknown(request: _Request, why: str) -> OutcomeUnknown:
    text = f"Whether Pinot carried out {request.method} {request.path} is not known: {why}."
    return OutcomeUnknown(text, remedy="Check the table before trying again.")
