"""Reads a session's files: each is built into staged segments; one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from segments.domain.ingestion.session import OPEN, FileRecord, FileState
from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.domain.segments.segment_names import session_rule
from segments.domain.tables.secret_masks import mask
from segments.secret_texts import mask_text
from segments.services.ingestion.held_session import HeldSession, with_files
from segments.services.ingestion.manifest import Manifest
from segments.services.ingestion.situation import Setup, input_access
from segments.services.loading.staged_files import is_there
from segments.spark.build_part import BuildJob, Built, Failed, read_notes

#: Between two writings of the manifest while results arrive, in seconds.
_SAVE_EVERY_S: Final = 2.0
_LONGEST_ERROR: Final = 1000


class Builder(Protocol):
    """Builds parts somewhere; see ``segments.spark.build_segments.SparkBuilder``."""

    def build(
        self,
        job: BuildJob,
        parts: Sequence[Part],
        on_built: Callable[[list[Built]], None],
        on_failed: Callable[[list[Failed]], None],
    ) -> None:
        """Stage all parts that can be, reporting each part."""


class Reading:
    """One run's reading. ``shown`` is called with files that are staged, where each is to be visible on its own."""

    def __init__(
        self, held: HeldSession, setup: Setup, builder: Builder, shown: Callable[[list[FileRecord]], None] | None = None
    ) -> None:
        self._held, self._setup, self._builder, self._shown = held, setup, builder, shown
        self._changed: dict[str, FileRecord] = {}
        self._saved_at = held.ctx.timer.seconds()
        self._by_ordinal: dict[int, FileRecord] = {}

    def read(self) -> None:
        """Read what is open, in batches of at most as many files as the task allows at once."""
        self._take_staged()
        while batch := self._next_batch():
            self._plan(batch)
            parts = [self._part(f) for f in self._held.manifest.files if f.state is FileState.RUNNING]
            self._by_ordinal = {n: f for f in self._held.manifest.files if f.state in OPEN for n in f.ordinals}
            try:
                self._builder.build(self._job(), parts, self._on_built, self._on_failed)
            finally:
                self._save(now=True)

    def _take_staged(self) -> None:
        """Parts that an earlier attempt of this run staged are not built again."""
        running = {n: f for f in self._held.manifest.files if f.state is FileState.RUNNING for n in f.ordinals}
        if not running:
            return
        notes = [b for b in read_notes(self._held.ctx.deep_store, self._held.session.id) if b.ordinal in running]
        there = [b for b in notes if is_there(self._held.ctx, self._held.table, self._held.session.id, b)]
        self._by_ordinal = running
        self._on_built([b for b in there if b.name])
        self._save(now=True)

    def _next_batch(self) -> list[FileRecord]:
        waiting = [f for f in self._held.manifest.files if f.state in OPEN]
        most = self._setup.task.max_tasks
        return waiting[:most] if most else waiting

    def _plan(self, batch: Sequence[FileRecord]) -> None:
        """Number the parts of these files; nothing is built before that is on record."""
        manifest = self._held.manifest
        numbers = iter(range(manifest.next_ordinal, manifest.next_ordinal + len(batch)))
        running = [
            replace(f, state=FileState.RUNNING, ordinals=(next(numbers),), attempts=f.attempts + 1) for f in batch
        ]
        others = {f.uri for f in running}
        waiting = [
            replace(f, state=FileState.PENDING)
            for f in manifest.files
            if f.state is FileState.RUNNING and f.uri not in others
        ]
        planned = with_files(manifest, [*running, *waiting])
        self._held.save(replace(planned, next_ordinal=manifest.next_ordinal + len(batch)))

    def _part(self, file: FileRecord) -> Part:
        print_ = file.fingerprint
        piece = Piece(InputFile(file.uri, print_.size, print_.mtime_ns, print_.etag))
        return Part(file.ordinals[0], 0, (piece,))

    def _job(self) -> BuildJob:
        held, setup = self._held, self._setup
        rate = setup.task.error_rate
        if rate is None:
            rate = 1.0 if setup.config.ingestion.continue_on_error else 0.0
        return BuildJob(
            held.session.id,
            held.ctx.deep_store.url,
            setup.schema.body,
            mask(setup.config.body),
            setup.task.reader.to_json(),
            session_rule(held.table.raw, held.session.id).to_json(),
            held.session.start_ms,
            file_error_rate=rate,
            access=input_access().to_json(),
        )

    def _on_built(self, built: list[Built]) -> None:
        self._held.check()
        fresh = [self._built(self._by_ordinal[b.ordinal], b) for b in built if b.ordinal in self._by_ordinal]
        if fresh and self._shown is not None:
            self._shown(fresh)
            fresh = [replace(f, state=FileState.DONE) for f in fresh]
        self._changed.update({f.uri: f for f in fresh})
        self._save()

    def _built(self, file: FileRecord, one: Built) -> FileRecord:
        if not one.name:
            error = "It has rows that can not be read."
            return replace(file, state=FileState.FAILED, error=error, ordinals=())
        return replace(
            file, state=FileState.BUILT, segments=(one.name,), rows=one.rows, bytes=one.size_bytes,
            bad_rows=_bad_rows(one.report), error="", line=None,
        )  # fmt: skip

    def _on_failed(self, failed: list[Failed]) -> None:
        self._held.check()
        for one in failed:
            file = self._by_ordinal.get(one.ordinal)
            if file is None:
                continue
            skips = self._setup.task.skip_unreadable and not one.is_changed and one.line is None
            state = FileState.SKIPPED if skips else FileState.FAILED
            error = mask_text(f"{one.error} {one.remedy}".strip())[:_LONGEST_ERROR]
            self._changed[file.uri] = replace(file, state=state, error=error, line=one.line, ordinals=())
        self._save()

    def _save(self, *, now: bool = False) -> None:
        clock = self._held.ctx.timer.seconds()
        if self._changed and (now or clock - self._saved_at >= _SAVE_EVERY_S):
            changed, self._changed = list(self._changed.values()), {}
            self._held.save(with_files(self._held.manifest, changed))
            self._saved_at = self._held.ctx.timer.seconds()


def _bad_rows(report: dict[str, Any]) -> int:
    found = report.get("bad_rows", 0)
    return found if isinstance(found, int) else 0


def staged_parts(held: HeldSession, manifest: Manifest) -> Iterator[tuple[FileRecord, Built | None]]:
    """Every staged file with what was staged for it; None where that is gone."""
    notes = {b.ordinal: b for b in read_notes(held.ctx.deep_store, held.session.id)}
    for file in manifest.files:
        if file.state is FileState.BUILT:
            for ordinal in file.ordinals:
                one = notes.get(ordinal)
                is_whole = one is not None and is_there(held.ctx, held.table, held.session.id, one)
                yield file, one if is_whole else None
