"""``manage.py client COMMAND``: the command ``pinotadmin``, by default on the running ``up``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from pinotadmin_client.commands.main import run


class Command(BaseCommand):
    """Hands everything to ``python -m pinotadmin_client``."""

    help = (
        "Load, tables, history, go-back, snapshots, rollback, undo, pause, resume, query and audit of an installation, "
        "over its REST API."
    )
    requires_system_checks = ()
    #: What stands before the given arguments.
    command: tuple[str, ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Takes what the command takes; ``client rollback --help`` lists it."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="COMMAND ...")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with the command's status."""
        running = Path(settings.DATA_DIR) / "endpoints.json"
        found = str(running) if running.is_file() else ""
        hint = (
            f"{running} is not there: no 'up' has its data in that folder (PINOTADMIN_DATA_DIR names another one), or "
            "a part of it is down."
        )
        program = "manage.py client" if Path(sys.argv[0]).name == "manage.py" else "pinotadmin"
        sys.exit(run([*self.command, *options["arguments"]], program, credentials_file=found, hint=hint))
