"""Files that become visible one by one as they are staged: each alone, or in place of its older version."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from segments.domain.ingestion.plan import replaced_segments
from segments.domain.ingestion.registry import registry_after
from segments.domain.ingestion.session import FileRecord, FileState, SessionState, count, failure
from segments.domain.push.push_plan import Step, must_revert
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.services.ingestion.held_session import HeldSession
from segments.services.ingestion.manifest import read_registry, write_registry
from segments.services.ingestion.session_store import read_task, save_registry
from segments.services.ingestion.situation import Setup, read_visible
from segments.services.ingestion.switch import SessionLoad, drop_staging, staged_files
from segments.services.loading.replacement import open_replacement, step_of
from segments.services.replacement.protocol import end_replace, read_lineage, revert_replace
from segments.services.segments.deletion import delete_segments
from segments.services.segments.online import wait_until_online
from segments.spark.build_part import Built, read_notes

#: The id of a file's replacement is computed from the session and the file, so that it is found again after a cut.
_NAMESPACE: Final = uuid.UUID("5f0cbb1e-5b3f-4a0e-9a38-6d2a4c1f7e55")
_VANISHED: Final = "vanished files"


class OneByOne:
    """The files of one run that is not consistent."""

    def __init__(self, held: HeldSession, setup: Setup, actor: Actor) -> None:
        self._held, self._setup, self._actor = held, setup, actor
        known = read_registry(held.ctx, read_task(held.ctx, held.table).registry_uri)
        self._registry = known.shown(read_visible(held.ctx, held.table).segments)

    def show(self, files: list[FileRecord]) -> Mapping[str, str]:
        """Make staged files visible; returns why those are not that were refused, by URI: nothing of these is left, and
        the others are not stopped. What another attempt may mend is raised.
        """
        built = {b.ordinal: b for b in staged_files(self._held, files)}
        refused, added = {}, []
        for file in files:
            if file.uri not in self._registry and not self._setup.task.atomic_upload:
                added.append(file)
                continue
            try:
                if not self._replace(file, [built[n] for n in file.ordinals]):
                    added.append(file)
            except PinotAdminError as error:
                refused[file.uri] = _refusal(error)
                _revert_open(self._held, self._setup.config, file.uri, self._actor)
        return refused | self._add(added, built)

    def finish(self) -> None:
        """Rows of deleted files go; what is ingested is written down; the session is over. Files that failed are read
        again by the next one.
        """
        held, manifest = self._held, self._held.manifest
        error = ""
        try:
            self._remove(manifest.vanished)
        except PinotAdminError as refused:
            error = f"Rows of deleted files stay: {_refusal(refused)}"
            _revert_open(held, self._setup.config, _VANISHED, self._actor)
        _write_down(held, without=() if error else manifest.vanished)
        counts = count(manifest.files)
        error = f"{failure(manifest.files)} {error}".strip()
        held.change(state=SessionState.DONE, end_ms=held.ctx.clock(), error=error)
        audit.record(
            self._actor, "ingestionSessionEnd", cluster=held.ctx.cluster, target=held.table.typed,
            session=held.session.id, files=counts.done, failed=counts.failed, rows=held.session.rows,
        )  # fmt: skip
        drop_staging(held.ctx, held.session.id)
        held.end_run(error)

    def _add(self, files: Sequence[FileRecord], built: Mapping[int, Built]) -> dict[str, str]:
        """Show files that replace nothing, all at a time."""
        ctx, table = self._held.ctx, self._held.table
        segments = [built[n] for file in files for n in file.ordinals]
        if not segments:
            return {}
        load = SessionLoad(self._held, self._setup.config, fenced=False)
        try:
            ctx.engine.push.register(load, table, self._actor, segments)
        except PinotAdminError as error:
            why = _refusal(error)
            visible = read_visible(ctx, table).segments
            refused = [file for file in files if not visible.keys() >= set(file.segments)]
            partly = [name for file in refused for name in file.segments if name in visible]
            if partly:
                delete_segments(ctx, table, partly, force=True, actor=self._actor)
            return {file.uri: why for file in refused}
        wait_until_online(ctx, table, [b.name for b in segments])
        return {}

    def _old(self, files: Sequence[FileRecord], vanished: Sequence[str]) -> tuple[str, ...]:
        visible = read_visible(self._held.ctx, self._held.table)
        staged = [replace(f, state=FileState.BUILT) for f in files]
        return replaced_segments(self._setup.task, staged, vanished, self._registry, visible)

    def _replace(self, file: FileRecord, built: Sequence[Built]) -> bool:
        """Put a file in place of its older version; False when there is none, and it may be added to the rows."""
        load = _load_of(self._held, self._setup.config, file.uri)
        step = step_of(load, self._held.table, started=False)
        if step is Step.START:
            old = self._old([file], ())
            if not old and not self._setup.task.atomic_upload:
                return False
            open_replacement(load, self._held.table, old, built, self._actor, cleans_up=False)
        self._end(load, step, built)
        return True

    def _remove(self, vanished: Sequence[str]) -> None:
        """The rows of deleted files go."""
        load = _load_of(self._held, self._setup.config, _VANISHED)
        step = step_of(load, self._held.table, started=False)
        if step is Step.START:
            old = self._old((), vanished)
            if not old:
                return
            open_replacement(load, self._held.table, old, (), self._actor, cleans_up=False)
        self._end(load, step, ())

    def _end(self, load: SessionLoad, step: Step, built: Sequence[Built]) -> None:
        held = self._held
        if step in (Step.START, Step.UPLOAD):
            held.ctx.engine.push.register(load, held.table, self._actor, built)
            end_replace(held.ctx, held.table, load.entry_id, actor=self._actor)


def settle_given_up(held: HeldSession, config: TableConfig, actor: Actor) -> None:
    """Of a session that is given up between its files: what is visible counts as ingested, what is half done is taken
    back.
    """
    if any(f.state is FileState.RUNNING for f in held.manifest.files):
        notes = {b.ordinal: b.name for b in read_notes(held.ctx.deep_store, held.session.id) if b.name}
        visible = read_visible(held.ctx, held.table).segments
        files = tuple(_seen(f, notes, visible) for f in held.manifest.files)
        for file in files:
            if file.state is FileState.RUNNING:
                _revert_open(held, config, file.uri, actor)
        held.save(replace(held.manifest, files=files))
    _revert_open(held, config, _VANISHED, actor)
    is_removed = step_of(_load_of(held, config, _VANISHED), held.table, started=False) is Step.NOTHING
    _write_down(held, without=held.manifest.vanished if is_removed else ())


def _write_down(held: HeldSession, *, without: Sequence[str]) -> None:
    """What is ingested now: the session's files that are visible, and not the files ``without``. Idempotent."""
    task = read_task(held.ctx, held.table)
    known = read_registry(held.ctx, task.registry_uri)
    registry = known.files
    visible = read_visible(held.ctx, held.table).segments
    done = [f for f in held.manifest.files if f.state is FileState.DONE]
    older = {s for f in done if f.uri in registry for s in registry[f.uri].segments if s not in visible}
    after = registry_after(registry, done, older)
    for uri in without:
        after.pop(uri, None)
    save_registry(held.ctx, held.table, write_registry(held.ctx, held.table, known.after(after)))
    if task.registry_uri:
        held.ctx.deep_store.delete(task.registry_uri)


def _seen(file: FileRecord, notes: Mapping[int, str], visible: Mapping[str, object]) -> FileRecord:
    """A file that was being read, DONE if its segments are visible already."""
    names = tuple(notes.get(n, "") for n in file.ordinals)
    is_done = file.state is FileState.RUNNING and bool(names) and all(name in visible for name in names)
    return replace(file, state=FileState.DONE, segments=names) if is_done else file


def _revert_open(held: HeldSession, config: TableConfig, what: str, actor: Actor) -> None:
    """Take back the replacement of one file, if it was opened and did not end."""
    load = _load_of(held, config, what)
    lineage = read_lineage(held.ctx, held.table)
    if must_revert(lineage.entries.get(load.entry_id) if lineage else None):
        revert_replace(held.ctx, held.table, load.entry_id, force=True, actor=actor)


def _load_of(held: HeldSession, config: TableConfig, what: str) -> SessionLoad:
    entry = str(uuid.uuid5(_NAMESPACE, f"{held.session.id} {what}"))
    load = SessionLoad(held, config, entry_id=entry)
    held.ctx.engine.push.find_entry(load, held.table)
    return load


def _refusal(error: PinotAdminError) -> str:
    """The error as text. Raises it again when it is not a refusal: the lease is lost, or another attempt
    may mend it.
    """
    if not error.permanent:
        raise error
    return str(error)
