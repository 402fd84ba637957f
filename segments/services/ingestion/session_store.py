"""Sessions in ZooKeeper: which one is the table's current one, each one's record, every write on the version read.

That only one session of a table is current is a constraint: a session is created in one transaction with the record
that names it, on the version that was decided on (rule `one-session-per-table`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.ingestion.session import IngestionSession, SessionState, from_record, to_record
from segments.errors import Conflict, RecordCorrupt
from segments.gateways.deep_store.deepstore import STAGING
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.core.context import Context
from segments.services.ingestion.manifest import read_manifest, session_folder, table_folder
from segments.store import paths
from segments.store.base import Create, Replace, Versioned, Write
from segments.store.update import update_record, update_transaction

#: Sessions that are kept of a table, the current one included.
KEPT: Final = 2


@dataclass(frozen=True)
class TaskRecord:
    """What is known of a table's file ingestion. ``current``: id of the newest session. ``registry_uri``: the file that
    lists what was ingested. ``cleared_for``: the table config for which the clear flag was honoured. ``node``: the
    znode as read.
    """

    current: str = ""
    registry_uri: str = ""
    cleared_for: str = ""
    node: Versioned | None = None

    def write(self, ctx: Context, table: TableName, **changes: str) -> Write:
        """The conditional write that changes these."""
        known = {"current": self.current, "registry_uri": self.registry_uri, "cleared_for": self.cleared_for}
        simple = dict(self.node.record.simple) if self.node and self.node.record else {}
        simple |= {_NAMES[key]: value for key, value in {**known, **changes}.items()}
        path, record = paths.ingestion_task(table.typed, root(ctx)), ZNRecord(table.typed, simple)
        return Create(path, record) if self.node is None else Replace(path, record, self.node.version)


_NAMES: Final = {"current": "currentSession", "registry_uri": "registryUri", "cleared_for": "clearedForConfig"}


@dataclass(frozen=True)
class Stored:
    """A session as read, with the version of its znode."""

    session: IngestionSession
    version: int


def root(ctx: Context) -> str:
    """Parent of all tables' records: Pinot's own place, or one of ours where Pinot's records are not ours to write."""
    return paths.MINION_TASK_METADATA if ctx.engine.lineage.owns_record else paths.INGESTION


def tables_with_sessions(ctx: Context) -> list[TableName]:
    """Tables that may have sessions."""
    found = (split_table_name(name) for name in ctx.store.children(root(ctx)))
    return [TableName(raw, kind) for raw, kind in found if kind == OFFLINE]


def read_task(ctx: Context, table: TableName) -> TaskRecord:
    """The record; an empty one when there is none yet."""
    node = ctx.store.get(paths.ingestion_task(table.typed, root(ctx)))
    simple = node.record.simple if node is not None and node.record is not None else {}
    current, registry, cleared = (simple.get(_NAMES[k], "") for k in ("current", "registry_uri", "cleared_for"))
    return TaskRecord(current, registry, cleared, node)


def find_session(ctx: Context, table: TableName, session_id: str) -> Stored | None:
    """A session by its id; None when there is none. RecordCorrupt."""
    if not session_id:
        return None
    node = ctx.store.get(paths.ingestion_session(table.typed, session_id, root(ctx)))
    return Stored(_parsed(node), node.version) if node is not None and node.record is not None else None


def all_sessions(ctx: Context, table: TableName) -> list[IngestionSession]:
    """Every session on record, newest first; one that cannot be read is left out."""
    found = []
    for consistent in (True, False):
        folder = paths.ingestion_sessions(table.typed, root(ctx), consistent=consistent)
        for node in ctx.store.get_many([f"{folder}/{name}" for name in ctx.store.children(folder)]):
            try:
                found += [_parsed(node)] if node is not None and node.record is not None else []
            except RecordCorrupt:
                continue
    return sorted(found, key=lambda s: (s.start_ms, s.id), reverse=True)


def create_session(ctx: Context, table: TableName, task: TaskRecord, session: IngestionSession, **changes: str) -> None:
    """Make a session the table's current one. Conflict when another trigger was faster."""
    path = paths.ingestion_session(table.typed, session.id, root(ctx))
    for parent in (paths.ingestion_task(table.typed, root(ctx)), paths.parent_of(path)):
        if ctx.store.exists(parent) is None:
            _make(ctx, parent)
    if task.node is None:
        task = read_task(ctx, table)
        if task.current:
            raise Conflict(f"Session '{task.current}' of table '{table}' began first.")
    writes = (task.write(ctx, table, current=session.id, **changes), Create(path, to_record(session)))
    ctx.store.transaction(writes)


def change_session(
    ctx: Context, table: TableName, session_id: str, decide: Callable[[IngestionSession], IngestionSession]
) -> IngestionSession:
    """Change a session by what ``decide`` makes of it as it is, in every attempt again; what it raises ends the change.

    Conflict when it is gone.
    """

    def changed(node: Versioned | None) -> ZNRecord:
        if node is None or node.record is None:
            raise Conflict(f"Session '{session_id}' of table '{table}' was removed.")
        return to_record(decide(_parsed(node)))

    after = update_record(ctx.store, paths.ingestion_session(table.typed, session_id, root(ctx)), changed).after
    assert after is not None
    return _parsed(after)


def finish_session(
    ctx: Context,
    table: TableName,
    session_id: str,
    decide: Callable[[IngestionSession], IngestionSession],
    registry: str,
) -> IngestionSession:
    """As ``change_session``, together with a new list of what was ingested: both or neither."""
    done: list[IngestionSession] = []

    def attempt() -> list[Write]:
        stored, task = find_session(ctx, table, session_id), read_task(ctx, table)
        if stored is None:
            raise Conflict(f"Session '{session_id}' of table '{table}' was removed.")
        done[:] = [decide(stored.session)]
        path = paths.ingestion_session(table.typed, session_id, root(ctx))
        return [Replace(path, to_record(done[0]), stored.version), task.write(ctx, table, registry_uri=registry)]

    update_transaction(ctx.store, attempt)
    return done[0]


def save_registry(ctx: Context, table: TableName, registry: str) -> None:
    """Name a new list of what was ingested."""
    update_transaction(ctx.store, lambda: [read_task(ctx, table).write(ctx, table, registry_uri=registry)])


def prune(ctx: Context, table: TableName) -> None:
    """Remove all but the newest sessions, with their files."""
    for old in all_sessions(ctx, table)[KEPT:]:
        _remove(ctx, table, old.id)


def remove_unneeded(ctx: Context, table: TableName) -> list[str]:
    """Remove the records and files of sessions that are over, but for the current one and those whose segments are
    still in the table: they can be undone, now or after a later one was. Returns their ids.
    """
    current, node = read_task(ctx, table).current, ctx.store.get(paths.ideal_state(table.typed))
    present = node.record.maps.keys() if node is not None and node.record is not None else ()
    over = [s for s in all_sessions(ctx, table) if s.id != current and not (s.is_open or s.has_leftovers)]
    gone = [s.id for s in over if not (s.state is SessionState.DONE and _has_any(ctx, s, present))]
    for session in gone:
        _remove(ctx, table, session)
    return gone


def _has_any(ctx: Context, session: IngestionSession, segments: Collection[str]) -> bool:
    """Did the session make any of these?"""
    return any(name in segments for name in read_manifest(ctx, session).segments_to)


def _remove(ctx: Context, table: TableName, session_id: str) -> None:
    ctx.deep_store.delete_folder(session_folder(table, session_id))
    ctx.store.delete(paths.ingestion_session(table.typed, session_id, root(ctx)))


def _make(ctx: Context, path: str) -> None:
    """Make an empty znode that somebody else may make at the same moment."""
    try:
        ctx.store.create(path, None)
    except Conflict:
        return


def _parsed(node: Versioned | None) -> IngestionSession:
    assert node is not None
    assert node.record is not None
    try:
        return from_record(node.record)
    except (KeyError, ValueError) as error:
        raise RecordCorrupt(
            f"The record of session '{node.record.id}' cannot be read: {error!r}.",
            remedy="Clear the sessions of the table.",
        ) from error


def remove_sessions(ctx: Context, table: TableName) -> list[str]:
    """Remove the records and files of all sessions; what was ingested stays known. Returns their ids. Conflict when one
    of them has a run under way.
    """
    sessions = all_sessions(ctx, table)
    if any(s.is_running for s in sessions):
        raise Conflict(f"A session of table '{table}' began meanwhile.")
    update_transaction(ctx.store, lambda: [read_task(ctx, table).write(ctx, table, current="")])
    for old in sessions:
        ctx.store.delete(paths.ingestion_session(table.typed, old.id, root(ctx)))
        ctx.deep_store.delete_folder(session_folder(table, old.id))
    return [s.id for s in sessions]


def remove_files(ctx: Context, table: TableName) -> None:
    """Delete all files of the table's sessions: what they staged, and their lists. For a table that is dropped."""
    sessions = all_sessions(ctx, table)
    for session in sessions:
        ctx.deep_store.delete_folder(f"{STAGING}/{session.id}")
    if sessions:
        ctx.deep_store.delete_folder(table_folder(table))
