"""``manage.py load FILE``: the command ``pinotadmin load``, by default on the running ``up``."""

from __future__ import annotations

from segments.management.commands.client import Command as ClientCommand


class Command(ClientCommand):
    """Hands everything to ``python -m pinotadmin_client load``."""

    help = "Make a table of a file and load it: load FILE [--table NAME] [--append] [--dry-run] [--yes]"
    command = ("load",)
