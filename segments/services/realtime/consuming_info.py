"""What consumes where, as servers and records report: consumingSegmentsInfo and watermarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.realtime.realtime_repair import Known
from segments.errors import PinotAdminError, Unavailable
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.realtime_state import observe_realtime
from segments.store.records.instances import instance_configs, live_instances

#: Seconds for one server's answer.
_ANSWER_S: Final = 10.0


@dataclass(frozen=True)
class Answers:
    """What servers answered: {server: its JSON}; those that did not answer, and those whose answer made no sense."""

    by_server: Mapping[str, Any] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def consuming_segments_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """Pinot's document: per consuming segment what every replica says; a segment without an answer has an empty list.
    NotFound.
    """
    return ctx.engine.consumption.consuming_segments_info(ctx, table)


def pauseless_debug_info(ctx: Context, table: TableName) -> dict[str, Any]:
    """``instanceToErrorSegmentsMap``: {server: its segments in ERROR}; ``committingSegments``: those whose commit has
    started and not ended. NotFound; StateConflict on a Pinot that has no pauseless consumption.
    """
    return ctx.engine.consumption.pauseless_debug_info(ctx, table)


def consumer_watermarks(ctx: Context, table: TableName) -> list[dict[str, Any]]:
    """Per partition the sequence and offset at which it goes on: behind what is committed, else the consuming segment's
    own.
    """
    state = observe_realtime(ctx, table)
    latest: dict[int, Known] = {}
    for known in state.known:
        if known.name.text in state.ideal.maps:
            latest[known.name.partition] = known
    return [_watermark(latest[p]) for p in sorted(latest)]


def ask_servers(
    ctx: Context,
    servers: list[str],
    path: str,
    is_readable: Callable[[Any], bool],
    *,
    method: str = "GET",
    timeout_s: float = _ANSWER_S,
) -> Answers:
    """Ask several servers at once; one that is not alive is not waited for."""
    live, configs = live_instances(ctx.store), instance_configs(ctx.store)
    asked = [s for s in servers if s in live and s in configs]
    gateway = ctx.servers

    def ask(server: str) -> Any:
        if gateway is None:
            return Unavailable("This process does not talk to servers.")
        try:
            return gateway.ask(configs[server].admin_url, method, path, timeout_s)
        except PinotAdminError as error:
            return error

    if not asked:
        return Answers(silent=tuple(servers))
    with ThreadPoolExecutor(min(16, len(asked)), "ask-servers") as pool:
        answers = dict(zip(asked, pool.map(ask, asked), strict=True))
    good = {s: a for s, a in answers.items() if not isinstance(a, PinotAdminError) and is_readable(a)}
    odd = tuple(s for s, a in answers.items() if not isinstance(a, PinotAdminError) and s not in good)
    return Answers(good, tuple(s for s in servers if s not in good and s not in odd), odd)


def _watermark(known: Known) -> dict[str, Any]:
    is_committed = known.is_committed and known.end is not None
    return {
        "partitionGroupId": known.name.partition,
        "sequenceNumber": known.name.sequence + 1 if is_committed else known.name.sequence,
        "offset": known.end if is_committed else known.start,
    }
