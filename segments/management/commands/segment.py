"""``manage.py segment inspect|verify|rows|convert PATH``: the segment tool as a command."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from segments.segmentfile.__main__ import main


class Command(BaseCommand):
    """Hands everything to ``python -m segments.segmentfile``."""

    help = "Inspects a segment (directory or tar.gz), checks it, prints or saves its rows, converts its layout."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Takes what the tool takes; ``segment rows --help`` lists it."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="inspect|verify|rows|convert PATH ...")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit status 1 when the segment has faults or cannot be read."""
        status = main(options["arguments"], "manage.py segment")
        if status:
            sys.exit(status)
