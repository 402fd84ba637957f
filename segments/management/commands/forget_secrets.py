"""``manage.py forget_secrets``: the shared secrets of the cluster may be changed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from segments import wiring
from segments.errors import PinotAdminError
from segments.store.records.instances import live_instances
from segments.store.records.shared_secrets import forget_secrets


class Command(BaseCommand):
    """Removes the fingerprints that new processes are compared with."""

    help = "Lets the cluster have new secrets: the next process that starts sets them. Stop all processes before."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether running processes do not matter."""
        parser.add_argument("--running", action="store_true", help="also while processes of the cluster run")

    def handle(self, *args: Any, **options: Any) -> None:
        """CommandError while processes run, which would no longer understand new ones."""
        settings.SHARED_SECRETS = {}
        try:
            store = wiring.store()
            running = sorted(live_instances(store))
            if running and not options["running"]:
                raise CommandError(f"{running[0]} runs: stop all processes of the cluster first, or add --running.")
            known = forget_secrets(store)
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        finally:
            wiring.close()
        self.stdout.write("The next process that starts sets the secrets." if known else "None were on record.")
