"""Append what was done or refused, by whom and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

from django.db import connections, router
from django.db.models import CharField, Field, TextField
from django.db.models.sql import InsertQuery

from segments.domain.formats.storable_text import document_without_nul, without_nul
from segments.domain.tables.secret_masks import mask
from segments.errors import PinotAdminError
from segments.metrics import upkeep
from segments.models import AuditEvent
from segments.request_ids import current_request
from segments.services.core.context import Actor, Context

#: What becomes of a change.
OUTCOMES: Final = ("done", "refused", "failed", "cancelled")
#: The most characters of a reason.
_LONGEST_REASON: Final = 10_000
#: Characters of what is recorded of one change, as JSON, and of a key of it.
LARGEST_DETAIL: Final = 256 << 10
_LONGEST_KEY: Final = 200


def record(
    actor: Actor, action: str, *, cluster: str = "", target: str = "", outcome: str = "done", **detail: Any
) -> AuditEvent:
    """Append one event. ``outcome`` is one of ``OUTCOMES``; ``detail`` must be JSON-ready; secrets in it are
    masked.
    """
    upkeep.CHANGES.add(action, outcome)
    event = cut(
        AuditEvent(
            actor=actor.name,
            action=action,
            cluster=cluster,
            target=target,
            outcome=outcome,
            reason=actor.reason,
            address=actor.address,
            detail=mask(detail),
            request_id=current_request(),
        )
    )
    using = router.db_for_write(AuditEvent)
    connection, (statement, fields) = connections[using], _insert(using)
    values = [field.get_db_prep_save(field.pre_save(event, add=True), connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        event.pk = cursor.fetchone()[0]
    return event


@contextmanager
def recorded(ctx: Context, actor: Actor, action: str, target: str = "", **detail: Any) -> Iterator[dict[str, Any]]:
    """Record the change that is made inside: done, or refused or failed with its error, which is raised on.

    The dict it gives is the event's detail: what is put into it inside is recorded, too.
    """
    try:
        yield detail
    except PinotAdminError as error:
        outcome = "refused" if error.permanent else "failed"
        record(actor, action, cluster=ctx.cluster, target=target, outcome=outcome, error=str(error), **detail)
        raise
    record(actor, action, cluster=ctx.cluster, target=target, **detail)


def cut(event: AuditEvent) -> AuditEvent:
    """The same with texts no longer than their columns, and without U+0000: no text is to keep something from being
    recorded.
    """
    for name, most in _columns():
        text = getattr(event, name)
        if len(text) > most or "\0" in text:
            setattr(event, name, without_nul(text)[:most])
    event.detail = _bounded(document_without_nul(event.detail))
    return event


def _bounded(detail: dict[str, Any]) -> dict[str, Any]:
    """The same without its longest values, where all of them are too long: a page of the record shows many events at
    once.
    """
    if len(json.dumps(detail, default=str)) <= LARGEST_DETAIL:
        return detail
    lengths, left = {key: len(json.dumps(value, default=str)) for key, value in detail.items()}, LARGEST_DETAIL
    kept: dict[str, Any] = {}
    for key in sorted(detail, key=lambda k: lengths[k]):
        left -= lengths[key]
        kept[key[:_LONGEST_KEY]] = detail[key] if left >= 0 else f"(left out: {lengths[key]:,} characters)"
    return kept


@lru_cache(maxsize=1)
def _columns() -> tuple[tuple[str, int], ...]:
    """Text columns and how long a text in each may be."""
    texts = [f for f in AuditEvent._meta.concrete_fields if isinstance(f, CharField | TextField)]
    return tuple((f.attname, f.max_length or _LONGEST_REASON) for f in texts)


@lru_cache(maxsize=4)
def _insert(using: str) -> tuple[str, tuple[Field[Any, Any], ...]]:
    """The statement as Django writes it, and its fields in their order: compiling it takes three times as long as
    running it.
    """
    meta = AuditEvent._meta
    fields = tuple(field for field in meta.concrete_fields if not field.primary_key)
    query = InsertQuery(AuditEvent)
    query.insert_values(fields, [AuditEvent()])
    compiler = query.get_compiler(using)
    compiler.returning_fields = [meta.pk]
    return compiler.as_sql()[0][0], fields
