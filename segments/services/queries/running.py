"""Queries that this process answers now: whose they are, since when, and how they are cancelled."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from segments.dataplane.stopping import Stop
from segments.errors import InvalidInput, NotFound
from segments.gateways.timer import TIMER
from segments.services.access.api_tokens import person_name
from segments.services.access.rights import has_right_everywhere
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.queries.options import CLIENT_ID

_MOST_CHARACTERS: Final = 100


@dataclass(frozen=True)
class RunningQuery:
    """``id`` is the ``requestId`` of the answer to come; ``client_id``: the one that its owner gave it, or empty."""

    id: str
    client_id: str
    owner: str
    cluster: str
    sql: str
    began_s: float
    stop: Stop


class RunningQueries:
    """Safe to use from several threads. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = TIMER.seconds) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, RunningQuery] = {}

    @contextmanager
    def running(self, user: Any, cluster: str, sql: str, client_id: str = "") -> Iterator[RunningQuery]:
        """A query is answered and sent inside, which may be left by another thread than entered. Raises InvalidInput
        for an odd ``client_id``.
        """
        if len(client_id) > _MOST_CHARACTERS or not client_id.isprintable():
            raise InvalidInput(
                f"The option {CLIENT_ID} is a name of at most {_MOST_CHARACTERS} characters.", remedy="Shorten it."
            )
        stop = Stop(uuid.uuid4().hex[:16])
        query = RunningQuery(stop.query, client_id, person_name(user), cluster, sql, self._clock(), stop)
        with self._lock:
            self._running[query.id] = query
        try:
            yield query
        finally:
            with self._lock:
                del self._running[query.id]

    def visible(self, user: Any, cluster: str, *, of_all: bool = False) -> list[RunningQuery]:
        """One's own on this cluster, oldest first; ``of_all``: everybody's, for administrators of the installation."""
        found = self.all_of(cluster)
        is_all = of_all and has_right_everywhere(user, "administer")
        return [q for q in found if is_all or q.owner == person_name(user)]

    def all_of(self, cluster: str) -> list[RunningQuery]:
        """Everybody's on this cluster, oldest first."""
        with self._lock:
            return [q for q in self._running.values() if q.cluster == cluster]

    def end(self, cluster: str, query_id: str) -> bool:
        """Stop the query of this id, whose owner another process has asked about; False when there is none."""
        found = [q for q in self.all_of(cluster) if q.id == query_id]
        for query in found:
            query.stop.set()
        return bool(found)

    def seconds(self, query: RunningQuery) -> float:
        """For how long it has run."""
        return self._clock() - query.began_s

    def cancel(self, ctx: Context, user: Any, actor: Actor, name: str) -> list[RunningQuery]:
        """Stop the query of this id, or one's own of this id of the client. Its owner may, and an administrator of the
        installation; NotFound for all others, as when there is none.
        """
        own = person_name(user)
        candidates = self.visible(user, ctx.cluster, of_all=True)
        found = [q for q in candidates if q.id == name or (q.client_id == name and q.owner == own)]
        if not found:
            raise NotFound(
                "You have no running query of this id.",
                remedy="It may have ended; GET /api/v1/queries lists those that run.",
            )
        for query in found:
            with audit.recorded(ctx, actor, "cancelQuery", query.id, owner=query.owner):
                query.stop.set()
        return found


@lru_cache(maxsize=1)
def running_queries() -> RunningQueries:
    """Those of this process."""
    return RunningQueries()
