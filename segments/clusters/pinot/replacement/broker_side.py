"""Which side of a switch a real Pinot's brokers answer from, asked once: the routing of the only live broker, else a
query on ``$segmentName``.

A query takes the servers' time too; a routing table is what the next query of that broker goes by, in a tenth of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from segments.errors import PinotAdminError
from segments.gateways.pinot import PinotRefused, PinotSqlBroker
from segments.names import TableName


@dataclass(frozen=True)
class Expected:
    """A few segments that must not answer any more and some with rows that must, and the live brokers."""

    hidden: Sequence[str]
    visible: Sequence[str]
    brokers: Sequence[str]


@dataclass(frozen=True)
class Answer:
    """``wrong``: what it still shows, misses, or why it failed; empty: it is the new side alone. ``broker``: who
    answered, where it says so.
    """

    wrong: str
    has_failed: bool = False
    broker: str = ""

    @property
    def is_right(self) -> bool:
        """The new side alone?"""
        return not self.wrong


class BrokerSide:
    """Asks the brokers of one cluster about one switch of a table, as often as ``ask`` is called."""

    def __init__(self, broker: PinotSqlBroker, table: TableName, expected: Expected) -> None:
        self._broker, self._table, self._expected = broker, table, expected
        self._sql = _sql(table, [*expected.hidden, *expected.visible])
        #: A routing table does not say whose it is, so it is read only where one broker can have answered.
        self._has_routing = len(expected.brokers) == 1

    def ask(self) -> Answer:
        """One answer; never raises for what brokers answer."""
        try:
            return (self._by_routing() if self._has_routing else None) or self._by_query()
        except PinotAdminError as error:
            return Answer(error.message or "no answer", has_failed=True)

    def _by_routing(self) -> Answer | None:
        """None: this broker, or what stands before it, does not give its routing; it is not asked for it again."""
        try:
            routed = self._broker.routed_segments(self._table.typed)
        except PinotRefused:
            routed = None
        if routed is None:
            self._has_routing = False
            return None
        return Answer(self._wrong(routed))

    def _by_query(self) -> Answer:
        answer = self._broker.query(self._sql)
        if answer.get("exceptions"):
            return Answer(_failure(answer), has_failed=True)
        rows = (answer.get("resultTable") or {}).get("rows") or []
        found = {str(row[0]) for row in rows if int(row[1])}
        return Answer(self._wrong(found), broker=str(answer.get("brokerId") or ""))

    def _wrong(self, found: set[str]) -> str:
        old, missing = found.intersection(self._expected.hidden), set(self._expected.visible) - found
        if old:
            return f"segment '{min(old)}' of the side that was left still answers"
        return f"segment '{min(missing)}' does not answer yet" if missing else ""


def _sql(table: TableName, names: Sequence[str]) -> str:
    listed = ", ".join("'" + n.replace("'", "''") + "'" for n in names)
    return (
        f'SELECT "$segmentName", count(*) FROM "{table.typed}" '  # noqa: S608  # quoted names only
        f'WHERE "$segmentName" IN ({listed})'
        f' GROUP BY "$segmentName" LIMIT {len(names) + 1}'
    )


def _failure(answer: dict[str, Any]) -> str:
    first = (answer.get("exceptions") or [{}])[0]
    return " ".join(str(first.get("message", first)).split())[:200] or "the query failed"
