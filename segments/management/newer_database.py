"""An older program leaves the database of a newer one alone: it would write rows without what the newer one needs."""

from __future__ import annotations

from typing import Final

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from segments.errors import StateConflict

#: Ours, and those packages whose tables our schedules are in.
_APPS: Final = ("segments", "django_celery_beat")
#: Commands that write to the database, and so ask first; ``up`` runs ``setup_database`` before anything else.
WRITING: Final = frozenset(
    [
        *("setup_database", "run", "run_mirror", "cluster", "backup", "restore"),
        *("migrate", "createsuperuser", "changepassword", "loaddata", "flush", "remove_stale_contenttypes"),
    ]
)


def refuse_newer_database(program: str) -> None:
    """StateConflict when a newer program has changed the database already. ``program``: our version. DatabaseError."""
    loader = MigrationLoader(connection)
    known = {name for app, name in loader.disk_migrations if app in _APPS}
    newer = sorted(name for app, name in loader.applied_migrations if app in _APPS and name not in known)
    newer = [name for name in newer if not _was_replaced(loader, name)]
    if newer:
        raise StateConflict(
            f"The database belongs to a newer version: it has had the change {newer[-1]}, which pinotadmin {program} "
            "does not know.",
            remedy="Run the newer version here, too, or restore a backup that was made before the upgrade.",
        )


def _was_replaced(loader: MigrationLoader, name: str) -> bool:
    """Is it part of a migration that took the place of several?"""
    return any(name == old for migration in loader.disk_migrations.values() for _, old in migration.replaces)
