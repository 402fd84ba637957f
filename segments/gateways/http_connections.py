"""uvicorn's HTTP protocol with bounds on heads and on connections that nobody is being answered on: who opens many and
sends little is cut off before any of us sees it. The web process and the ports of servers use it.

By name: ``uvicorn --http segments.gateways.http_connections:BoundedHttp``.
"""

from __future__ import annotations

import asyncio
import resource
from collections import OrderedDict
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Seconds for a whole head, from the connection or from its first byte on, and its bytes: addresses of queries are
#: long.
HEAD_S: Final = 30.0
MOST_BYTES: Final = 256 << 10
#: Connections of one address, and of all, that wait for a head: new ones, and those between two requests.
OF_ADDRESS: Final = 512
IN_ALL: Final = 4096
#: Seconds for the other side to agree to the end of a connection over TLS: one that sleeps would not for half a minute.
_LAST_WORD_S: Final = 0.2
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: "
    b"close\r\ncontent-length: %d\r\n\r\n%s"
)


class Waiting:
    """Connections on which a head is awaited, the one that waits longest first: at most ``of_address`` of one address
    and ``in_all``.

    Beyond that the one that waits longest is closed, so that whoever sends a whole head at once is always answered.
    Only used on one event loop.
    """

    def __init__(self, of_address: int, in_all: int) -> None:
        self._of_address, self._in_all = of_address, in_all
        self._all: OrderedDict[BoundedHttp, str] = OrderedDict()
        self._of: dict[str, OrderedDict[BoundedHttp, None]] = {}

    def add(self, connection: BoundedHttp, address: str) -> None:
        """It waits from now on; another one may be closed for it."""
        mine = self._of.setdefault(address, OrderedDict())
        mine[connection], self._all[connection] = None, address
        if len(mine) > self._of_address:
            self._close(next(iter(mine)))
        elif len(self._all) > self._in_all:
            self._close(next(iter(self._all)))

    def remove(self, connection: BoundedHttp) -> None:
        """A head has come whole, or the connection is gone."""
        address = self._all.pop(connection, None)
        if address is not None:
            mine = self._of[address]
            del mine[connection]
            if not mine:
                del self._of[address]

    def _close(self, connection: BoundedHttp) -> None:
        self.remove(connection)
        connection.give_up()


def _half_of_files() -> int:
    """The other half is for ZooKeeper, servers, files and the database."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft // 2 if soft > 0 else OF_ADDRESS


class BoundedHttp(HttpToolsProtocol):
    """One connection. The timer runs while a head is awaited of which something has come, or nothing at all on a new
    connection.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._awaits_head = True
        self._is_whole = False
        self._head_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """A new connection."""
        super().connection_made(transport)
        self._waiting = self._of_server()
        self._waiting.add(self, self._address())
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._waiting.remove(self)
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
        self._waiting.remove(self)
        self._end()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """So is the body; another request may follow."""
        self._awaits_head = self._is_whole = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is sent; the connection may be used again."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._waiting.add(self, self._address())
            if not self._awaits_head and self._timer is None:  # answered before its body came: it may come for ever
                self._begin()

    def give_up(self) -> None:
        """Close it."""
        if not self.transport.is_closing():
            self.transport.close()
            self._leave()

    def shutdown(self) -> None:
        """The server ends: an idle connection is closed, another one after its answer."""
        super().shutdown()
        self._leave()

    def timeout_keep_alive_handler(self) -> None:
        """It was idle for too long."""
        super().timeout_keep_alive_handler()
        self._leave()

    def _leave(self) -> None:
        """Of a connection on which nothing is to be sent any more."""
        if self.scheme == "https" and self.transport.is_closing():
            self.loop.call_later(_LAST_WORD_S, self.transport.abort)

    def _of_server(self) -> Waiting:
        """The connections of this listening server."""
        found: Waiting | None = getattr(self.server_state, "waiting", None)
        if found is None:
            half = _half_of_files()
            found = Waiting(min(OF_ADDRESS, half), min(IN_ALL, half))
            self.server_state.waiting = found  # type: ignore[attr-defined]  # one for all connections, and nothing else knows them all
        return found

    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _begin(self) -> None:
        self._timer = self.loop.call_later(HEAD_S, self._is_late)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_late(self) -> None:
        self._timer = None
        self.give_up()
