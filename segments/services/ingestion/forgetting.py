"""Has the files of an undone session count as not ingested, so that the next trigger reads them again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from segments.domain.ingestion.plan import follows_folder
from segments.domain.ingestion.registry import IngestedFiles
from segments.domain.ingestion.session import FileState, IngestionSession
from segments.domain.ingestion.task_config import IngestionTask
from segments.domain.ingestion.transitions import EndReason
from segments.errors import Conflict, NotFound, StateConflict
from segments.names import TableName, shown
from segments.services.core.context import Context
from segments.services.ingestion.manifest import Manifest, read_manifest, read_registry, write_registry
from segments.services.ingestion.session_store import TaskRecord, find_session, read_task
from segments.services.ingestion.situation import read_setup, read_visible


@dataclass(frozen=True)
class Forgettable:
    """``files`` of an undone session that count as ingested while queries see no row of them; ``blockers``: why they
    are not read again like this.
    """

    files: tuple[str, ...]
    blockers: tuple[str, ...] = ()


def find_forgettable(ctx: Context, table: TableName, session_id: str) -> Forgettable:
    """Changes nothing. NotFound for a session that ZooKeeper has not, StateConflict for one that was not undone; what
    ``read_setup`` raises.
    """
    return _find(ctx, table, session_id)[0]


def forget_files(ctx: Context, table: TableName, session_id: str) -> tuple[str, ...]:
    """Take these files out of what is known as ingested; returns them. Raises what ``find_forgettable`` raises, and
    StateConflict with what stands in the way, or when a trigger was faster.
    """
    found, record, known = _find(ctx, table, session_id)
    if found.blockers:
        raise StateConflict(
            f"The files of session '{session_id}' are not read again: {' '.join(found.blockers)}",
            remedy="The page of the session says what becomes of its files.",
        )
    left = {path: was for path, was in known.files.items() if path not in found.files}
    uri = write_registry(ctx, table, replace(known, files=left))
    try:
        ctx.store.transaction([record.write(ctx, table, registry_uri=uri)])
    except Conflict as error:
        ctx.deep_store.delete(uri)
        raise StateConflict(
            f"A session of table '{table}' began meanwhile.", remedy="Wait for its end, then ask again."
        ) from error
    ctx.deep_store.delete(record.registry_uri)
    return found.files


def _find(ctx: Context, table: TableName, session_id: str) -> tuple[Forgettable, TaskRecord, IngestedFiles]:
    """The record is read before the registry that it names, and is the one that a change is written on."""
    task, record = read_setup(ctx, table).task, read_task(ctx, table)
    manifest = _undone(ctx, table, session_id)
    known, visible = read_registry(ctx, record.registry_uri), read_visible(ctx, table).segments
    files = tuple(
        f.uri
        for f in manifest.files
        if f.state is FileState.DONE and f.uri in known.files and visible.keys().isdisjoint(known.files[f.uri].segments)
    )
    current = find_session(ctx, table, record.current)
    open_session = current.session if current is not None and current.session.is_open else None
    return Forgettable(files, tuple(_blockers(task, files, open_session))), record, known


def _undone(ctx: Context, table: TableName, session_id: str) -> Manifest:
    stored = find_session(ctx, table, session_id)
    if stored is None:
        raise NotFound(
            f"Session '{shown(session_id)}' of table '{table}' is not kept any more.",
            remedy="Touch its files: each that was touched is read again.",
        )
    if stored.session.end_reason != EndReason.UNDONE:
        raise StateConflict(f"Session '{session_id}' was not undone.", remedy="Undo it first.")
    return read_manifest(ctx, stored.session)


def _blockers(task: IngestionTask, files: tuple[str, ...], open_session: IngestionSession | None) -> list[str]:
    found = []
    if follows_folder(task):
        found.append("The table follows its folder: the next trigger reads what is there in any case.")
    elif not files:
        found.append("None of its files counts as ingested without rows in the table.")
    if open_session is not None:
        found.append(f"Session {open_session.id} is open: wait for its end, or cancel it.")
    return found
