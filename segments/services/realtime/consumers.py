"""What servers report of the consumers of a realtime table beyond Pinot's answer: why one waits, rows in memory,
messages set aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from segments.domain.realtime.pause import consuming_segments
from segments.domain.segments.ideal_state import CONSUMING
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.realtime_state import read_ideal


@dataclass(frozen=True)
class BadMessage:
    """A message that gave no row: its offset, and why."""

    offset: str
    reason: str


@dataclass(frozen=True)
class Consumer:
    """One replica of a consuming segment. Counts are of this segment: they begin at 0 with the next one.

    ``problem``: why nothing is read just now, empty when all is well. ``samples``: the first messages that were set
    aside.
    """

    partition: int
    segment: str
    server: str
    problem: str
    rows: int
    bytes: int
    messages: int
    filtered_rows: int
    bad_messages: int
    samples: tuple[BadMessage, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of the REST API."""
        return {
            "partition": self.partition,
            "segment": self.segment,
            "server": self.server,
            "problem": self.problem,
            "rows": self.rows,
            "bytes": self.bytes,
            "messages": self.messages,
            "filteredRows": self.filtered_rows,
            "badMessages": self.bad_messages,
            "badSamples": [{"offset": s.offset, "reason": s.reason} for s in self.samples],
        }


def read_consumers(ctx: Context, table: TableName) -> list[Consumer]:
    """Every replica that its server reports now, by partition and server. NotFound when there is no such table."""
    ideal = read_ideal(ctx, table).record
    assert ideal is not None
    servers = sorted({i for s in consuming_segments(ideal) for i, state in ideal.maps[s].items() if state == CONSUMING})
    answers = ctx.engine.instances.ask_servers(
        ctx, servers, f"/tables/{quote(table.typed, safe='')}/consumers", _is_list
    )
    found = [
        _consumer(server, row)
        for server, rows in answers.by_server.items()
        for row in rows
        if row.get("partition") is not None
    ]
    return sorted(found, key=lambda c: (c.partition, c.server))


def _consumer(server: str, row: Mapping[str, Any]) -> Consumer:
    samples = [BadMessage(str(s.get("offset", "")), str(s.get("reason", ""))) for s in row.get("badSamples") or ()]
    return Consumer(
        partition=int(row["partition"]),
        segment=str(row.get("segmentName", "")),
        server=server,
        problem=str(row.get("problem") or ""),
        rows=int(row.get("rows") or 0),
        bytes=int(row.get("bytes") or 0),
        messages=int(row.get("messages") or 0),
        filtered_rows=int(row.get("filteredRows") or 0),
        bad_messages=int(row.get("badMessages") or 0),
        samples=tuple(samples),
    )


def _is_list(answer: Any) -> bool:
    return isinstance(answer, list) and all(isinstance(row, dict) for row in answer)
