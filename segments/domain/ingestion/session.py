"""A file ingestion session and its files as values, and how both are written down.

A session extends over triggers: files that failed are read again at the next one, finished ones never. What it is
stands in a znode, the files in a manifest next to the staged segments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from segments.domain.formats.znrecord import ZNRecord

#: Runs that a session's record keeps, newest last; names of segments that stand in the record itself.
MOST_RUNS: Final = 50
MOST_LISTED: Final = 200


class SessionState(StrEnum):
    """INIT: planned. IN_PROGRESS: files are being ingested, or some failed and wait for the next trigger. SWITCH:
    everything is staged, and queries are being switched. DONE: all is visible. There is no failed state: what is not
    DONE can be tried again.
    """

    INIT = "INIT"
    IN_PROGRESS = "IN_PROGRESS"
    SWITCH = "SWITCH"
    DONE = "DONE"


class FileState(StrEnum):
    """PENDING and RUNNING: to be read in this run. BUILT: staged and hidden. DONE: visible. FAILED: waits for the next
    trigger. DEFERRED: beyond what one run may read, and so left to the next trigger. DROPPED: left the input, nothing
    of it is ingested. SKIPPED: unreadable, and the task says to leave it.
    """

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    BUILT = "BUILT"
    DONE = "DONE"
    FAILED = "FAILED"
    DEFERRED = "DEFERRED"
    DROPPED = "DROPPED"
    SKIPPED = "SKIPPED"


#: States in which a file still has to be read in this run.
OPEN: Final = frozenset({FileState.PENDING, FileState.RUNNING})


@dataclass(frozen=True)
class Fingerprint:
    """What says whether a file is still the same: ``mtime_ns`` of its last change and ``size`` in bytes.

    ``etag`` (the store's) and ``checksum`` are known of files that were read, as far as they are cheap to have: where
    only the time is another one, they say whether the bytes are.
    """

    mtime_ns: int
    size: int
    etag: str = field(default="", compare=False)
    checksum: str = field(default="", compare=False)

    @property
    def marks(self) -> dict[str, str]:
        """What says which bytes these are; {} where nothing does."""
        return {key: value for key, value in (("etag", self.etag), ("checksum", self.checksum)) if value}

    def marked(self, marks: Mapping[str, str]) -> Fingerprint:
        """The same with these marks."""
        return Fingerprint(self.mtime_ns, self.size, marks.get("etag", ""), marks.get("checksum", ""))

    def has_bytes_of(self, other: Fingerprint) -> bool:
        """Do the marks of both prove that the bytes are the same?"""
        mine, its = self.marks, other.marks
        return self.size == other.size and any(mine[key] == its[key] for key in mine.keys() & its.keys())


class BadRow(NamedTuple):
    """A row of a file that does not fit: its line, or row of a file without lines (from 1; None: not known), the
    column (empty: the row as a whole), the value, and why.
    """

    line: int | None
    row: int | None
    column: str
    value: str
    why: str


@dataclass(frozen=True)
class FileRecord:
    """One file of a session. ``fingerprint`` is that of the bytes that were read, or are to be.

    ``ordinals`` are the staged parts with its rows, ``segments`` their names, ``ends`` the last times of their rows
    (epoch ms; 0: not known). ``line`` is where ``error`` was found, if that is known. ``bad_rows`` do not fit, and
    ``bad`` are the first of them. ``log`` is that of the task that failed.
    """

    uri: str
    fingerprint: Fingerprint
    state: FileState = FileState.PENDING
    segments: tuple[str, ...] = ()
    ordinals: tuple[int, ...] = ()
    rows: int = 0
    bytes: int = 0
    attempts: int = 0
    error: str = ""
    line: int | None = None
    bad_rows: int = 0
    ends: tuple[int, ...] = ()
    log: str = ""
    bad: tuple[BadRow, ...] = ()

    def emptied(self, state: FileState) -> FileRecord:
        """Without anything staged."""
        return replace(
            self, state=state, segments=(), ends=(), ordinals=(), rows=0, bytes=0, bad_rows=0,
            error="", line=None, log="", bad=(),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the manifest."""
        print_ = self.fingerprint
        body = {"uri": self.uri, "mtime": print_.mtime_ns, "size": print_.size, "state": self.state.value}
        extra = {**print_.marks, **{k: v for k, v in vars(self).items() if k not in _APART}}
        return body | {k: list(v) if isinstance(v, tuple) else v for k, v in extra.items() if v}


_APART: Final = ("uri", "fingerprint", "state")


def file_from_json(body: Mapping[str, Any]) -> FileRecord:
    """Back from ``FileRecord.to_json``."""
    return FileRecord(
        body["uri"],
        Fingerprint(body["mtime"], body["size"], body.get("etag", ""), body.get("checksum", "")),
        FileState(body["state"]),
        tuple(body.get("segments", ())),
        tuple(body.get("ordinals", ())),
        body.get("rows", 0),
        body.get("bytes", 0),
        body.get("attempts", 0),
        body.get("error", ""),
        body.get("line"),
        body.get("bad_rows", 0),
        tuple(body.get("ends", ())),
        body.get("log", ""),
        tuple(BadRow(*row) for row in body.get("bad", ())),
    )


@dataclass(frozen=True)
class Run:
    """One trigger's work on a session: its task, when it began and ended (epoch ms; None: not yet, or not known), and
    how many files it finished and lost.
    """

    number: int
    task: str
    start_ms: int
    ok: int = 0
    failed: int = 0
    end_ms: int | None = None

    @property
    def text(self) -> str:
        """As it stands in the record."""
        end = "" if self.end_ms is None else f"|{self.end_ms}"
        return f"{self.number}|{self.task}|{self.start_ms}|{self.ok}/{self.failed}{end}"


def run_from_text(text: str) -> Run:
    """Back from ``Run.text``. Raises ValueError."""
    number, task, start, counts, *end = text.split("|")
    ok, failed = counts.split("/")
    return Run(int(number), task, int(start), int(ok), int(failed), int(end[0]) if end else None)


@dataclass(frozen=True)
class FileCounts:
    """How many files of a session are in which state; ``done`` are those that need nothing more but the switch."""

    total: int = 0
    done: int = 0
    failed: int = 0
    pending: int = 0
    dropped: int = 0
    deferred: int = 0


def count(files: Iterable[FileRecord]) -> FileCounts:
    """The counts of a session's files; dropped ones are not part of the total."""
    found = Counter(f.state for f in files)
    dropped = found[FileState.DROPPED]
    done = found[FileState.BUILT] + found[FileState.DONE] + found[FileState.SKIPPED]
    pending = found[FileState.PENDING] + found[FileState.RUNNING]
    total, deferred = sum(found.values()) - dropped, found[FileState.DEFERRED]
    return FileCounts(total, done, found[FileState.FAILED], pending, dropped, deferred)


def failure(files: Sequence[FileRecord]) -> str:
    """How many files failed, and why the first did; empty when none did."""
    first = next((f for f in files if f.state is FileState.FAILED), None)
    if first is None:
        return ""
    counts = count(files)
    why = error_of_file(first.error, first.uri, first.line)
    return f"{counts.failed} of {counts.total} files failed, first '{first.uri}': {why}"


def error_of_file(error: str, uri: str, line: int | None) -> str:
    """An error for a place where the file is named already: without its name, and with the line at fault, once."""
    named = f"Input file '{uri}'"
    text = error.replace(f"{named}: ", "").replace(f"{named} line", "line").replace(named, "It")
    # A sentence that names the line has no digit behind it.
    has_line = line is None or any(not after[:1].isdigit() for after in text.split(f"line {line}")[1:])
    return text[:1].upper() + text[1:] if has_line else f"Line {line:,}: {text}"


@dataclass(frozen=True)
class IngestionSession:
    """One session as its znode has it. Times are epoch milliseconds.

    ``task``: the run under way; empty: none is, and the session waits for a trigger. ``owner`` holds the lease until
    ``lease_until_ms``; only it writes. ``entry_id``: the lineage entry of the switch; empty before. ``segments_from``
    and ``segments_to`` are frozen at SWITCH. ``manifest_version`` counts manifests, ``manifest_uri`` is the newest
    one. ``consistent``: all files appear at once, at SWITCH. ``started``: the cluster has opened the entry. ``error``
    is why the last run did not come to its end. ``changed_files``: how many of its files were ingested before they
    changed, and keep those rows too, so that rows may be there twice. ``spark_ui`` is the address of Spark's own page
    of the run under way; empty: it has none. ``blocked``: the table's checks refused the switch, and somebody has to
    decide; ``override`` is the reason for which ``override_by`` switches all the same. ``uncovered``: the first
    segments that came in after a swap had frozen its old side, and that queries see next to the new one.
    """

    id: str
    state: SessionState
    mode: str
    swap: bool
    consistent: bool
    start_ms: int
    config_hash: str
    input_dir: str
    triggered_by: str
    retry_count: int = 0
    max_retries: int = 0
    updated_ms: int = 0
    end_ms: int | None = None
    end_reason: str = ""
    task: str = ""
    entry_id: str = ""
    owner: str = ""
    lease_until_ms: int = 0
    counts: FileCounts = field(default_factory=FileCounts)
    manifest_uri: str = ""
    manifest_version: int = 0
    segments_from: tuple[str, ...] = ()
    segments_to: tuple[str, ...] = ()
    rows: int = 0
    bytes: int = 0
    error: str = ""
    started: bool = False
    runs: tuple[Run, ...] = ()
    changed_files: int = 0
    spark_ui: str = ""
    blocked: bool = False
    override: str = ""
    override_by: str = ""
    uncovered: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Something is left to do, by a worker or a trigger."""
        return self.state is not SessionState.DONE and not self.end_reason

    @property
    def is_running(self) -> bool:
        """A run is under way, whether its worker lives or not."""
        return self.is_open and bool(self.task)

    @property
    def has_leftovers(self) -> bool:
        """It is over, and what it leaves is not all removed yet: staged files, or the switch of one given up."""
        return not self.is_open and bool(self.task)

    def changed(self, now_ms: int, **fields: Any) -> IngestionSession:
        """A copy with other fields, written down now."""
        return replace(self, updated_ms=now_ms, **fields)


def to_record(session: IngestionSession) -> ZNRecord:
    """The znode. Lists of more than ``MOST_LISTED`` names stand in the manifest only."""
    counts = session.counts
    simple = {
        "state": session.state.value, "retryCount": str(session.retry_count), "maxRetries": str(session.max_retries),
        "mode": session.mode, "swap": _flag(session.swap), "consistent": _flag(session.consistent),
        "startTimeMs": str(session.start_ms), "lastUpdateTimeMs": str(session.updated_ms),
        "endTimeMs": "" if session.end_ms is None else str(session.end_ms), "endReason": session.end_reason,
        "triggeredBy": session.triggered_by, "currentTaskName": session.task, "lineageEntryId": session.entry_id,
        "configHash": session.config_hash, "inputDirURI": session.input_dir, "leaseOwner": session.owner,
        "leaseExpiryMs": str(session.lease_until_ms), "numFilesTotal": str(counts.total),
        "numFilesDone": str(counts.done), "numFilesFailed": str(counts.failed), "numFilesPending": str(counts.pending),
        "numFilesDropped": str(counts.dropped), "numFilesDeferred": str(counts.deferred),
        "manifestUri": session.manifest_uri,
        "manifestVersion": str(session.manifest_version), "numSegmentsFrom": str(len(session.segments_from)),
        "numSegmentsTo": str(len(session.segments_to)), "rows": str(session.rows), "bytes": str(session.bytes),
        "error": session.error, "switchStarted": _flag(session.started),
        "rowsMayDuplicate": str(session.changed_files), "sparkUi": session.spark_ui,
        "blocked": _flag(session.blocked), "overrideChecks": session.override, "overrideBy": session.override_by,
    }  # fmt: skip
    lists = {"runs": [r.text for r in session.runs[-MOST_RUNS:]]}
    named = {"segmentsFrom": session.segments_from, "segmentsTo": session.segments_to}
    for name, segments in {**named, "uncoveredSegments": session.uncovered[:MOST_LISTED]}.items():
        if segments and len(segments) <= MOST_LISTED:
            lists[name] = list(segments)
    return ZNRecord(session.id, simple, lists=lists)


#: The fields of ``FileCounts``, as their keys end.
_COUNTED: Final = ("Total", "Done", "Failed", "Pending", "Dropped", "Deferred")


def from_record(record: ZNRecord) -> IngestionSession:
    """Back from ``to_record``. Raises KeyError or ValueError for a record that is not a session's."""
    simple, lists = record.simple, record.lists
    counts = FileCounts(*(int(simple.get(f"numFiles{state}", "0")) for state in _COUNTED))
    return IngestionSession(
        id=record.id,
        state=SessionState(simple["state"]),
        mode=simple["mode"],
        swap=simple["swap"] == "true",
        consistent=simple["consistent"] == "true",
        start_ms=int(simple["startTimeMs"]),
        config_hash=simple["configHash"],
        input_dir=simple["inputDirURI"],
        triggered_by=simple["triggeredBy"],
        retry_count=int(simple["retryCount"]),
        max_retries=int(simple["maxRetries"]),
        updated_ms=int(simple["lastUpdateTimeMs"]),
        end_ms=int(simple["endTimeMs"]) if simple["endTimeMs"] else None,
        end_reason=simple["endReason"],
        task=simple["currentTaskName"],
        entry_id=simple["lineageEntryId"],
        owner=simple["leaseOwner"],
        lease_until_ms=int(simple["leaseExpiryMs"]),
        counts=counts,
        manifest_uri=simple["manifestUri"],
        manifest_version=int(simple["manifestVersion"]),
        segments_from=tuple(lists.get("segmentsFrom", ())),
        segments_to=tuple(lists.get("segmentsTo", ())),
        rows=int(simple["rows"]),
        bytes=int(simple["bytes"]),
        error=simple["error"],
        started=simple["switchStarted"] == "true",
        runs=tuple(run_from_text(text) for text in lists.get("runs", ())),
        changed_files=int(simple.get("rowsMayDuplicate", "0")),
        spark_ui=simple.get("sparkUi", ""),
        blocked=simple.get("blocked") == "true",
        override=simple.get("overrideChecks", ""),
        override_by=simple.get("overrideBy", ""),
        uncovered=tuple(lists.get("uncoveredSegments", ())),
    )


def _flag(value: bool) -> str:
    return "true" if value else "false"
