"""The engine behind ``DATABASE_URL=postgresql://``: Django's own, over connections that are watched."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db.backends.postgresql import base

from pinotadmin.postgresql.watched import WatchedConnection


class _Psycopg:
    """psycopg, whose ``connect`` gives watched connections."""

    connect = staticmethod(WatchedConnection.connect)

    def __getattr__(self, name: str) -> Any:
        return getattr(psycopg, name)


class DatabaseWrapper(base.DatabaseWrapper):
    """As Django's."""

    Database = _Psycopg()  # type: ignore[assignment]  # a module to Django, which uses its names alone
