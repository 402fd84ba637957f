"""Commands that change something: each shows what it would do, then wants a yes."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from pinotadmin_client.client import Client
from pinotadmin_client.commands.output import write, write_json
from pinotadmin_client.errors import ClientError
from pinotadmin_client.generated.models import SnapshotSummary


class NotConfirmed(ClientError):
    """Nobody said yes."""


class Blocked(ClientError):
    """The preview says that it cannot be done."""


def rollback(client: Client, given: Namespace) -> None:
    """Go back to the snapshot before an entry."""
    preview = client.lineage.preview_rollback(given.table, to=given.entry, type_=given.type)
    if goes_on(given, preview, f"Rolls {preview.table} back over {len(preview.steps)} entries."):
        done = client.lineage.roll_back(given.table, to=given.entry, type_=given.type, reason=given.reason)
        _finish(given, done, f"Done: {len(done.reverted)} entries of {done.table} were reverted.")


def undo(client: Client, given: Namespace) -> None:
    """Undo the rollback of an entry."""
    preview = client.lineage.preview_undo(given.table, given.entry, type_=given.type)
    if goes_on(given, preview, f"Undoes the rollback of {len(preview.undoes)} entries of {preview.table}."):
        done = client.lineage.undo(given.table, given.entry, type_=given.type, reason=given.reason)
        _finish(given, done, f"Done: queries of {done.table} see {len(done.returned_segments)} segments again.")


def go_back(client: Client, given: Namespace) -> None:
    """Go back, or forward again, to a snapshot."""
    preview = client.snapshots.preview(given.table, given.number, type_=given.type)
    if goes_on(given, preview, f"Queries of {preview.table} will see snapshot {given.number}."):
        done = client.snapshots.go_back(given.table, given.number, type_=given.type, reason=given.reason)
        _finish(given, done, f"Done: queries of {done.table} see snapshot {done.number}; undo: go-back {done.undo}.")


def pause(client: Client, given: Namespace) -> None:
    """Pause the consumption of a table."""
    status = client.consumption.pause_status(given.table)
    if goes_on(given, status, f"Pauses {given.table}: {len(status.consuming_segments)} segments consume now."):
        done = client.consumption.pause(given.table, reason=given.reason)
        _finish(given, done, f"{given.table} is paused; {len(done.consuming_segments)} segments still commit.")


def resume(client: Client, given: Namespace) -> None:
    """Resume the consumption of a table."""
    status = client.consumption.pause_status(given.table)
    is_paused = "paused" if status.pause_flag else "not paused"
    if goes_on(given, status, f"Resumes {given.table}, which is {is_paused}."):
        done = client.consumption.resume(given.table, reason=given.reason)
        _finish(given, done, f"{given.table} consumes into {len(done.consuming_segments)} segments.")


def goes_on(given: Namespace, preview: Any, sentence: str) -> bool:
    """Show the preview and ask. False after a dry run; raises Blocked and NotConfirmed."""
    if given.dry_run and given.json:
        write_json(preview)
    elif not given.json:
        write(sentence)
        if isinstance(getattr(preview, "before", None), SnapshotSummary):
            write(f"  rows {preview.before.rows} -> {preview.after.rows}, segments {preview.before.segments} -> "
                  f"{preview.after.segments}")  # fmt: skip
    if getattr(preview, "blockers", None):
        raise Blocked(" ".join(preview.blockers))
    if given.dry_run:
        return False
    if not given.yes and not said_yes("Go on?"):
        raise NotConfirmed("Nothing was changed. Answer y, or give --yes.")
    return True


def said_yes(question: str) -> bool:
    """Ask on the terminal; without one nobody said yes."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _finish(given: Namespace, done: Any, sentence: str) -> None:
    if given.json:
        write_json(done)
    else:
        write(sentence)
