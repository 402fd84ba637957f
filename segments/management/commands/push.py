"""``manage.py push SPEC.yaml``: start a push from Pinot's ingestion job specification and follow it to its end."""

from __future__ import annotations

import argparse
import getpass
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from segments import tasks, wiring
from segments.errors import PinotAdminError
from segments.models import Push
from segments.services.context import Actor
from segments.services.push import create_push

_LOOK_S = 0.1


class Command(BaseCommand):
    """Exit status 0 when the new snapshot is queryable, 1 when the push failed or was refused."""

    help = "Push the files that an ingestion job specification names, through the workers of a running 'up'."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The specification's file, the reason, and whether to wait."""
        parser.add_argument("spec", help="Ingestion job specification, YAML or JSON")
        parser.add_argument("--reason", default="", help="Why; goes into the audit record")
        parser.add_argument("--wait", action=argparse.BooleanOptionalAction, default=True, help="Follow the push to its end")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create, enqueue, follow."""
        try:
            text = Path(options["spec"]).read_text(encoding="utf-8")
            actor = Actor(getpass.getuser(), options["reason"])
            push = create_push(wiring.context(), text, actor, roots=wiring.input_roots())
            tasks.enqueue_push(str(push.pk))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"'{options['spec']}' can not be read: {error}.") from error
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Push {push.pk} of {push.table_name}: {push.files_total} files.")
        if options["wait"] and follow(push, self.stdout.write).state != Push.State.DONE:
            raise CommandError(f"The push is {push.state}: {push.error}")


def follow(push: Push, say: Callable[[str], Any]) -> Push:
    """Say how far a push is whenever that changes, until it is finished; returns it as it is then."""
    last = ""
    while True:
        push.refresh_from_db()
        line = progress_line(push)
        if line != last:
            say(line)
            last = line
        if push.state in Push.TERMINAL:
            return push
        time.sleep(_LOOK_S)


def progress_line(push: Push) -> str:
    """One line: state, stage and figures."""
    figures = (
        f"{push.files_done}/{push.files_total} files, {push.segments_built}/{push.segments_total} segments built, "
        f"{push.segments_uploaded} registered, {push.rows:,} rows, {push.bytes:,} bytes"
    )
    if push.state == Push.State.DONE and push.finished_at is not None:
        seconds = (push.finished_at - push.created_at).total_seconds()
        return f"  done in {seconds:.1f} s: {figures}"
    words = push.get_stage_display() if push.state == Push.State.RUNNING else push.get_state_display()
    return f"  {words}: {figures}"
