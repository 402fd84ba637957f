"""Who may use a route of a server's port: processes of the cluster, by signed requests, and people, by what the web
application says.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal, Protocol

from segments.dataplane.server.http.routes import METRICS, Need, ServerRoute
from segments.domain.access.cluster_signature import is_signed
from segments.errors import Forbidden, NotAuthenticated
from segments.gateways.rate_limited_log import RateLimitedLog
from segments.gateways.signed_calls import CallVerifier, ReceivedCall

_seldom = RateLimitedLog(logging.getLogger(__name__))
Right = Literal["read", "operate"]


@dataclass(frozen=True)
class Asked:
    """A request before anything of it counts: its ``Authorization`` header, where it comes from, method and path."""

    authorization: str
    address: str
    method: str
    path: str


class Person(Protocol):
    """Somebody who may use the requested route. Blocks: it may ask a database."""

    def may_read(self, table: str) -> bool:
        """May they read this table too?"""


class People(Protocol):
    """Users, whom a server itself does not know."""

    def admit(self, asked: Asked, right: Right | None, table: str | None) -> Person:
        """Who asks, if they have ``right`` for ``table``, or without a table for the cluster as a whole; None: any
        user. Blocks.

        NotAuthenticated without right credentials, TooManyRequests after too many wrong ones, Forbidden without the
        right.
        """


class Nobody:
    """Where no users are known, no credentials are right."""

    def admit(self, asked: Asked, right: Right | None, table: str | None) -> Person:
        """NotAuthenticated."""
        raise NotAuthenticated("Credentials are missing or wrong.")


@dataclass(frozen=True)
class Caller:
    """Who uses a route: ``call`` of a process of the cluster, or ``person``; neither on an open route."""

    call: ReceivedCall | None = None
    person: Person | None = None

    def may_read(self, table: str) -> bool:
        """May they read this table? Blocks."""
        return self.call is not None or (self.person is not None and self.person.may_read(table))


class Authorization:
    """Decides about requests. ``has_open_metrics``: the figures may be read without credentials, and nothing else."""

    def __init__(self, verifier: CallVerifier, people: People | None = None, *, has_open_metrics: bool = False) -> None:
        self._verifier, self._people = verifier, people or Nobody()
        self._has_open_metrics = has_open_metrics

    def needs_thread(self, route: ServerRoute, asked: Asked) -> bool:
        """Does ``admit`` ask about a person, which may block?"""
        return (
            bool(asked.authorization)
            and route.need not in (Need.OPEN, Need.CLUSTER)
            and not is_signed(asked.authorization)
        )

    def admit(self, route: ServerRoute, asked: Asked, target: str, table: str | None) -> Caller:
        """Who asks for this route. ``target``: path and query as on the request line; ``table``: that of the path.

        NotAuthenticated, TooManyRequests, Forbidden.
        """
        if route.need is Need.OPEN:
            return Caller()
        if is_signed(asked.authorization):
            return Caller(call=self._verified(asked, target))
        if not asked.authorization:
            if self._has_open_metrics and route.endpoint == METRICS:
                return Caller()
            raise NotAuthenticated("Credentials are missing.", remedy="Send HTTP Basic, or an API token as Bearer.")
        if route.need is Need.CLUSTER:
            raise Forbidden(
                "Only processes of the cluster may use this.",
                remedy="Send queries to the broker: POST /query/sql of the web process.",
            )
        return Caller(person=self._people.admit(asked, _RIGHTS[route.need], table))

    def _verified(self, asked: Asked, target: str) -> ReceivedCall:
        try:
            return self._verifier.verify(asked.authorization, asked.method, target)
        except NotAuthenticated as error:
            _seldom.warning(
                asked.address, "%s %r from %s is refused: %s", asked.method, asked.path[:200], asked.address, error
            )
            raise


_RIGHTS: dict[Need, Right | None] = {Need.LOGIN: None, Need.READ: "read", Need.OPERATE: "operate"}
