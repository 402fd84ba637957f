"""Users of the web application at the ports of embedded servers: who they are, and what they may do there with which
table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error as DatabaseError
from django.db import close_old_connections

from segments.dataplane.server.http.authorization import Asked, Right
from segments.errors import Forbidden, NotAuthenticated, Unavailable
from segments.services.access import sign_in
from segments.services.access.refusals import record_refusal
from segments.services.access.rights import has_right
from segments.services.core.context import Actor


class ServerPeople:
    """The users of one cluster's servers. Every answer is as of now: passwords, rights and grants are
    read each time.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster

    def admit(self, asked: Asked, right: Right | None, table: str | None) -> ServerPerson:
        """Who asks, if they have ``right`` for ``table`` (raw or typed), or without one for the cluster as a whole;
        None: any user.

        NotAuthenticated, TooManyRequests, Forbidden, all on record; Unavailable when the database does not answer.
        """
        with _database():
            try:
                user = sign_in.who_asks(asked.authorization, asked.address)
            except NotAuthenticated as error:
                self._record("anonymous", asked, error, user=getattr(error, "user", ""))
                raise
            if right is not None and not has_right(user, right, self._cluster, table):
                what = f"table '{table}'" if table else "the cluster as a whole"
                refusal = Forbidden(f"You may not {right} {what}.", remedy="An administrator can grant it.")
                self._record(user.get_username(), asked, refusal)
                raise refusal
            return ServerPerson(user, self._cluster)

    def _record(self, who: str, asked: Asked, error: Exception, user: str = "") -> None:
        more = {"user": user} if user else {}
        record_refusal(Actor(who, "", asked.address), asked.path, method=asked.method, error=str(error), **more)


class ServerPerson:
    """One user in one request."""

    def __init__(self, user: Any, cluster: str) -> None:
        self._user, self._cluster = user, cluster

    def may_read(self, table: str) -> bool:
        """May they read this table?"""
        with _database():
            return has_right(self._user, "read", self._cluster, table)


@contextmanager
def _database() -> Iterator[None]:
    """There is no request of Django's here that would close the thread's connection."""
    close_old_connections()
    try:
        yield
    except DatabaseError as error:
        raise Unavailable("Users and rights cannot be read now.", remedy="Check the database.") from error
    finally:
        close_old_connections()
