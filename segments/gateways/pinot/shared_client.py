"""An httpx client of many threads: given up at any moment, closed as soon as nobody is in the middle of an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx


class SharedClient:
    """Whoever will send one request says so with ``join`` first; its answer, when closed, or its failure is one user
    less.

    A client of httpx that is closed in the middle of an answer forgets that connection, which then stays open until
    memory is tidied.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._users = 0
        self._is_given_up = False

    def join(self) -> None:
        """One request more will be sent. Not to be called after ``give_up``."""
        with self._lock:
            self._users += 1

    def send(self, method: str, url: str, **options: Any) -> httpx.Response:
        """The answer, unread, to be closed by whom it is given to. ``options`` as ``httpx.Client.build_request`` has
        them.
        """
        try:
            response = self._client.send(self._client.build_request(method, url, **options), stream=True)
        except BaseException:
            self._leave()
            raise
        response.stream = _NotifyingStream(cast(httpx.SyncByteStream, response.stream), self._leave)
        return response

    def give_up(self) -> None:
        """No further request comes."""
        with self._lock:
            self._is_given_up = True
            is_free = self._users == 0
        if is_free:
            self._client.close()

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            is_over = self._is_given_up and self._users == 0
        if is_over:
            self._client.close()


class _NotifyingStream(httpx.SyncByteStream):
    """The bytes of an answer; ``closed`` is called when nobody reads them any more, once: httpx closes
    an answer once.
    """

    def __init__(self, stream: httpx.SyncByteStream, closed: Callable[[], None]) -> None:
        self._stream, self._closed = stream, closed

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._closed()
