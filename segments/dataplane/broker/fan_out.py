"""Asks servers for their parts: every segment exactly once, another replica at once when a server cannot answer."""

from __future__ import annotations

import itertools
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from segments import traces
from segments.dataplane import query_bounds
from segments.dataplane.broker.progress import Least
from segments.dataplane.broker.routing import ServerRef
from segments.dataplane.broker.server_health import ServerHealth
from segments.dataplane.stopping import Stop
from segments.errors import PinotAdminError, Unavailable
from segments.gateways.answer_budget import AnswerBudget
from segments.gateways.servers import QueryReply, Servers

log = logging.getLogger(__name__)

_PROBE_S: Final = 2.0
#: Seconds in which a server that was down must say that it lives, to be asked for rows that another one lacks.
_IS_BACK_S: Final = 0.5
#: All parts of one query may have so many times the bytes that its answer may: what is merged is smaller than its
#: parts.
_PARTS: Final = 4


#: Which of several servers a growing segment is read from.
Chooser = Callable[[str, Sequence[ServerRef]], ServerRef]


@dataclass
class Gathered:
    """What came back. The answer is whole only when ``lost`` is empty.

    ``lost``: {segment: why no replica could answer}. ``is_behind``: a server lacked a segment, so the routing is behind
    what servers do. ``is_late``: the time was over. ``parts`` are encoded partial results that cover every other
    segment exactly once.
    """

    parts: list[bytes] = field(default_factory=list)
    queried: set[str] = field(default_factory=set)
    responded: set[str] = field(default_factory=set)
    lost: dict[str, str] = field(default_factory=dict)
    is_behind: bool = False
    is_late: bool = False


def _room() -> AnswerBudget:
    remedy = (
        "Ask for fewer rows, columns or groups, or raise PINOTADMIN_QUERY_MAX_ANSWER_BYTES, of which all parts may "
        "have four times."
    )
    return AnswerBudget(_PARTS * query_bounds.current().answer_bytes, remedy)


@dataclass
class _Open:
    """Segments still to be had, and which servers cannot give them. Those of ``least`` are read where
    ``choose`` says. ``behind``: servers that have fewer rows of a segment than earlier queries saw; where nobody has
    more, the query ``settles`` for theirs. ``is_back``: {server that was down: does it live?}.
    """

    least: Least
    choose: Chooser
    replicas: Mapping[str, tuple[ServerRef, ...]]
    stop: Stop
    tried: dict[str, set[str]]
    silent: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    room: AnswerBudget = field(default_factory=_room)
    is_patient: bool = False
    behind: dict[str, list[ServerRef]] = field(default_factory=lambda: defaultdict(list))
    settles: set[str] = field(default_factory=set)
    is_back: dict[str, bool] = field(default_factory=dict)

    def has_others(self, segment: str, server: ServerRef) -> bool:
        """May a server other than this one have it, as far as this query knows?"""
        return any(s != server and s.instance not in self.tried[segment] for s in self.replicas[segment])


class FanOut:
    """Runs the requests of a query, in parallel when there are several servers. Rejected by a server is raised: all
    would refuse.
    """

    def __init__(self, servers: Servers, health: ServerHealth, threads: int = 32) -> None:
        self._servers, self._health = servers, health
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="fan-out")
        self._ending = ThreadPoolExecutor(2, thread_name_prefix="fan-out-ending")
        self._turn = itertools.count()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._ending.shutdown(wait=True, cancel_futures=True)

    def gather(
        self,
        request: Mapping[str, Any],
        replicas: Mapping[str, tuple[ServerRef, ...]],
        deadline: float,
        least: Least,
        choose: Chooser,
        stop: Stop | None = None,
    ) -> Gathered:
        """Ask for all segments of ``replicas`` until ``deadline`` (``time.monotonic``). ``schema`` in the request goes
        to servers that do not know it yet. ``least``: rows that consuming segments must have; they are read where
        ``choose`` says. Once ``stop`` is set, nobody is asked any more, and servers that were are asked to end.
        """
        gathered, still = Gathered(), _Open(least, choose, replicas, stop or Stop(), defaultdict(set))
        waiting = list(replicas)
        while waiting:
            plan = self._assign(waiting, still, gathered)
            if not plan:
                break
            waiting = []
            for server, segments, reply in self._ask(request, plan, deadline, still):
                gathered.queried.add(server.instance)
                waiting += self._take(server, segments, reply, still, gathered)
        return gathered

    def _assign(self, segments: list[str], still: _Open, gathered: Gathered) -> dict[ServerRef, list[str]]:
        """{server: segments}, in turn among those that answer; one that is down only when nobody else is left."""
        plan: dict[ServerRef, list[str]] = defaultdict(list)
        turn = next(self._turn)
        up = {s: self._is_up(s) for s in {s for name in segments for s in still.replicas[name]}}
        for number, name in enumerate(segments):
            choice = [s for s in still.replicas[name] if s.instance not in still.tried[name]]
            if still.behind[name]:  # a silent server is not waited for while another one has fewer rows
                choice = [s for s in choice if up[s] or self._is_back(s, still)]
            if not choice and name not in still.settles and still.behind[name]:
                still.settles.add(name)
                choice = still.behind[name]
            elif not choice and not still.is_patient:
                choice = self._second_chance(name, still)
            best = [s for s in choice if up[s]] or choice
            if best and name in still.least.segments:
                plan[still.choose(name, best)].append(name)
            elif best:
                plan[best[(turn + number) % len(best)]].append(name)
            else:
                gathered.lost[name] = still.reasons.get(name, "no live server serves it")
        return plan

    def _second_chance(self, name: str, still: _Open) -> list[ServerRef]:
        """Servers that were only silent get the rest of the time when nobody else can answer."""
        choice = [s for s in still.replicas[name] if s.instance in still.silent]
        if choice:
            still.is_patient = True
        return choice

    def _is_up(self, server: ServerRef) -> bool:
        if self._health.take_probe(server):
            self._pool.submit(self._probe, server)
        return self._health.is_up(server)

    def _is_back(self, server: ServerRef, still: _Open) -> bool:
        if server.instance not in still.is_back:
            still.is_back[server.instance] = self._servers.is_alive(server.url, _IS_BACK_S)
        return still.is_back[server.instance]

    def _probe(self, server: ServerRef) -> None:
        if self._servers.is_alive(server.url, _PROBE_S):
            self._health.mark_up(server)
        else:
            self._health.mark_down(server)

    def _ask(
        self, request: Mapping[str, Any], plan: Mapping[ServerRef, list[str]], deadline: float, still: _Open
    ) -> list[tuple[ServerRef, list[str], QueryReply | Unavailable]]:
        """All servers at once; the last of them on this very thread."""
        *others, (last, last_segments) = plan.items()
        futures: list[tuple[ServerRef, list[str], Future[QueryReply | Unavailable]]] = [
            (
                server,
                segments,
                self._pool.submit(traces.carried(self._ask_one), request, server, segments, deadline, still),
            )
            for server, segments in others
        ]
        own = self._ask_one(request, last, last_segments, deadline, still)
        return [
            *((server, segments, future.result()) for server, segments, future in futures),
            (last, last_segments, own),
        ]

    def _ask_one(
        self, request: Mapping[str, Any], server: ServerRef, segments: list[str], deadline: float, still: _Open
    ) -> QueryReply | Unavailable:
        left = deadline - time.monotonic()
        if left <= 0:
            return Unavailable("there was no time left to ask", timed_out=True)
        try:
            patient = still.is_patient
            asked = {**request, "segments": segments}
            least = still.least
            if docs := {s: least.docs[s] for s in segments if least.docs.get(s) and s not in still.settles}:
                asked["minDocs"] = docs
            if tails := {s: 0 if s in still.settles else least.tails[s] for s in segments if s in least.tails}:
                asked["tails"] = tails
            asked["insists"] = any(still.has_others(s, server) for s in (*docs, *tails) if s not in still.settles)
            schema = asked.pop("schema", None)
            ending = still.stop.calling(lambda: self._end_soon(server, still.stop.query))
            with ending, traces.step("ask server", server=server.instance, segments=len(segments)):
                reply = self._servers.query(server.url, asked, left, is_patient=patient, room=still.room)
                if not reply.needs_schema:
                    return reply
                # Once per schema, table and life of a server.
                asked["schema"] = schema
                return self._servers.query(
                    server.url, asked, max(0.1, deadline - time.monotonic()), is_patient=patient, room=still.room
                )
        except Unavailable as error:
            return error

    def _end_soon(self, server: ServerRef, query: str) -> None:
        """On a thread that no query needs, so that queries that take all of theirs can be ended."""
        self._ending.submit(self._end, server, query)

    def _end(self, server: ServerRef, query: str) -> None:
        try:
            self._servers.cancel(server.url, query, _PROBE_S)
        except PinotAdminError as error:  # it ends with its time
            log.warning("%s was not reached to end query %s: %s", server.instance, query, error)

    def _take(
        self, server: ServerRef, segments: list[str], reply: QueryReply | Unavailable, still: _Open, gathered: Gathered
    ) -> list[str]:
        """Book one reply; returns the segments that have to be requested again."""
        if isinstance(reply, Unavailable):
            if reply.data.get("is_dead"):
                self._health.mark_down(server)
            if reply.data.get("silent") and not still.is_patient:
                still.silent.add(server.instance)
            gathered.is_late |= bool(reply.data.get("timed_out"))
            self._note_failure(server, segments, str(reply), still)
            return segments
        self._health.mark_up(server)
        gathered.responded.add(server.instance)
        if reply.partial is not None:
            gathered.parts.append(reply.partial)
            return []
        gathered.is_behind |= not reply.behind
        together = still.least.together
        lacking = [s for s in segments if s in (*reply.missing, *reply.behind) or s in together] or segments
        if reply.behind:
            for name in lacking:
                still.behind[name].append(server)
        self._note_failure(server, lacking, f"{server.instance} does not hold it", still)
        return segments

    def _note_failure(self, server: ServerRef, segments: list[str], reason: str, still: _Open) -> None:
        for name in segments:
            still.tried[name].add(server.instance)
            still.reasons[name] = reason
