"""The embedded broker: one routing snapshot per query, every visible segment asked once, an answer that is whole or an
exception.

It lives inside the web process. It joins as ``Broker_<host>_<port>``, follows ZooKeeper (``follower``), acknowledges
the lineage it serves (``acknowledgements``) and asks servers (``fan_out``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

from segments import traces
from segments.dataplane import query as engine
from segments.dataplane.broker import answers
from segments.dataplane.broker.acknowledgements import Acknowledgements
from segments.dataplane.broker.asked.explain import explain
from segments.dataplane.broker.asked.question import Question, current_stop, read_question, with_table_limits
from segments.dataplane.broker.fan_out import FanOut, Gathered
from segments.dataplane.broker.live_routing import LiveRouting
from segments.dataplane.broker.progress import Progress
from segments.dataplane.broker.queried_tables import Side, is_created, sides_of
from segments.dataplane.broker.routing import Routing, replicas_of
from segments.dataplane.broker.served_tables import ServedTables
from segments.dataplane.broker.server_health import ServerHealth
from segments.dataplane.broker.stages import MOST_ROWS, StagesWork
from segments.dataplane.broker.strict_groups import is_strict, narrowed
from segments.dataplane.query import QueryRejected
from segments.dataplane.query.engine import check_bytes
from segments.dataplane.stopping import stoppable
from segments.domain.formats.plural import counted
from segments.domain.tables.schema import Schema
from segments.errors import PinotAdminError, Rejected, Unavailable
from segments.gateways.servers import Servers
from segments.store.base import Store
from segments.store.records.brokers import note_broker, strike_off
from segments.store.records.instances import Membership, join

log = logging.getLogger(__name__)

TAGS: Final = ("DefaultTenant_BROKER",)
#: Seconds in which a query may start again because the routing changed under it, or wait for a change that is sure to
#: come.
_RERUN_S: Final = 1.0


@dataclass(frozen=True)
class _Answered:
    """One side's parts: every one of its ``segments`` is in exactly one of ``parts``."""

    plan: engine.QueryPlan
    gathered: Gathered
    parts: list[engine.PartialResult]
    segments: int


class _Failed(Exception):
    """The query ends with this exception entry; never leaves this module. ``is_outdated``: a fresh routing is sure to
    come.
    """

    def __init__(self, code: int, message: str, gathered: Gathered | None = None, *, is_outdated: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.gathered, self.is_outdated = code, message, gathered, is_outdated


class Broker:
    """``broker_id`` is ``Broker_<host>_<port>``; ``clock`` gives epoch milliseconds; ``tls``: that port speaks TLS. The
    store is shared with the process's services.
    """

    def __init__(
        self, store: Store, broker_id: str, servers: Servers, clock: Callable[[], int], *, tls: bool = False
    ) -> None:
        self._store, self._clock, self._tls = store, clock, tls
        self.broker_id = broker_id
        self._acks = Acknowledgements(store, broker_id)
        self._tables = ServedTables(store, broker_id)
        self._follower = LiveRouting(store, self._acks, self._tables.put)
        self.health = ServerHealth()
        self._fan_out = FanOut(servers, self.health)
        self._progress = Progress()
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="second-side")
        self._membership: Membership | None = None

    def start(self, timeout_s: float = 30.0) -> None:
        """Join and follow; returns when all tables' routings are there. Unavailable when ZooKeeper does not answer in
        time.

        Watches first, then the note and the announcement, then the reading: from the moment that services see this
        broker they wait for its acknowledgement, and nothing that they wrote before can have been missed.
        """
        _, host, port = self.broker_id.split("_", 1)[0], *self.broker_id.split("_", 1)[1].rsplit("_", 1)
        engine.warm_up_soon()
        self._follower.watch()
        self._store.on_session(self._on_session)
        note_broker(self._store, self.broker_id)
        tls_port = port if self._tls else None
        self._membership = join(self._store, self.broker_id, host, int(port), TAGS, TLS_PORT=tls_port)
        self._acks.start()
        self._tables.start()
        self._follower.start()
        if not self._follower.wait_first(timeout_s):
            raise Unavailable(
                f"The routing could not be read within {timeout_s:g} s.", remedy="Check ZooKeeper and the log."
            )

    def stop(self) -> None:
        """Leave the cluster and end all threads; the store is the caller's."""
        try:
            if self._membership is not None:
                self._membership.leave()
            self._follower.stop()
            self._acks.stop()
            self._acks.remove_all()
            self._tables.stop()
            strike_off(self._store, self.broker_id)
        except PinotAdminError as error:
            log.warning("%s could not leave the cluster: %s", self.broker_id, error)
        self._fan_out.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def routing(self, table: str) -> Routing | None:
        """What queries of this typed table are answered from now; None when there is no such table."""
        return self._follower.routing(table)

    def wait_for(self, table: str, zxid: int, timeout_s: float) -> bool:
        """Wait until this broker serves the table with a lineage at least as new as ``zxid``; False when time is up
        first.
        """
        return self._follower.wait_for(table, zxid, timeout_s)

    def settle(self, timeout_s: float) -> bool:
        """Wait until every acknowledgement is written; False when time is up first."""
        return self._acks.settle(timeout_s)

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Pinot's broker response; whatever goes wrong is in its ``exceptions``, nothing is raised.

        ``options``: Pinot's query options, of which ``timeoutMs`` counts here. ``segments`` asks exactly these segments
        of the ideal state, hidden ones too (for checks of a new snapshot before the switch), instead of the visible
        ones; of a table of keys as if no other segment were there.
        """
        started, stop = time.monotonic(), current_stop()
        try:
            with stoppable(stop), traces.span("query", broker=self.broker_id):
                asked = read_question(sql, options or {}, segments, stop=stop, started=started, clock=self._clock)
                return self._answer(asked)
        except _Failed as failure:
            code, message, gathered = failure.code, failure.message, failure.gathered
        except QueryRejected as error:
            code, message, gathered = error.error_code, str(error), None
        except Rejected as error:
            code, message, gathered = int(error.data.get("error_code") or answers.QUERY_EXECUTION), str(error), None
        except Exception as error:  # a query must always have an answer
            log.exception("Query %s failed: %s", stop.query, sql)
            code, message, gathered = answers.INTERNAL, f"{type(error).__name__}: {error}", None
        return self._failure(stop.query, started, code, message, gathered)

    def _answer(self, question: Question) -> dict[str, Any]:
        """Run it; again on a fresh snapshot when the old one could not be served any more. Two snapshots are never
        mixed.
        """
        while True:
            question.stop.check()
            sides = self._sides(question)
            question = with_table_limits(question, [s.routing.timeout_ms for one in sides.values() for s in one])
            try:
                return self._run(question, sides)
            except _Failed as failure:
                left = self._patience(question)
                patience = left if failure.is_outdated else 0.0
                known = [side.routing for one in sides.values() for side in one]
                if left <= 0 or not self._follower.wait_change(known, patience):
                    raise

    def _sides(self, question: Question) -> dict[str, list[Side]]:
        """Of every table that the query names, as of one moment."""
        for name in question.tables:
            if not self._known_sides([name], question)[name] and is_created(self._store, name):
                self._follower.wait_known(name, self._patience(question))
        found = self._known_sides(question.tables, question)
        for name, sides in found.items():
            if not sides:
                raise _Failed(answers.TABLE_DOES_NOT_EXIST, f"Table '{name}' does not exist.")
        return found

    def _known_sides(self, names: Sequence[str], question: Question) -> dict[str, list[Side]]:
        routings = self._follower.routings()
        return {name: sides_of(name, routings, is_by_name=question.segments is not None) for name in names}

    @staticmethod
    def _patience(question: Question) -> float:
        """Seconds that this query may still wait for a change that is sure to come; 0 or less: none."""
        return min(question.started + _RERUN_S, question.deadline) - time.monotonic()

    def _run(self, question: Question, sides: Mapping[str, Sequence[Side]]) -> dict[str, Any]:
        if question.is_explained:
            return self._explained(question, sides)
        if question.stages is None:
            wanted = [(question, side) for one in sides.values() for side in one]
            answered = self._read_all(wanted)
            reduce_from = time.monotonic()
            result = engine.merge(answered[0].plan, [part for side in answered for part in side.parts])
        else:
            work = StagesWork(question.stages, sides, question.options)
            wanted = [(replace(question, sql=sql, rows=MOST_ROWS), side) for sql, one in work.reads() for side in one]
            answered = self._read_all(wanted)
            reduce_from = time.monotonic()
            result = work.finish([(a.plan, a.parts) for a in answered], question.deadline)
        parts = [part for side in answered for part in side.parts]
        now = time.monotonic()
        return engine.broker_response(
            result,
            servers_queried=sum(len(a.gathered.queried) for a in answered),
            servers_responded=sum(len(a.gathered.responded) for a in answered),
            segments_queried=sum(a.segments for a in answered),
            segments_processed=sum(p.segments for p in parts),
            segments_matched=sum(p.segments_matched for p in parts),
            docs_scanned=sum(p.docs_scanned for p in parts),
            total_docs=sum(p.total_docs for p in parts),
            time_used_ms=round((now - question.started) * 1000),
            reduce_time_ms=round((now - reduce_from) * 1000),
            request_id=question.request_id,
            client_request_id=question.client_id,
            broker_id=self.broker_id,
            tables_queried=sorted({side.routing.table.raw for one in sides.values() for side in one}),
        )

    def _explained(self, question: Question, sides: Mapping[str, Sequence[Side]]) -> dict[str, Any]:
        return engine.broker_response(
            explain(question, sides),
            time_used_ms=round((time.monotonic() - question.started) * 1000),
            request_id=question.request_id,
            client_request_id=question.client_id,
            broker_id=self.broker_id,
            tables_queried=sorted({side.routing.table.raw for one in sides.values() for side in one}),
        )

    def _read_all(self, wanted: Sequence[tuple[Question, Side]]) -> list[_Answered]:
        """At once; the first on this very thread."""
        tasks = [self._pool.submit(traces.carried(self._read), question, side) for question, side in wanted[1:]]
        return [self._read(*wanted[0]), *(task.result() for task in tasks)]

    def _read(self, question: Question, side: Side) -> _Answered:
        """One table's parts, whole, from one snapshot."""
        routing = side.routing
        if routing.schema is None:
            raise _Failed(
                answers.QUERY_EXECUTION,
                f"Table '{routing.table}' has no schema '{routing.table.raw}'.",
                is_outdated=True,
            )
        plan = engine.plan_query(
            question.sql, routing.schema, options=question.options, time_filter=side.time_filter, rows=question.rows
        )
        replicas = self._replicas(question, routing)
        request = _request(question, side, routing.schema)
        least = self._progress.least(routing)
        strict = is_strict(routing)
        if strict:
            least = replace(least, together=frozenset(replicas))
        gathered = self._fan_out.gather(
            request,
            replicas,
            question.deadline,
            least,
            lambda segment, choice: self._progress.choose(
                segment, choice, choice if strict else routing.sure(segment, choice)
            ),
            question.stop,
        )
        question.stop.check()
        _check_whole(gathered, routing)
        check_bytes(sum(map(len, gathered.parts)))
        parts = [engine.decode_partial(part) for part in gathered.parts]
        if least.segments:
            docs = {s: rows for part in parts for s, rows in part.growing.items()}
            self._progress.note(routing, least, docs, {s: rows for part in parts for s, rows in part.tails.items()})
        return _Answered(plan, gathered, parts, len(replicas))

    def _replicas(self, question: Question, routing: Routing) -> dict[str, Any]:
        """{segment: servers} of what this query has to read; every one of them has at least one server."""
        if question.segments is None:
            wanted = routing.wanted
        else:
            wanted = list(question.segments)
            unknown = [s for s in wanted if s not in routing.replicas]
            if unknown:
                raise _Failed(
                    answers.SEGMENTS_UNAVAILABLE,
                    f"Table '{routing.table}' has no segment {answers.name_some(unknown)}.",
                    is_outdated=True,
                )
        replicas = replicas_of(routing, wanted)
        if is_strict(routing):
            replicas = {**narrowed(routing, replicas)}
        nowhere = [s for s, servers in replicas.items() if not servers]
        if nowhere:
            raise _Failed(
                answers.SEGMENTS_UNAVAILABLE,
                f"{len(nowhere)} of {len(wanted)} segments of table '{routing.table}' are served by no live server:"
                f" {answers.name_some(nowhere)}. Check the servers.",
                # Each has a server, none has all of their partition: one of these is about to.
                is_outdated=all(routing.replicas.get(s) for s in nowhere),
            )
        return replicas

    def _failure(
        self, request_id: str, started: float, code: int, message: str, gathered: Gathered | None
    ) -> dict[str, Any]:
        return engine.broker_response(
            None,
            exceptions=[answers.exception_entry(code, message)],
            servers_queried=len(gathered.queried) if gathered else 0,
            servers_responded=len(gathered.responded) if gathered else 0,
            time_used_ms=round((time.monotonic() - started) * 1000),
            request_id=request_id,
            broker_id=self.broker_id,
        )

    def _on_session(self) -> None:
        """The acknowledgements went with the old session, and so may the note have: write them again."""
        self._follower.acknowledge_all()
        try:
            note_broker(self._store, self.broker_id)
        except PinotAdminError as error:
            log.warning("%s could not be noted again; it is waited for while it is live: %s", self.broker_id, error)


def _request(question: Question, side: Side, schema: Schema) -> dict[str, Any]:
    """What every server of a table is asked, but for the segments."""
    return {
        "sql": question.sql,
        "table": side.routing.table.typed,
        "requestId": question.request_id,
        "schemaVersion": side.routing.schema_version,
        "schema": schema.body,
        "options": dict(question.options),
        **({"timeFilter": side.time_filter.to_json()} if side.time_filter else {}),
        **({"rows": question.rows} if question.rows is not None else {}),
        **({"isAlone": True} if question.segments is not None and is_strict(side.routing) else {}),
    }


def _check_whole(gathered: Gathered, routing: Routing) -> None:
    """Raises unless every segment was answered for."""
    if not gathered.lost:
        return
    names = sorted(gathered.lost)
    if gathered.is_late:
        raise _Failed(
            answers.BROKER_TIMEOUT,
            f"Table '{routing.table}' was not read in time. Ask for less, or raise timeoutMs.",
            gathered,
        )
    raise _Failed(
        answers.SEGMENTS_UNAVAILABLE,
        f"{counted(len(names), 'segment')} of table '{routing.table}' could not be read: {answers.name_some(names)}. "
        f"{gathered.lost[names[0]]}",
        gathered,
        is_outdated=gathered.is_behind,
    )
