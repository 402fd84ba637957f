"""``manage.py up``: the whole embedded cluster in the foreground."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from segments.errors import PinotAdminError
from segments.processes.plan import PROJECT, Options
from segments.processes.run import Request, run_cluster


def default_data_dir() -> Path:
    """PINOTADMIN_DATA_DIR, else ``.pinotadmin`` beside manage.py."""
    return Path(os.environ.get("PINOTADMIN_DATA_DIR") or PROJECT / ".pinotadmin")


def _server_count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= 16:
        raise ValueError(text)
    return count


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise ValueError(text)
    return port


class Command(BaseCommand):
    """Start ZooKeeper, Redis, the servers, web, mirror, worker and beat, and keep them running until Ctrl-C."""

    help = "Starts and supervises the whole embedded cluster in the foreground; Ctrl-C stops it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Options of DESIGN section 10."""
        parser.add_argument("--data-dir", type=Path, default=default_data_dir(), help="where all data is kept (default: %(default)s)")
        parser.add_argument(
            "--port", type=_port, default=None, help="of the console and the API (default: as before, or 9000; 0: a free one)"
        )
        parser.add_argument("--host", default="127.0.0.1", help="address on which the console listens (default: %(default)s)")
        parser.add_argument("--servers", type=_server_count, default=2, help="number of embedded servers (default: %(default)s)")
        parser.add_argument("--demo", action="store_true", help="fill the cluster with the demo once it is healthy")
        parser.add_argument(
            "--input-root", type=Path, action="append", default=[], metavar="DIR", help="a folder that pushes may read; repeat"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal; exit status 1 and one clear sentence when it can not start."""
        roots = tuple(root.absolute() for root in options["input_root"])
        for root in roots:
            if not root.is_dir():
                raise CommandError(f"--input-root {root} is no folder.")
        request = Request(
            Options(options["data_dir"].absolute(), options["host"], roots, demo=options["demo"]), options["port"], options["servers"]
        )
        try:
            status = run_cluster(request, os.environ)
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        sys.exit(status)
