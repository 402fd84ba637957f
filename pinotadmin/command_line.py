"""``pinotadmin COMMAND`` and ``manage.py COMMAND``: the configuration, the REST client's commands, and Django's.

``pinotadmin config``    what is set, from where, and what is wrong with it
``pinotadmin up``        a whole cluster in the foreground; every other command of ``manage.py`` too
``pinotadmin tables``    and the other commands of ``pinotadmin_client``: of a running installation, over its REST API
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import DatabaseError, OperationalError, connections

from pinotadmin.configuration import command as config_command
from pinotadmin.version import VERSION
from pinotadmin_client.commands.main import COMMAND_NAMES
from segments.errors import StateConflict
from segments.management.database_problem import database_problem
from segments.management.newer_database import WRITING, refuse_newer_database
from segments.processes.interpreter import load_undisturbed

#: What runs until it is stopped, so that lost connections to ZooKeeper belong into its log. Other commands end, and say
#: in the end what did not answer.
_PARTS: Final = ("up", "run", "run_server", "run_mirror")


def run(argv: Sequence[str]) -> int:
    """Do what ``argv`` (with the program's name first) asks for; returns the exit status."""
    load_undisturbed()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
    first = argv[1] if len(argv) > 1 else "help"
    if first in ("--version", "version"):
        sys.stdout.write(f"pinotadmin {VERSION}\n")
        return 0
    if first == "config":
        return _while_read(lambda: config_command.run(argv[2:]))
    if first in COMMAND_NAMES:
        return _while_read(lambda: manage([argv[0], "client", *argv[1:]]))
    return manage(argv)


def _while_read(write: Callable[[], int]) -> int:
    """The status of what writes to the standard output; 0 when whoever reads it has seen enough (``| head``)."""
    try:
        try:
            return write()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is written at the end fails no more
        return 0


def main() -> int:
    """The installed command."""
    return run(sys.argv)


def manage(argv: Sequence[str]) -> int:
    """A command of Django's; a wrong setting, and a database that is newer than we are or cannot be used, is one line
    (``--traceback``: everything about the last).
    """
    command = argv[1] if len(argv) > 1 else ""
    if command not in _PARTS:
        logging.getLogger("kazoo.discreet").addFilter(lambda record: record.levelno >= logging.ERROR)
    try:
        if not {"-h", "--help"} & set(argv):
            _check_database(command)
        execute_from_command_line(list(argv))
    except (ImproperlyConfigured, StateConflict) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except OperationalError as error:
        if "--traceback" in argv:
            raise
        sys.stderr.write(f"error: {database_problem(error)}\n")
        return 1
    return 0


def _check_database(command: str) -> None:
    """Before a command that writes to it."""
    if command not in WRITING:
        return
    django.setup()
    with suppress(DatabaseError):  # whoever uses it then says what is wrong
        refuse_newer_database(VERSION)
    connections.close_all()
