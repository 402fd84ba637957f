"""Rows that a text names, as far as the person may read them: a few of each kind, without reading the rest."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Case, Q, When
from django.db.models.functions import Length

from segments.models import IngestionSession, LineageEntry, Push, Segment, Table
from segments.services.access.read_rights import readable_pushes, readable_rows

#: Of each kind.
MOST: Final = 6
#: Shorter beginnings would fit half of all segments.
_SHORTEST: Final = 3
#: Digits of a push's id.
_OF_AN_ID: Final = 32
_LAST: Final = "\U0010ffff"


def tables(user: Any, cluster: str, text: str, kind: str = "") -> list[Table]:
    """Tables whose name holds the text: those that begin with it first, as every name ends in OFFLINE or REALTIME; then
    the shortest. ``kind``: only OFFLINE or REALTIME ones.
    """
    rows = Table.objects.filter(cluster__name=cluster, name__icontains=text)
    rows = rows.filter(type=kind) if kind else rows
    rows = readable_rows(rows, user, cluster="cluster__name", table="name")
    begins = Case(When(name__istartswith=text, then=0), default=1)
    return list(rows.defer("config", "schema").order_by(begins, Length("name"), "name")[:MOST])


def segments(user: Any, cluster: str, text: str) -> list[Segment]:
    """Segments whose name begins with the text, as it is written."""
    if len(text) < _SHORTEST:
        return []
    mine = readable_rows(Table.objects.filter(cluster__name=cluster), user, cluster="cluster__name", table="name")
    rows = Segment.objects.filter(table__in=mine, name__gte=text, name__lt=text + _LAST)
    return list(rows.select_related("table").only("name", "table__name").order_by("name")[:MOST])


def entries(user: Any, cluster: str, text: str) -> list[LineageEntry]:
    """Replacements whose id begins with the text."""
    if len(text) < _SHORTEST:
        return []
    rows = LineageEntry.objects.filter(table__cluster__name=cluster, entry_id__startswith=text)
    rows = readable_rows(rows, user, cluster="table__cluster__name", table="table__name")
    return list(rows.select_related("table").only("entry_id", "state", "table__name")[:MOST])


def pushes(user: Any, cluster: str, text: str) -> list[Push]:
    """The newest pushes to tables whose name holds the text, and those whose id begins with it."""
    found, digits = Q(table_name__icontains=text), text.replace("-", "")
    if _SHORTEST <= len(digits) <= _OF_AN_ID:
        with suppress(ValueError):  # most texts are no id
            found |= Q(pk__range=(uuid.UUID(digits.ljust(_OF_AN_ID, "0")), uuid.UUID(digits.ljust(_OF_AN_ID, "f"))))
    rows = readable_pushes(Push.objects.filter(found, cluster=cluster), user)
    return list(rows.only("table_name", "state", "created_at").order_by("-created_at")[:MOST])


def sessions(user: Any, cluster: str, text: str) -> list[IngestionSession]:
    """File ingestion sessions whose id begins with the text."""
    if len(text) < _SHORTEST:
        return []
    rows = IngestionSession.objects.filter(table__cluster__name=cluster, session_id__startswith=text)
    rows = readable_rows(rows, user, cluster="table__cluster__name", table="table__name")
    return list(rows.select_related("table").only("session_id", "state", "table__name")[:MOST])


def people(user: Any, text: str) -> list[AbstractBaseUser]:
    """Users whose name holds the text; nobody for who may not see users in the admin."""
    if not (user.is_staff and user.has_perm("auth.view_user")):
        return []
    return list(get_user_model().objects.filter(username__icontains=text).order_by("username")[:MOST])
