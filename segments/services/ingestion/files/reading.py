"""Reads a session's files: each is built into staged segments; one that fails does not stop the others (rule
`read-once`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from segments.domain.ingestion.packing import files_per_segment
from segments.domain.ingestion.session import OPEN, FileRecord, FileState
from segments.domain.ingestion.store_answers import StoreAnswers
from segments.domain.push.parts_by_size import USUAL_BYTES, files_to_cut, parts_by_size
from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.domain.segments.segment_names import session_rule
from segments.domain.tables.secret_masks import mask
from segments.errors import PinotAdminError, StateConflict
from segments.gateways.input_files.source import input_source
from segments.secret_texts import mask_text
from segments.services.ingestion.files.bad_rows import BadRows, bad_rows_of
from segments.services.ingestion.held_session import HeldSession, with_files
from segments.services.ingestion.manifest import Manifest
from segments.services.ingestion.situation import Setup, fingerprint, input_access
from segments.services.loading.builder import Builder
from segments.services.loading.staged_files import is_there
from segments.spark.build_part import BuildJob, Built, Failed, read_notes

#: Between two writings of the manifest while results arrive, in seconds.
_SAVE_EVERY_S: Final = 2.0
_LONGEST_ERROR: Final = 1000
#: Failed files of a session whose task's log is kept: thousands fail for one reason.
_LOGS: Final = 20

Show = Callable[[list[FileRecord]], Mapping[str, str]]


class Reading:
    """One run's reading. ``shown`` is called with files that are staged, where each is to be visible on its own, and
    returns why those were refused that are not, by URI.
    """

    def __init__(self, held: HeldSession, setup: Setup, builder: Builder, shown: Show | None = None) -> None:
        self._held, self._setup, self._builder, self._shown = held, setup, builder, shown
        self._changed: dict[str, FileRecord] = {}
        self._saved_at = held.ctx.timer.seconds()
        self._running: dict[str, FileRecord] = {}
        self._uris: dict[int, list[str]] = {}
        self._parts: dict[int, Built] = {}
        self._answers, self._not_given = StoreAnswers(), 0
        self._logs = sum(1 for f in held.manifest.files if f.log)
        self._listed = BadRows(held.manifest.files)

    def read(self) -> None:
        """Read what is open, in batches of at most as many files as the task allows at once."""
        self._take_staged()
        while batch := self._next_batch():
            parts = self._plan(batch)
            self._know_running()
            self._not_given = 0
            try:
                self._builder.build(self._job(), parts, self._on_built, self._on_failed)
            finally:
                self._save(now=True)
            if self._not_given == len(parts):
                self._check_store()
                self._check_any_given()

    def _check_store(self) -> None:
        """Of this batch the store gave nothing. Unavailable when it does not answer at all: no file is at fault."""
        task = self._setup.task
        input_source(input_access(self._held.ctx, self._held.table, task)).folder(task.input_dir)

    def _check_any_given(self) -> None:
        """StateConflict when the store answers here and gave this run nothing: that is one failure, not one of each
        file.
        """
        files = [f for f in self._held.manifest.files if f.uri in self._answers.at_fault_for_all]
        if not files:
            return
        self._held.save(with_files(self._held.manifest, [f.emptied(FileState.PENDING) for f in files]))
        raise StateConflict(
            f"The input store answers here, but gave none of {len(files)} files to the processes that read them. "
            f"First: {files[0].error}",
            remedy="Check that the machines of Spark's executors reach the store, and as whom. The next trigger reads "
            "the files.",
        )

    def _take_staged(self) -> None:
        """Parts that an earlier attempt of this run staged are not built again."""
        self._know_running()
        if not self._uris:
            return
        held = self._held
        notes = [b for b in read_notes(held.ctx.deep_store, held.session.id) if b.ordinal in self._uris and b.name]
        self._take([b for b in notes if is_there(held.ctx, held.table, held.session.id, b)])
        self._save(now=True)

    def _know_running(self) -> None:
        self._parts, self._uris = {}, {}
        self._running = {f.uri: f for f in self._held.manifest.files if f.state is FileState.RUNNING}
        for file in self._running.values():
            for ordinal in file.ordinals:
                self._uris.setdefault(ordinal, []).append(file.uri)

    def _next_batch(self) -> list[FileRecord]:
        waiting = [f for f in self._held.manifest.files if f.state in OPEN]
        most = self._setup.task.max_tasks
        return waiting[:most] if most else waiting

    def _plan(self, batch: Sequence[FileRecord]) -> list[Part]:
        """Cut these files into parts and number them; nothing is built before that is on record."""
        manifest, task = self._held.manifest, self._setup.task
        inputs = [_input_file(f) for f in batch]
        target, most = task.max_bytes or USUAL_BYTES, files_per_segment(task, manifest.files)
        cuts = self._cuts(inputs, target)
        parts, ordinals = [], defaultdict[str, list[int]](list)
        cut = parts_by_size(inputs, task.reader.format, target, cuts=cuts, most_files=most)
        for number, part in enumerate(cut):
            first, ordinal = part.pieces[0].file.path, manifest.next_ordinal + number
            parts.append(Part(ordinal, len(ordinals[first]), part.pieces))
            for uri in {piece.file.path for piece in part.pieces}:
                ordinals[uri].append(ordinal)
        running = [
            replace(f, state=FileState.RUNNING, ordinals=tuple(ordinals[f.uri]), attempts=f.attempts + 1) for f in batch
        ]
        left = [
            replace(f, state=FileState.PENDING, ordinals=())
            for f in manifest.files
            if f.state is FileState.RUNNING and f.uri not in ordinals
        ]
        planned = with_files(manifest, [*running, *left])
        self._held.save(replace(planned, next_ordinal=manifest.next_ordinal + len(parts)))
        return parts

    def _cuts(self, inputs: Sequence[InputFile], target: int) -> dict[str, list[Piece]]:
        """Where large files are cut: a file of any size is built by all cores, in the memory of one part."""
        reader = self._setup.task.reader
        large = files_to_cut(inputs, reader.format, target)
        return self._builder.find_cuts(large, reader.to_json(), target, self._held.check, self._job().access)

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
            marks_files=True,
            access=input_access(held.ctx, held.table, setup.task).to_json(),
            store_access=held.ctx.deep_store.access.to_json(),
        )

    def _on_built(self, built: list[Built]) -> None:
        """While parts are built: what is staged, and where people watch it."""
        self._held.check()
        address = self._builder.ui_address()
        if address != self._held.session.spark_ui:
            self._held.change(spark_ui=address)
        if built:
            self._answers.given()
        self._take(built)

    def _take(self, built: list[Built]) -> None:
        fresh_parts = {b.ordinal: b for b in built if b.ordinal in self._uris}
        self._parts.update(fresh_parts)
        self._held.staged.update({n: b for n, b in fresh_parts.items() if b.name})
        uris = dict.fromkeys(uri for b in built for uri in self._uris.get(b.ordinal, ()))
        fresh = [self._built(f) for uri in uris if (f := self._running.get(uri)) is not None and self._is_whole(f)]
        for file in fresh:
            del self._running[file.uri]
        if fresh and self._shown is not None:
            refused = self._shown([f for f in fresh if f.state is FileState.BUILT])
            fresh = [_shown(f, refused.get(f.uri)) if f.state is FileState.BUILT else f for f in fresh]
        self._changed.update({f.uri: f for f in fresh})
        self._save()

    def _is_whole(self, file: FileRecord) -> bool:
        return all(ordinal in self._parts for ordinal in file.ordinals)

    def _built(self, file: FileRecord) -> FileRecord:
        """A staged file. Rows of a segment that several files share count with the first of them."""
        parts = [self._parts[n] for n in file.ordinals]
        if not all(p.name for p in parts):
            error = "It has rows that cannot be read."
            return replace(file, state=FileState.FAILED, error=error, ordinals=())
        own = [p for p in parts if self._uris[p.ordinal][0] == file.uri]
        reports = [p.report for p in parts]
        marks = next((p.marks[file.uri] for p in parts if file.uri in p.marks), {})
        return replace(
            file, fingerprint=file.fingerprint.marked(marks), state=FileState.BUILT,
            segments=tuple(p.name for p in parts), ends=tuple(map(_end_ms, parts)),
            rows=sum(p.rows for p in own),
            bytes=sum(p.size_bytes for p in own), bad_rows=sum(bad_rows_of(file.uri, r) for r in reports),
            error="", line=None, log="", bad=self._listed.rows(file.uri, reports),
        )  # fmt: skip

    def _on_failed(self, failed: list[Failed]) -> None:
        """The file at fault fails; others that share its segment are read again without it."""
        self._held.check()
        for one in failed:
            uris = self._uris.get(one.ordinal, [])
            at_fault = one.file if one.file in uris else None
            if one.may_pass:
                self._not_given += 1
            else:
                self._answers.given()
            for file in [self._running.pop(uri) for uri in uris if uri in self._running]:
                is_own = at_fault in (None, file.uri)
                again = self._again(file, one) if is_own else replace(file, state=FileState.PENDING, ordinals=())
                self._changed[file.uri] = again or self._failed(file, one)
        self._save()

    def _again(self, file: FileRecord, one: Failed) -> FileRecord | None:
        """The file as this run reads it once more: one that its store did not give, or that was replaced while it was
        read, as it is now. None: it failed for this run.
        """
        pending = replace(file, state=FileState.PENDING, ordinals=())
        if one.may_pass:
            return pending if self._answers.is_tried_again(file.uri) else None
        if not one.is_changed or not self._answers.is_read_again(file.uri):
            return None
        try:
            found = input_source(input_access(self._held.ctx, self._held.table, self._setup.task)).stat(file.uri)
        except PinotAdminError:
            return None  # it is gone, and that is its error
        return replace(pending, fingerprint=fingerprint(found))

    def _failed(self, file: FileRecord, one: Failed) -> FileRecord:
        skips = self._setup.task.skip_unreadable and not one.is_changed and not one.may_pass and one.line is None
        state = FileState.SKIPPED if skips else FileState.FAILED
        times = (
            " It was read three times, and changed each time." if self._answers.has_changed_each_time(file.uri) else ""
        )
        error = mask_text(f"{one.error}{times} {one.remedy}".strip())[:_LONGEST_ERROR]
        log = mask_text(one.log) if self._logs < _LOGS else ""
        self._logs += bool(log)
        bad_rows, bad = bad_rows_of(file.uri, one.report), self._listed.rows(file.uri, [one.report])
        return replace(
            file, state=state, error=error, line=one.line, ordinals=(), log=log, bad_rows=bad_rows, bad=bad
        )  # fmt: skip

    def _save(self, *, now: bool = False) -> None:
        clock = self._held.ctx.timer.seconds()
        if self._changed and (now or clock - self._saved_at >= _SAVE_EVERY_S):
            changed, self._changed = list(self._changed.values()), {}
            self._held.save(with_files(self._held.manifest, changed))
            self._saved_at = self._held.ctx.timer.seconds()


def _shown(file: FileRecord, refused: str | None) -> FileRecord:
    """A staged file that is visible now, unless that was refused."""
    if refused is None:
        return replace(file, state=FileState.DONE)
    return replace(file.emptied(FileState.FAILED), error=mask_text(refused)[:_LONGEST_ERROR])


def _end_ms(part: Built) -> int:
    end = part.info.end_time_ms
    return 0 if end is None else round(end)


def _input_file(file: FileRecord) -> InputFile:
    found = file.fingerprint
    return InputFile(file.uri, found.size, found.mtime_ns, found.etag)


def staged_parts(held: HeldSession, manifest: Manifest) -> Iterator[tuple[FileRecord, Built | None]]:
    """Every staged file with what was staged for it; None where that is gone. What another holder staged is read from
    its notes, and its files are searched for.
    """
    built = [f for f in manifest.files if f.state is FileState.BUILT]
    if any(n not in held.staged for f in built for n in f.ordinals):
        notes = read_notes(held.ctx.deep_store, held.session.id)
        missing = {n for f in built for n in f.ordinals} - held.staged.keys()
        there = (b for b in notes if b.ordinal in missing and is_there(held.ctx, held.table, held.session.id, b))
        held.staged.update({b.ordinal: b for b in there})
    for file in built:
        for ordinal in file.ordinals:
            yield file, held.staged.get(ordinal)
