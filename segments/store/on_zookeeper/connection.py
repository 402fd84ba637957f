"""kazoo's connection, changed in two ways: every watch event goes to one function, and a ZooKeeper whose state is older
than what we have seen of it (it was restored from a backup) is taken as it is.

Such a server ends each connection without a word, for as long as the client names a transaction that it has not had,
and kazoo would try for ever. A client whose session is over anyway need not insist: once no server has let us in for as
long as the session lasts, it begins as a new client does. Watchers then read everything again. A server that is merely
behind the others is no danger: one of these lets us in first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped, SessionExpiredError
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Watch

log = logging.getLogger(__name__)

#: Refused connections in a row, at least: none of them is a coincidence.
_REFUSALS: Final = 3


class _OurConnection(ConnectionHandler):  # type: ignore[misc] # kazoo ships no types
    def __init__(self, client: KazooClient, on_event: Callable[[str], None], sasl: dict[str, str] | None) -> None:
        super().__init__(client, client._conn_retry.copy(), logger=client.logger, sasl_options=sasl)
        self._on_event = on_event
        self._refusals, self._refused_since = 0, 0.0

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        event, _ = Watch.deserialize(buffer, offset)
        if not self.client._stopped.is_set():
            self._on_event(event.path)

    def _connect(self, host: str, hostip: str, port: int) -> Any:
        try:
            timeouts = super()._connect(host, hostip, port)
        except ConnectionDropped:
            if self._socket is None or not self.client.last_zxid:  # nobody listens there
                raise
            self._note_refusal()
            raise
        self._refusals = 0
        return timeouts

    def _note_refusal(self) -> None:
        """SessionExpiredError once we are to begin again."""
        self._refused_since = self._refused_since if self._refusals else time.monotonic()
        self._refusals += 1
        lasted_s = time.monotonic() - self._refused_since
        if self._refusals < _REFUSALS or lasted_s < self.client._session_timeout / 1000:
            return
        log.warning(
            "ZooKeeper has let us in no more for %.0f s: its state may be older than what we have seen. Begin again.",
            lasted_s,
        )
        self._refusals, self.client.last_zxid = 0, 0
        raise SessionExpiredError("ZooKeeper no longer knows this session")


def report_events(client: KazooClient, on_event: Callable[[str], None], sasl: dict[str, str] | None = None) -> None:
    """Call ``on_event`` with the full path of every event, on kazoo's reading thread: hand it over, never block. Before
    ``start``. ``sasl``: options of its login.
    """
    client._connection = _OurConnection(client, on_event, sasl)
