"""Audit records as lines: what a person did in one request with its parts folded, where each leads, what was before and
after.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.urls import NoReverseMatch

from segments.console.presenters.badges import Mark, mark
from segments.models import AuditEvent
from segments.services.core.page_addresses import address_in, default_cluster

Events = QuerySet[AuditEvent, AuditEvent]
#: Parts of all lines of a page; of more the record itself says how many there are.
_MOST_PARTS: Final = 500
_TABLE: Final = re.compile(r"(?P<table>[^/]+_(?:OFFLINE|REALTIME))(?:/(?P<segment>[^/]+))?")


@dataclass(frozen=True)
class AuditLine:
    """One thing that was done. ``parts``: other records of the same request, oldest first. ``links``: (words, address)
    of what it was done to.
    """

    event: AuditEvent
    mark: Mark
    parts: Sequence[tuple[AuditEvent, Mark]]
    links: Sequence[tuple[str, str]]


def search(events: Events, text: str) -> Events:
    """Those that hold the text anywhere: who, what, target, reason, request, detail."""
    fields = ("actor", "action", "target", "reason", "address", "request_id")
    found = Q()
    for name in fields:
        found |= Q(**{f"{name}__icontains": text})
    # SQLite keeps JSON with everything but ASCII escaped, PostgreSQL as it is.
    for form in {text, json.dumps(text)[1:-1]}:
        found |= Q(_detail__icontains=form)
    return events.alias(_detail=Cast("detail", TextField())).filter(found)


def folded(events: Events) -> Events:
    """Of what one request did only the last record, which is the one of the whole."""
    later = events.filter(request_id=OuterRef("request_id"), pk__gt=OuterRef("pk")).order_by()
    return events.filter(Q(request_id="") | ~Exists(later))


def audit_lines(shown: Sequence[AuditEvent], readable: Events) -> list[AuditLine]:
    """A page of records, with their parts out of ``readable``. One query, however many there are."""
    ids = {e.request_id for e in shown if e.request_id}
    parts: dict[str, list[tuple[AuditEvent, Mark]]] = {}
    if ids:
        others = readable.filter(request_id__in=ids).exclude(pk__in=[e.pk for e in shown])
        for part in others.order_by("pk")[:_MOST_PARTS]:
            parts.setdefault(part.request_id, []).append((part, mark(part.outcome)))
    return [AuditLine(e, mark(e.outcome), parts.get(e.request_id, []), links_of(e)) for e in shown]


def links_of(event: AuditEvent) -> list[tuple[str, str]]:
    """Pages of what the record is about. What was deleted meanwhile has a page that says so."""
    cluster = event.cluster or default_cluster()
    found = _TABLE.fullmatch(event.target)
    if found is None:
        return _links(cluster, [("push", "console:push", (event.detail.get("push"),))])
    table, entry, push = found["table"], event.detail.get("entry"), event.detail.get("push")
    return _links(
        cluster,
        [
            ("table", "console:table", (table,)),
            ("segment", "console:segment", (table, found["segment"])),
            ("entry", "console:entry", (table, entry)),
            ("push", "console:push", (push,)),
        ],
    )


def changes(detail: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(what, before, after) of a record that has both, only where they differ."""
    if "before" not in detail and "after" not in detail:
        return []
    before, after = detail.get("before"), detail.get("after")
    if isinstance(before, dict | None) and isinstance(after, dict | None):
        old, new = before or {}, after or {}
        return [(k, _text(old.get(k)), _text(new.get(k))) for k in {**old, **new} if old.get(k) != new.get(k)]
    return [("", _text(before), _text(after))]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _links(cluster: str, pages: Sequence[tuple[str, str, tuple[Any, ...]]]) -> list[tuple[str, str]]:
    found = []
    for words, page, names in pages:
        if all(isinstance(name, str) and name for name in names):
            try:
                found.append((words, address_in(cluster, page, *names)))
            except NoReverseMatch:  # what the record names so is not a name
                continue
    return found
