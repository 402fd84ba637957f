"""A person's own queries: the last ones that ran, and saved ones, which a link shows to who may read their tables."""

from __future__ import annotations

import uuid
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from segments.errors import Conflict, InvalidInput, NotFound, PinotAdminError
from segments.models import KeptQuery
from segments.services.access.query_rights import require_query_rights
from segments.services.access.read_rights import reads_all

#: Of one person in one cluster, so that nobody fills the database.
MOST_RUNS: Final = 30
MOST_SAVED: Final = 100
#: Characters of a text that is kept; longer ones run, too.
MOST_CHARACTERS: Final = 20_000


def note_run(user: Any, cluster: str, sql: str) -> None:
    """Put a text that ran at the head of the person's history; the oldest one leaves it."""
    text = sql.strip()
    if not text or len(text) > MOST_CHARACTERS:
        return
    own = KeptQuery.objects.filter(owner=user, cluster=cluster, name="")
    with transaction.atomic():
        own.filter(sql=text).delete()
        KeptQuery.objects.create(owner=user, cluster=cluster, sql=text, kept_at=timezone.now())
        kept = list(own.values_list("pk", flat=True)[: MOST_RUNS * 2])
        own.filter(pk__in=kept[MOST_RUNS:]).delete()


def save_query(user: Any, cluster: str, name: str, sql: str) -> KeptQuery:
    """Save a text under a name; one of the same name is replaced. Raises InvalidInput, or Conflict when there are too
    many.
    """
    named, text = name.strip(), sql.strip()
    if not named or len(named) > 80:
        raise InvalidInput("A saved query has a name of 1 to 80 characters.", remedy="Write a name.", field="name")
    if not text or len(text) > MOST_CHARACTERS:
        raise InvalidInput(f"A query of 1 to {MOST_CHARACTERS} characters can be saved.", field="sql")
    with transaction.atomic():
        saved = KeptQuery.objects.filter(owner=user, cluster=cluster).exclude(name="")
        if saved.exclude(name=named).count() >= MOST_SAVED:
            raise Conflict(f"{MOST_SAVED} queries are saved already.", remedy="Delete one of them.")
        found, _ = KeptQuery.objects.update_or_create(
            owner=user, cluster=cluster, name=named, defaults={"sql": text, "kept_at": timezone.now()}
        )
    return found


def delete_query(user: Any, cluster: str, link: uuid.UUID) -> None:
    """Delete one of the person's own; nothing happens to those of others."""
    KeptQuery.objects.filter(owner=user, cluster=cluster, link=link).delete()


def own_queries(user: Any, cluster: str) -> tuple[list[KeptQuery], list[KeptQuery]]:
    """Those that are saved, by name, and the last ones that ran, newest first."""
    found = KeptQuery.objects.filter(owner=user, cluster=cluster)
    saved = sorted(found.exclude(name="")[:MOST_SAVED], key=lambda q: q.name.lower())
    return saved, list(found.filter(name="")[:MOST_RUNS])


def shared_query(user: Any, cluster: str, link: uuid.UUID, *, is_foreign: bool) -> KeptQuery:
    """A saved query by its link: one's own, or another's whose tables one may query. NotFound for all others, whether
    they exist or not.
    """
    query = KeptQuery.objects.filter(cluster=cluster, link=link).exclude(name="").first()
    if query is not None and query.owner_id != user.pk:
        try:
            require_query_rights(user, cluster, query.sql, {}, is_foreign=is_foreign)
            if not is_foreign and not reads_all(user):
                _check_readable(query.sql)
        except PinotAdminError:
            query = None
    if query is None:
        raise NotFound("There is no such query, or you may not read its tables.", remedy="Ask who sent the link.")
    return query


def _check_readable(sql: str) -> None:
    """Raises QueryRejected for a text whose tables are not known: nobody can have been asked about them."""
    from segments.dataplane.query.multistage import tables_read  # heavy; only processes that answer queries need it

    tables_read(sql)
