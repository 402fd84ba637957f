"""``pinotadmin backup FILE``: ZooKeeper, the database and the list of the deep store's files, in one file."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from segments import wiring
from segments.domain.formats.plural import counted
from segments.errors import PinotAdminError
from segments.management.database_problem import database_problem
from segments.management.running_installation import add_data_dir, use_installation
from segments.services.backup.backup import make_backup
from segments.services.core.context import Actor


class Command(BaseCommand):
    """Exit status 1 and one sentence when there is no backup."""

    help = (
        "Writes ZooKeeper's records, the database and the list of the deep store's files to one file, while the "
        "installation runs. It holds passwords as hashes and credentials in table configs as they are: keep it safe."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to."""
        parser.add_argument("file", type=Path, help="the backup; an existing one is replaced once the new one is whole")
        parser.add_argument("--reason", default="", help="goes into the audit record")
        add_data_dir(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it."""
        actor = Actor(getpass.getuser(), options["reason"])
        use_installation(options["data_dir"])
        try:
            made = make_backup(wiring.context(), options["file"].absolute(), actor, settings.VERSION, self.stdout.write)
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(database_problem(error)) from error
        finally:
            wiring.close()
        self.stdout.write(
            f"{options['file']}: {counted(made.znodes, 'znode')}, {counted(made.rows, 'row')}, "
            f"{counted(made.files, 'file')} listed; {made.bytes:,} bytes."
        )
