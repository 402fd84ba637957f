"""Files that become visible one by one as they are staged: each alone, or in place of its older version."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from segments.domain.ingestion.plan import replaced_segments
from segments.domain.ingestion.registry import Ingested, registry_after
from segments.domain.ingestion.session import FileRecord, FileState, SessionState, count, failure
from segments.domain.push.push_plan import Step
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.services.ingestion.held_session import HeldSession
from segments.services.ingestion.manifest import read_registry, write_registry
from segments.services.ingestion.session_store import read_task, save_registry
from segments.services.ingestion.situation import Setup, read_visible
from segments.services.ingestion.switch import SessionLoad, drop_staging, staged_files
from segments.services.loading.replacement import open_replacement, step_of
from segments.services.replacement.protocol import end_replace
from segments.services.segments.online import wait_until_online
from segments.spark.build_part import Built

#: The id of a file's replacement is computed from the session and the file, so that it is found again after a cut.
_NAMESPACE: Final = uuid.UUID("5f0cbb1e-5b3f-4a0e-9a38-6d2a4c1f7e55")


class OneByOne:
    """The files of one run that is not consistent."""

    def __init__(self, held: HeldSession, setup: Setup, actor: Actor) -> None:
        self._held, self._setup, self._actor = held, setup, actor
        self._registry: dict[str, Ingested] = read_registry(held.ctx, read_task(held.ctx, held.table).registry_uri)

    def show(self, files: list[FileRecord]) -> None:
        """Make staged files visible."""
        built = {b.ordinal: b for b in staged_files(self._held, files)}
        added = []
        for file in files:
            segments = [built[n] for n in file.ordinals]
            old = self._old([file], ())
            if old or self._setup.task.atomic_upload:
                self._replace(file.uri, old, segments)
            else:
                added += segments
        load = SessionLoad(self._held, self._setup.config, fenced=False)
        if added:
            self._held.ctx.engine.push.register(load, self._held.table, self._actor, added)
            wait_until_online(self._held.ctx, self._held.table, [b.name for b in added])

    def finish(self) -> None:
        """Rows of deleted files go; what is ingested is written down; the session is over. Files that failed are read
        again by the next one.
        """
        held, manifest = self._held, self._held.manifest
        old = self._old((), manifest.vanished)
        if old:
            self._replace("vanished files", old, ())
        gone = self._replaced_by(f for f in manifest.files if f.state is FileState.DONE) | set(old)
        after = registry_after(self._registry, manifest.files, gone)
        for uri in manifest.vanished:
            after.pop(uri, None)
        counts = count(manifest.files)
        error = failure(manifest.files)
        save_registry(held.ctx, held.table, write_registry(held.ctx, held.table, after))
        held.change(state=SessionState.DONE, end_ms=held.ctx.clock(), error=error)
        audit.record(
            self._actor, "ingestionSessionEnd", cluster=held.ctx.cluster, target=held.table.typed,
            session=held.session.id, files=counts.done, failed=counts.failed, rows=held.session.rows,
        )  # fmt: skip
        drop_staging(held.ctx, held.session.id)
        held.end_run(error)

    def _old(self, files: Sequence[FileRecord], vanished: Sequence[str]) -> tuple[str, ...]:
        visible = read_visible(self._held.ctx, self._held.table, times=False)
        staged = [replace(f, state=FileState.BUILT) for f in files]
        return replaced_segments(self._setup.task, staged, vanished, self._registry, visible)

    def _replaced_by(self, files: Iterable[FileRecord]) -> set[str]:
        """Segments of older versions of these files that their replacements took away."""
        visible = read_visible(self._held.ctx, self._held.table, times=False).segments
        known = [self._registry[f.uri] for f in files if f.uri in self._registry]
        return {s for one in known for s in one.segments if s not in visible}

    def _replace(self, what: str, old: Sequence[str], built: Sequence[Built]) -> None:
        held, table = self._held, self._held.table
        entry = str(uuid.uuid5(_NAMESPACE, f"{held.session.id} {what}"))
        load = SessionLoad(held, self._setup.config, entry_id=entry)
        held.ctx.engine.push.find_entry(load, table)
        step = step_of(load, table, started=False)
        if step is Step.START and (old or built):
            open_replacement(load, table, old, built, self._actor, cleans_up=False)
        if step in (Step.START, Step.UPLOAD):
            held.ctx.engine.push.register(load, table, self._actor, built)
            end_replace(held.ctx, table, load.entry_id, actor=self._actor)
