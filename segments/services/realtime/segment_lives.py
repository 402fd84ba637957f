"""When the last segments of a partition were consumed, built, uploaded, committed and downloaded, as the embedded
servers that did it report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.realtime_state import read_ideal

#: Of a partition's newest segments: the servers that have them are asked.
_NEWEST: Final = 40


@dataclass(frozen=True)
class Step:
    """``kind``: consume, build, upload, commit or download. Times in epoch milliseconds; ``ended_ms`` None: it goes on.
    ``problem``: why it failed, empty when it did not.
    """

    kind: str
    began_ms: int
    ended_ms: int | None
    problem: str


@dataclass(frozen=True)
class Life:
    """One segment on one server: the state of its consumer since then, and the steps in their order."""

    server: str
    segment: str
    state: str
    since_ms: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Lives:
    """By segment and server; ``silent``: servers that did not answer as they should."""

    found: tuple[Life, ...] = ()
    silent: tuple[str, ...] = ()


def read_lives(ctx: Context, table: TableName, partition: int) -> Lives:
    """Every server that has one of the partition's newest segments is asked. Nothing where servers are not ours.
    NotFound when there is no such table.
    """
    if not ctx.engine.offers.own_processes:
        return Lives()
    ideal = read_ideal(ctx, table).record
    rows = ideal.maps if ideal else {}
    named = sorted(parse_llc_name(s) for s in rows if is_llc_name(s) and parse_llc_name(s).partition == partition)
    servers = sorted({server for name in named[-_NEWEST:] for server in rows[name.text]})
    path = f"/tables/{quote(table.typed, safe='')}/partitions/{partition}/segmentLives"
    answers = ctx.engine.instances.ask_servers(ctx, servers, path, _is_readable)
    lives = [_life(server, row) for server, answer in answers.by_server.items() for row in answer]
    return Lives(
        tuple(sorted(lives, key=lambda life: (life.segment, life.server))), (*answers.silent, *answers.unreadable)
    )


def _is_readable(answer: Any) -> bool:
    return isinstance(answer, list) and all(isinstance(row, dict) and "steps" in row for row in answer)


def _life(server: str, row: Mapping[str, Any]) -> Life:
    steps = tuple(
        Step(str(s["kind"]), int(s["beganMs"]), None if s["endedMs"] is None else int(s["endedMs"]), str(s["problem"]))
        for s in row["steps"]
    )
    return Life(server, str(row.get("segmentName", "")), str(row.get("state", "")), int(row.get("sinceMs") or 0), steps)
