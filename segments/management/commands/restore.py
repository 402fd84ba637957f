"""``pinotadmin restore FILE``: a backup into an empty installation, at any address, under any cluster name."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from segments import wiring
from segments.domain.formats.plural import counted
from segments.errors import PinotAdminError
from segments.management.commands.setup_database import set_admin_password
from segments.management.database_problem import database_problem
from segments.management.running_installation import add_data_dir, use_installation
from segments.request_ids import request_of_its_own
from segments.services.backup.history_copies import restore_history
from segments.services.backup.restore import Restored, Wanted, restore
from segments.services.clusters.own_deep_store import own_deep_store
from segments.services.core.context import Actor


class Command(BaseCommand):
    """Exit status 1 and one sentence when nothing was restored."""

    help = (
        "Restores a backup into this installation, whose parts do not run: ZooKeeper's records and the database. "
        "Cut, it is done again from the start; until it is whole no part starts."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Which file, and what becomes of what is there."""
        parser.add_argument("file", type=Path, nargs="?", help="a file that 'pinotadmin backup' made")
        parser.add_argument(
            "--history", action="store_true",
            help="instead of a file: audit records and pushes that the database lacks, from their copies in the deep "
            "store; parts may run",
        )  # fmt: skip
        parser.add_argument("--replace", action="store_true", help="all that this installation holds is lost")
        parser.add_argument("--dry-run", action="store_true", help="check the file, the target and the deep store only")
        parser.add_argument(
            "--server", action="append", default=[], metavar="OLD=NEW", type=_pair,
            help="a server of the backup is this one here (Server_HOST_PORT); repeat",
        )  # fmt: skip
        parser.add_argument(
            "--without-missing", action="store_true", help="also when files of the deep store are missing"
        )
        parser.add_argument(
            "--set-admin-password", action="store_true",
            help="the user admin gets PINOTADMIN_ADMIN_PASSWORD; else it has, as everybody, the password of the backup",
        )  # fmt: skip
        parser.add_argument("--reason", default="", help="goes into the audit record")
        add_data_dir(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, then restore."""
        use_installation(options["data_dir"])
        if options["history"] == (options["file"] is not None):
            raise CommandError("Name the file of a backup, or say --history.")
        if options["history"]:
            self._history()
            return
        password = os.environ.get("PINOTADMIN_ADMIN_PASSWORD", "")
        if options["set_admin_password"] and not password:
            raise CommandError("--set-admin-password takes the password from PINOTADMIN_ADMIN_PASSWORD: set that.")
        wanted = Wanted(options["replace"], dict(options["server"]), options["without_missing"], options["dry_run"])
        try:
            wiring.store(restoring=True)
            with request_of_its_own():
                done = restore(
                    wiring.context(), options["file"], wanted, Actor(getpass.getuser(), options["reason"]),
                    self.stdout.write,
                )  # fmt: skip
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(database_problem(error)) from error
        finally:
            wiring.close()
        if options["set_admin_password"] and not wanted.dry_run:
            set_admin_password(password)
        self._say(done, dry_run=wanted.dry_run)

    def _history(self) -> None:
        try:
            counts = restore_history(own_deep_store())
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        for what, count in counts.items():
            self.stdout.write(f"Put back {count:,} {what}.")

    def _say(self, done: Restored, *, dry_run: bool) -> None:
        verb = "Nothing was written. It would restore" if dry_run else "Restored"
        self.stdout.write(
            f"{verb} {counted(done.znodes, 'znode')} and {counted(done.rows, 'row')}; "
            f"{counted(done.files, 'file', 'is', 'are')} listed."
        )
        for line in (*(f"{file}." for file in done.missing), *done.notes):
            self.stdout.write(line)


def _pair(text: str) -> tuple[str, str]:
    old, found, new = text.partition("=")
    if not (found and old.startswith("Server_") and new.startswith("Server_") and new.rpartition("_")[2].isdigit()):
        raise ValueError(text)
    return old, new
