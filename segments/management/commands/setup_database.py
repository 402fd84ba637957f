"""``manage.py setup_database``: tables, the user admin and the default schedules; runs before web and worker start."""

from __future__ import annotations

import os
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from segments.processes.machine.credentials import ADMIN_USER


class Command(BaseCommand):
    """Bring the database up to date; may run any number of times."""

    help = (
        "Creates or updates the database: tables, the user 'admin' (PINOTADMIN_ADMIN_PASSWORD) and the default "
        "schedules."
    )
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate when needed, then make sure of the user and the schedules."""
        # Imported here: the service needs the applications to be loaded.
        from segments.services.upkeep.periodic_passes import DECLARED
        from segments.services.upkeep.schedules import ensure_schedules

        if has_pending_migrations():
            self.stdout.write("Creating or updating the database ...")
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        if ensure_admin(os.environ.get("PINOTADMIN_ADMIN_PASSWORD", "")):
            self.stdout.write(f"Created the user '{ADMIN_USER}'.")
        ensure_schedules(DECLARED)


def has_pending_migrations() -> bool:
    """Whether ``migrate`` has anything to do; asking is much faster than running it for nothing."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def ensure_admin(password: str) -> bool:
    """Create the super user if the database has none of that name; True when it did. A known user's password is left
    alone.

    Raises CommandError when it has to be created and no password is given.
    """
    users = get_user_model()
    if users.objects.filter(username=ADMIN_USER).exists():
        return False
    if not password:
        raise CommandError(f"The user '{ADMIN_USER}' is to be created: set PINOTADMIN_ADMIN_PASSWORD.")
    users.objects.create_superuser(username=ADMIN_USER, password=password)
    return True


def set_admin_password(password: str) -> None:
    """The super user has this password; created if the database has none of that name."""
    if not ensure_admin(password):
        user = get_user_model().objects.get(username=ADMIN_USER)
        user.set_password(password)
        user.save(update_fields=["password"])
