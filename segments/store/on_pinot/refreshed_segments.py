"""Finds segment records of a Pinot cluster that were written in place, which no watch reports, without reading
any record.

An upload over an existing segment changes its record only: no row of ideal state or external view, no number of
children. But Pinot's controller then sends a message to the brokers of the table (``sendSegmentRefreshMessage``, from
0.11.0 on), and that one came and went is one number at each broker. So a broker's number is polled now and then, and
when it is another one the stats of the segment records of the tables that this broker serves, two tables at each poll;
what was written since the poll before is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from segments.domain.formats.znrecord import ZNRecord
from segments.store import paths


class Stat(NamedTuple):
    """What counts of a znode's stat: the transactions that wrote it last, and that changed its children last; how many
    children it has.
    """

    mzxid: int
    pzxid: int
    children: int


#: ``stats(parent)``: of each child.
StatReader = Callable[[str], Mapping[str, Stat]]

#: Tables with more segments are not polled this way: an answer of half a megabyte, and as many stats that the
#: controller reads.
MODERATE: Final = 2_000
#: Brokers that are asked in turn; polls between two reads of which broker serves what.
_BROKERS: Final = 4
_ROUTING_EVERY: Final = 10
_RESOURCE: Final = paths.EXTERNAL_VIEWS + "/" + paths.BROKER_RESOURCE.rpartition("/")[2]
_MESSAGES: Final = "MESSAGES"


class RefreshedSegments:
    """One cluster's, used by one thread. ``read`` gives a record as it is now, or None."""

    def __init__(self, stats: StatReader, read: Callable[[str], ZNRecord | None]) -> None:
        self._stats, self._read = stats, read
        self._since = 0
        self._seen: dict[str, int] = {}
        self._served: dict[str, set[str]] = {}
        self._messages: dict[str, int] = {}
        self._turn = 0
        #: Tables to check; in which poll each was last; those in which something was found, the latest last.
        self._waiting: set[str] = set()
        self._last_turn: dict[str, int] = {}
        self._found_in: list[str] = []

    def begin(self, found: Collection[Stat]) -> None:
        """What was written before the newest of these counts as read."""
        self._since = max([self._since, *(max(stat.mzxid, stat.pzxid) for stat in found)])

    @property
    def is_waiting(self) -> bool:
        """Are there tables still to be checked?"""
        return bool(self._waiting)

    def poll(self, segments: Mapping[str, Stat]) -> Iterator[str]:
        """Paths of records that were written; ``segments``: stats of the parents of each table's segments."""
        if self._turn % _ROUTING_EVERY == 0:
            self._follow_brokers()
        if self._served:
            self._ask_a_broker(segments)
        self._turn += 1
        for table in self._take_two():
            yield from self._read_table(table)

    def _follow_brokers(self) -> None:
        """Which brokers serve which tables."""
        record = self._read(_RESOURCE)
        self._served = covering(record.maps if record else {})
        self._messages = {broker: number for broker, number in self._messages.items() if broker in self._served}

    def _ask_a_broker(self, segments: Mapping[str, Stat]) -> None:
        brokers = sorted(self._served)
        broker = brokers[self._turn % len(brokers)]
        messages = self._stats(f"{paths.INSTANCES}/{broker}").get(_MESSAGES)
        if messages is None:
            return
        before, self._messages[broker] = self._messages.get(broker, self._since), messages.pzxid
        if messages.pzxid > before:
            self._waiting |= {t for t in self._served[broker] if t in segments and 0 < segments[t].children <= MODERATE}

    def _take_two(self) -> Iterator[str]:
        """The table in which something was found last, and the one that was not checked for longest: none waits for
        ever.
        """
        for is_first in (True, False):
            if self._waiting:
                table = min(self._waiting, key=lambda t: (self._recency(t) * is_first, self._last_turn.get(t, 0), t))
                yield table  # checked now; whatever goes wrong there, it goes on waiting
                self._waiting.discard(table)
                self._last_turn[table] = self._turn

    def _recency(self, table: str) -> int:
        return -self._found_in.index(table) - 1 if table in self._found_in else 0

    def _read_table(self, table: str) -> Iterator[str]:
        since = self._seen.get(table, self._since)
        stats = self._stats(paths.segments(table))
        self._seen[table] = max([since, *(stat.mzxid for stat in stats.values())])
        written = [name for name, stat in stats.items() if stat.mzxid > since]
        if written:
            self._found_in = [*(t for t in self._found_in if t != table), table]
        for name in sorted(written):
            yield paths.segment(table, name)


def covering(resource: Mapping[str, Mapping[str, str]]) -> dict[str, set[str]]:
    """{broker: tables}: few brokers that together serve all tables, from the external view of ``brokerResource``."""
    left = {table for table, brokers in resource.items() if "ONLINE" in brokers.values()}
    serving: dict[str, set[str]] = {}
    for table in left:
        for broker, state in resource[table].items():
            if state == "ONLINE":
                serving.setdefault(broker, set()).add(table)
    chosen: dict[str, set[str]] = {}
    while left and len(chosen) < _BROKERS:
        broker = max(sorted(serving), key=lambda one: len(serving[one] & left))
        chosen[broker] = serving[broker]
        left -= serving[broker]
    return chosen
