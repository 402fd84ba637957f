"""uvicorn's HTTP protocol with bounds on the head of a request: who sends endless headers, or none, is cut off before any of us sees it.

Used by name: ``uvicorn --http pinotadmin.http_protocol:BoundedHttp``.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Seconds for a whole head, from the connection or from its first byte on, and its bytes: addresses of queries are long.
HEAD_S: Final = 30.0
MOST_BYTES: Final = 256 << 10
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"
)


class BoundedHttp(HttpToolsProtocol):
    """One connection. The timer runs while a head is awaited of which something has come, or nothing at all on a new connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._awaits_head = True
        self._is_whole = False
        self._head_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """A new connection."""
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a head, of a body, or of both."""
        self._is_whole = False
        super().data_received(data)
        if not self._awaits_head or self._is_whole:
            return  # what follows a whole request is left to uvicorn's own timer between requests
        if self._timer is None:
            self._begin()
        self._head_bytes += len(data)
        if self._head_bytes > MOST_BYTES and not self.transport.is_closing():
            text = b'{"code": 431, "error": "The address and headers have more than %d bytes."}' % MOST_BYTES
            self.transport.write(_TOO_LARGE % (len(text), text))
            self.transport.close()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._awaits_head, self._head_bytes = False, 0
        self._end()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """So is the body; another request may follow."""
        self._awaits_head = self._is_whole = True
        super().on_message_complete()

    def _begin(self) -> None:
        self._timer = self.loop.call_later(HEAD_S, self._give_up)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
