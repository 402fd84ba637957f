"""Reads the files of an undone session again: they count as not ingested from then on, and a session begins."""

from __future__ import annotations

from typing import Final

from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.ingestion.forgetting import forget_files
from segments.services.ingestion.sessions import TriggerResult
from segments.services.schedules.task_start import start_now, stopped_sentence

#: Names of files in an audit record.
_LISTED: Final = 100


def read_again(
    ctx: Context, table: TableName, session_id: str, actor: Actor, *, override_stop: str = ""
) -> tuple[tuple[str, ...], TriggerResult]:
    """The files, and what became of the trigger. Where the trigger is refused, the files are read by the next one.

    StateConflict as ``forget_files``, and while the table's task is stopped, unless ``override_stop`` is the reason for
    which it starts anyway; nothing is changed then. Else raises as ``start_now``.
    """
    if not override_stop.strip() and (stopped := stopped_sentence(ctx, table)):
        raise StateConflict(stopped, remedy="Resume it, or give the reason why this run starts anyway (overrideStop).")
    with audit.recorded(ctx, actor, "readAgain", table.typed, session=session_id) as detail:
        files = forget_files(ctx, table, session_id)
        detail |= {"files": list(files[:_LISTED]), "countFiles": len(files)}
    return files, start_now(ctx, table, actor, override_stop=override_stop)
