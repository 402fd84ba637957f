"""The messages by which a real Pinot has its brokers build a table's routing again, followed through its ZooKeeper:
Helix removes each when the broker has carried it out.

A query shows the same, but takes the broker and all servers longer, right when they are busy with what is deleted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Sequence
from typing import Final

from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.online import live_instance_names
from segments.store import paths
from segments.store.base import Store

log = logging.getLogger(__name__)

#: Pinot's name for such a message, and the fields of a message that say so.
_REBUILD: Final = "REBUILD_ROUTING_TABLE"
_KIND, _TABLE = "MSG_SUBTYPE", "tableName"
#: Seconds between two reads; the broker takes longer to build a routing.
_POLL_S: Final = 0.001
#: With more brokers the reads of one round take longer than a query.
_MOST_BROKERS: Final = 4


class BrokerMessages:
    """Follows them from right before a change until each broker has carried out its own. ``begin`` comes before the
    change is sent.
    """

    def __init__(self, store: Store, table: TableName, brokers: Sequence[str]) -> None:
        self._store, self._table, self.brokers = store, table, brokers
        self._known: dict[str, set[str]] = {}
        self.sent: dict[str, set[str]] = {broker: set() for broker in brokers}
        self.left = set(brokers)
        self._answered, self._is_given_up = threading.Event(), False

    def begin(self) -> None:
        """Read which messages are there before the change."""
        self._known = {broker: set(self._names(broker)) for broker in self.brokers}

    def answered(self) -> None:
        """Pinot has answered the change, so that all messages are there."""
        self._answered.set()

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self._is_given_up = True

    def wait(self, deadline: float) -> bool:
        """True when every broker was sent its message and has carried it out; False when Pinot has answered and one was
        not seen, when it was given up, or at ``deadline`` (monotonic seconds).
        """
        while self.left:
            was_answered = self._answered.is_set()  # before the read that misses one
            for broker in sorted(self.left):
                self._read(broker)
            is_hopeless = was_answered and any(not self.sent[broker] for broker in self.left)
            if self.left and (is_hopeless or self._is_given_up or time.monotonic() > deadline):
                return False
            if self.left:
                time.sleep(_POLL_S)
        return True

    def _read(self, broker: str) -> None:
        names = set(self._names(broker))
        self.sent[broker] |= {name for name in names - self._known[broker] if self._is_ours(broker, name)}
        self._known[broker] |= names
        if self.sent[broker] and not self.sent[broker] & names:
            self.left.remove(broker)

    def _names(self, broker: str) -> list[str]:
        return self._store.children(paths.messages(broker))

    def _is_ours(self, broker: str, name: str) -> bool:
        node = self._store.get(f"{paths.messages(broker)}/{name}")
        fields = node.record.simple if node is not None and node.record is not None else {}
        return fields.get(_KIND) == _REBUILD and fields.get(_TABLE) == self._table.typed


def follow_messages(ctx: Context, table: TableName, live: Collection[str]) -> BrokerMessages | None:
    """Begin to follow those of the brokers among the ``live`` instances (empty: they are read). None where that costs
    more than a query (many brokers, or a ZooKeeper that is only reached through the controller) and where it fails.
    """
    if getattr(ctx.store, "is_costly", False):
        return None
    try:
        brokers = [name for name in live or live_instance_names(ctx) if name.startswith("Broker_")]
        if not 1 <= len(brokers) <= _MOST_BROKERS:
            return None
        messages = BrokerMessages(ctx.store, table, brokers)
        messages.begin()
    except PinotAdminError as error:
        log.info("The messages to the brokers of %s cannot be followed: %s", table, error)
        return None
    return messages
