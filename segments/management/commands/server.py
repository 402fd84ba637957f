"""``manage.py server kill|stop|start NAME``: asks the running ``up``, so that failover can be tried by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from segments.errors import PinotAdminError
from segments.processes.control import ask


class Command(BaseCommand):
    """Kill, stop or start one process of the running cluster."""

    help = (
        "Kills (-9), stops or starts a process of the running 'up'; a killed or stopped one stays down until 'start'."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """``server kill Server_127.0.0.1_8098`` or ``server kill server-1``; any other process of ``up``
        by its name.
        """
        parser.add_argument("action", choices=("kill", "stop", "start"))
        parser.add_argument(
            "name", help="instance id (Server_127.0.0.1_8098) or process name (server-1, web, zookeeper ...)"
        )
        parser.add_argument(
            "--data-dir", type=Path, default=settings.DATA_DIR, help="of the running 'up' (default: %(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what was done; exit status 1 when no ``up`` runs there or the name is unknown."""
        try:
            self.stdout.write(ask(options["data_dir"].absolute(), options["action"], options["name"]))
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
