"""Drain a server: its tables are rebalanced without it, until nothing is left on it; and the way back.

A drain is a record. The pass over rebalances reads it every few seconds and does what is missing, so any process
carries it on: the server loses its tags first, so nothing new comes to it, and each table that is on it is rebalanced
with all replicas available. It goes on answering queries from what it still holds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from segments.domain.formats.plural import counted
from segments.domain.pinot.capabilities import REBALANCE_COMMIT
from segments.domain.rebalance.drain import UNTAGGED, Drain, Held, Phase, Try
from segments.domain.rebalance.job import Status, Who
from segments.domain.rebalance.options import Options
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.names import TableName, split_table_name
from segments.services.clusters.instances import instance_not_found
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.rebalance import rebalance
from segments.services.rebalance.drain_record import RECORDS, all_drains, find_drain, held, refusals, still_served
from segments.services.rebalance.job_records import read_jobs, tables_with_jobs
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.records.instances import InstanceConfig, parse_config

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outlook:
    """A server as a drain finds it. ``held``: what it holds by table; ``drain``: the one on record; ``refusals``:
    tables that cannot do without it, and why.
    """

    server: str
    held: Mapping[TableName, Held]
    drain: Drain | None
    refusals: Mapping[TableName, str]

    @property
    def left(self) -> int:
        """Segments that are on it."""
        return sum(found.segments for found in self.held.values())

    @property
    def percent(self) -> int:
        """Of the segments that it held when the drain began."""
        if self.drain is None or self.drain.phase is Phase.RETURNING:
            return 0
        if self.drain.phase is Phase.DRAINED and not self.left:
            return 100
        planned = max(self.drain.planned, self.left)
        return min(99, 100 * (planned - self.left) // planned) if planned else 99


def outlook_of(ctx: Context, server: str) -> Outlook:
    """What a drain would move, or how far it is; nothing is written. NotFound, InvalidInput when it is no server."""
    _config(ctx, server)
    found, drain = held(ctx, server), find_drain(ctx, server)
    return Outlook(server, found, drain, refusals(ctx, server, found) if drain is None else {})


def start(
    ctx: Context, server: str, *, commits: bool = True, min_available: int | None = None, actor: Actor
) -> Outlook:
    """Begin to drain a server; returns at once. One that is drained, or is being drained, stays so.

    ``commits``: what it consumes is committed first, and goes on elsewhere; else another server reads it again from the
    segment's start, as it also does where the server is down. StateConflict when a table cannot do without it.
    """
    with audit.recorded(ctx, actor, "drainInstance", server, commits=commits) as detail:
        config, before = _config(ctx, server), outlook_of(ctx, server)
        if before.drain is not None and before.drain.phase is not Phase.RETURNING:
            return before
        if before.drain is not None:
            raise StateConflict(f"Server '{server}' is getting its tags back.", remedy="Wait a moment, then drain it.")
        if before.refusals:
            first = next(iter(before.refusals.values()))
            raise StateConflict(first, remedy="Start servers with that tag, or lower the replication.")
        who = Who(actor.name, actor.reason, actor.address)
        detail |= {"tags": list(config.tags), "segments": before.left}
        wanted = Drain(server, config.tags, who, ctx.clock(), before.left, commits, min_available)
        RECORDS.change(ctx.store, paths.drain(server), lambda found: found or wanted)
        try:
            _step(ctx, wanted)
        except PinotAdminError:
            log.exception("The first step of the drain of %s failed; the pass goes on with it.", server)
        return outlook_of(ctx, server)


def undo(ctx: Context, server: str, *, actor: Actor) -> list[str]:
    """Give the server its tags back, and stop the rebalances that its drain began; their tables. What was moved stays
    where it is until the next rebalance. NotFound when it is not drained.
    """
    with audit.recorded(ctx, actor, "undrainInstance", server) as detail:

        def decide(found: Drain | None) -> Drain:
            if found is None:
                raise NotFound(f"Server '{server}' is not drained.", remedy="List instances with GET /instances.")
            return replace(found, phase=Phase.RETURNING)

        drain = RECORDS.change(ctx.store, paths.drain(server), decide)
        assert drain is not None  # ``decide`` never leaves it away
        detail["stopped"] = stopped = _return(ctx, drain, actor)
        return stopped


def _forget(ctx: Context, server: str) -> None:
    node = ctx.store.get(paths.drain(server))
    if node is not None:
        ctx.store.delete(paths.drain(server), node.version)


def keep(ctx: Context) -> list[str]:
    """The pass over all drains: what is missing is done; a sentence for each that ended. One that fails is tried again
    by the next run.
    """
    sentences: list[str] = []
    for drain in all_drains(ctx):
        try:
            if drain.phase is Phase.RETURNING:
                _return(ctx, drain, Actor(drain.who.name, f"end of the drain of {drain.server}", drain.who.address))
            elif drain.is_watched(ctx.clock()):
                sentences += _step(ctx, drain)
        except PinotAdminError:
            log.exception("The drain of %s could not be carried on; it is tried again.", drain.server)
    return sentences


def _step(ctx: Context, drain: Drain) -> list[str]:
    """Take its tags, then begin what is missing for each of its tables."""
    config = _find_config(ctx, drain.server)
    if config is None:
        _forget(ctx, drain.server)
        return []
    if config.tags != (UNTAGGED,):
        ctx.engine.instances.set_instance_tags(ctx, drain.server, [UNTAGGED])
    left = held(ctx, drain.server)
    tries = {t: replace(found, problem="") for t, found in drain.tries.items() if found.job}
    tries |= {table.typed: _move(ctx, drain, table, found) for table, found in left.items()}
    tries |= {table: Try(ctx.clock(), problem=why) for table, why in _late(ctx, drain).items() if table not in tries}
    is_empty = not left and not any(t.problem for t in tries.values()) and not still_served(ctx, drain.server)
    after = _record(ctx, drain, tries, is_empty=is_empty)
    has_ended = after is not None and after.phase is Phase.DRAINED and drain.phase is not Phase.DRAINED
    return [f"Server {drain.server} is drained: nothing is left on it."] if has_ended else []


def _record(ctx: Context, drain: Drain, tries: Mapping[str, Try], *, is_empty: bool) -> Drain | None:
    def decide(found: Drain | None) -> Drain | None:
        if found is None or found.phase is Phase.RETURNING or found.started_ms != drain.started_ms:
            return None  # it was taken back meanwhile
        after = found.after(tries, is_empty=is_empty, now_ms=ctx.clock())
        return after if after != found else None

    return RECORDS.change(ctx.store, paths.drain(drain.server), decide)


def _move(ctx: Context, drain: Drain, table: TableName, found: Held) -> Try:
    """Begin the table's rebalance where none runs; why not, when it cannot be begun."""
    now, last = ctx.clock(), drain.tries.get(table.typed, Try(0))
    running = rebalance.newest(ctx, table)
    if running is not None and running.is_open:
        if running.job_id == last.job:
            return last
        return Try(now, last.job, f"Rebalance {running.job_id}, begun by {running.who or 'somebody'}, runs first.")
    if not drain.may_try(table.typed, now):
        return last
    try:
        return _begin(ctx, drain, table, found, last)
    except PinotAdminError as error:
        return Try(now, last.job, error.message)


def _begin(ctx: Context, drain: Drain, table: TableName, found: Held, last: Try) -> Try:
    options, now = _options(ctx, drain, table, found), ctx.clock()
    outlook = rebalance.preview(ctx, table, options, has_checks=False)
    if outlook.status is Status.NO_OP:
        what = f"{found.off} are switched off on it" if found.off else "a rebalance leaves them there"
        return Try(
            now,
            last.job,
            f"{counted(found.segments, 'segment', 'stays', 'stay')}: {what}. Repair the table, or delete what stays.",
        )
    if outlook.status is Status.FAILED:
        return Try(now, last.job, outlook.description)
    actor = Actor(drain.who.name, f"drain of {drain.server}: {drain.who.reason}".rstrip(": "), drain.who.address)
    begun = rebalance.start(ctx, table, options, actor=actor)
    return Try(now, begun.job_id)


def _options(ctx: Context, drain: Drain, table: TableName, found: Held) -> Options:
    """All that it consumes moves, too; it is committed first where that is wanted and there is somebody to do it."""
    least = drain.min_available
    is_alive = ctx.store.exists(paths.live_instance(drain.server)) is not None
    can_commit = drain.commits and is_alive and not ctx.engine.lacks(ctx, REBALANCE_COMMIT)
    return Options(
        min_available=None if least is None else min(least, read_table_config(ctx, table).replication),
        include_consuming=found.consuming > 0,
        force_commit=found.consuming > 0 and can_commit,
        other={"reassignInstances": "true"},
    )


def _late(ctx: Context, drain: Drain) -> dict[str, str]:
    """{table: why more may come to the server}: rebalances that were begun while it had its tags."""
    found: dict[str, str] = {}
    for table in tables_with_jobs(ctx):
        job = read_jobs(ctx, table).running
        if job is not None and drain.server in (*job.placement.servers, *job.placement.consuming):
            found[table.typed] = f"Rebalance {job.id} was begun before the drain and may move segments to it."
    return found


def _return(ctx: Context, drain: Drain, actor: Actor) -> list[str]:
    """Tags first: from then on it counts for whatever is decided. The record goes last."""
    if _find_config(ctx, drain.server) is not None:
        ctx.engine.instances.set_instance_tags(ctx, drain.server, list(drain.tags))
    stopped = []
    for typed, last in drain.tries.items():
        table = _table(typed)
        running = rebalance.newest(ctx, table) if last.job else None
        if running is not None and running.is_open and running.job_id == last.job and _stop(ctx, table, actor):
            stopped.append(typed)
    _forget(ctx, drain.server)
    return stopped


def _stop(ctx: Context, table: TableName, actor: Actor) -> bool:
    try:
        return bool(rebalance.stop(ctx, table, actor=actor))
    except StateConflict as error:  # a Pinot that cannot stop one: it goes on to its end
        log.info("The rebalance of %s goes on: %s", table, error.message)
        return False


def _table(typed: str) -> TableName:
    raw, kind = split_table_name(typed)
    assert kind is not None  # names in the record are those of ideal states
    return TableName(raw, kind)


def _config(ctx: Context, server: str) -> InstanceConfig:
    found = _find_config(ctx, server)
    if found is None:
        raise instance_not_found(server)
    if not server.startswith("Server_"):
        raise InvalidInput(f"'{server}' is not a server: it holds no segments.", remedy="Drain a server.")
    return found


def _find_config(ctx: Context, server: str) -> InstanceConfig | None:
    node = ctx.store.get(paths.participant(server))
    return parse_config(node.record) if node is not None and node.record is not None else None
