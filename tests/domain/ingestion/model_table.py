"""A folder, a table and its session in plain values, carried on by the decisions under test; for tests of scenes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from segments.domain.ingestion.plan import Visible, replaced_segments
from segments.domain.ingestion.registry import Ingested, registry_after
from segments.domain.ingestion.selection import Extent
from segments.domain.ingestion.session import (
    OPEN,
    FileRecord,
    FileState,
    Fingerprint,
    IngestionSession,
    SessionState,
    count,
)
from segments.domain.ingestion.task_config import IngestionTask, parse_ingestion_task
from segments.domain.ingestion.transitions import (
    Begin,
    Idle,
    Next,
    Retry,
    Situation,
    SwitchAgain,
    after_files,
    on_trigger,
)
from segments.domain.tables.table_config import parse_table_config

HOUR_MS = 3_600_000


def task(**keys: Any) -> IngestionTask:
    """A task that reads CSV files of one folder."""
    given = {"inputDirURI": "/in", "inputFormat": "csv", **{k: str(v) for k, v in keys.items()}}
    body = {"tableName": "orders", "tableType": "OFFLINE", "task": {"taskTypeConfigsMap": {"FileIngestionTask": given}}}
    found = parse_ingestion_task(parse_table_config(body))
    assert found is not None
    return found


@dataclass(frozen=True)
class Stored:
    """A file of the folder: a version that its fingerprint shows, and its rows."""

    version: int
    rows: int


class ModelTable:
    """One table. ``read`` lists the files of each run in order; ``shown`` is rows by visible segment."""

    def __init__(self, task: IngestionTask) -> None:
        self.task, self.config_hash, self.clear_hash, self.cleared_for = task, "c0", "v0", ""
        self.folder: dict[str, Stored] = {}
        self.bad: set[str] = set()
        self.registry: dict[str, Ingested] = {}
        self.shown: dict[str, int] = {}
        self.session: IngestionSession | None = None
        self.files: tuple[FileRecord, ...] = ()
        self.vanished: tuple[str, ...] = ()
        self.staged: dict[str, int] = {}
        self.read: list[list[str]] = []
        self.switches: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self.now_ms = 12 * HOUR_MS
        self._sessions = 0

    @property
    def vis(self) -> int:
        """What ``SELECT COUNT(*)`` gives."""
        return sum(self.shown.values())

    def put(self, name: str, rows: int) -> None:
        """Write, or rewrite, a file."""
        self._version = getattr(self, "_version", 0) + 1
        self.folder[name] = Stored(self._version, rows)

    def ingested(self, name: str) -> None:
        """Show a file of the folder as one that an earlier session ingested."""
        segment = f"old_{name}"
        self.registry[name] = Ingested(self.listing[name], (segment,))
        self.shown[segment] = self.folder[name].rows

    @property
    def listing(self) -> dict[str, Fingerprint]:
        """The folder now."""
        return {name: Fingerprint(f.version, f.rows) for name, f in self.folder.items()}

    @property
    def situation(self) -> Situation:
        """What a trigger finds now."""
        visible = Visible({s: Extent() for s in self.shown})
        return Situation(
            self.task, self.config_hash, self.listing, self.registry, visible, self.session, self.files,
            self.clear_hash, self.cleared_for,
        )  # fmt: skip

    def trigger(self, *, run: bool = True) -> str:
        """One trigger and, unless it is to be left at that, the run that follows; what it did in a word."""
        decision = on_trigger(self.situation)
        self.read.append([])
        match decision:
            case Idle(is_busy=is_busy):
                return "busy" if is_busy else "idle"
            case Begin(plan, discards, reason):
                self._begin(plan.files, plan.vanished)
                if self.task.clear:
                    self.cleared_for = self.clear_hash
                if plan.idle:
                    self.session = None
                    return f"only {reason}"
                word = f"begin after {reason}" if discards else "begin"
            case Retry(files, gone, is_continued):
                self.files, self.vanished, word = files, gone, "goes on" if is_continued else "retry"
                self._go_on(retries=0 if is_continued else 1)
            case SwitchAgain():
                word = "switch again"
                self._go_on(retries=1)
        if run:
            self.run()
        return word

    def run(self, only: Collection[str] | None = None) -> None:
        """Read what is open (or only some of it), then do what follows."""
        assert self.session is not None
        self.files = tuple(
            self._after_reading(f) if f.state in OPEN and (only is None or f.uri in only) else f for f in self.files
        )
        outcome = after_files(self.files, self.vanished, replaces_all=self.task.swap)
        if outcome.next is Next.WAIT:
            self._session(task="", state=SessionState.IN_PROGRESS)
        elif outcome.next is Next.SWITCH:
            self.switch()
        elif outcome.next is Next.FINISH:
            self._session(task="", state=SessionState.DONE)

    def switch(self) -> None:
        """Queries go over to what is staged."""
        visible = Visible({s: Extent() for s in self.shown})
        old = replaced_segments(self.task, self.files, self.vanished, self.registry, visible)
        built = [f for f in self.files if f.state is FileState.BUILT]
        new = tuple(s for f in built for s in f.segments)
        self.shown = {s: n for s, n in self.shown.items() if s not in old} | {s: self.staged[s] for s in new}
        self.registry = registry_after(self.registry, self.files, old, is_swap=self.task.swap)
        self.switches.append((old, new))
        self._session(task="", state=SessionState.DONE)

    def _begin(self, files: tuple[FileRecord, ...], gone: tuple[str, ...]) -> None:
        self._sessions += 1
        self.session = IngestionSession(
            f"cp_{self._sessions}", SessionState.IN_PROGRESS, self.task.mode, self.task.swap, True, self.now_ms,
            self.config_hash, "/in", "t", max_retries=self.task.max_retries, task="run-0",
        )  # fmt: skip
        self.files, self.vanished, self.staged = files, gone, {}

    def _go_on(self, *, retries: int) -> None:
        assert self.session is not None
        self._session(retry_count=self.session.retry_count + retries, task="run")

    def _session(self, **fields: Any) -> None:
        assert self.session is not None
        self.session = self.session.changed(self.now_ms, counts=count(self.files), **fields)

    def _after_reading(self, file: FileRecord) -> FileRecord:
        self.read[-1].append(file.uri)
        found = self.folder.get(file.uri)
        if file.uri in self.bad or found is None or found.version != file.fingerprint.mtime_ns:
            return replace(file, state=FileState.FAILED, error="line 1: bad", attempts=file.attempts + 1)
        assert self.session is not None
        name = f"{self.session.id}_{file.uri}"
        self.staged[name] = found.rows
        return replace(file, state=FileState.BUILT, segments=(name,), rows=found.rows, attempts=file.attempts + 1)
