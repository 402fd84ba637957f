"""A file ingestion session in plain words: where it stands, what queries see, what comes next, how long it may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from segments.console.presenters.badges import Mark, mark
from segments.domain.ingestion.session import BadRow, error_of_file
from segments.models import IngestionAttempt, IngestionFile, IngestionSession
from segments.services.ingestion.mirrored_sessions import bad_rows

_State = IngestionSession.State
#: What a reason for an end means; others are shown as they are.
_ENDS: Final = {
    "RETRIES_EXHAUSTED": "Its retries were used up: the session after it began again with all files.",
    "CONFIG_CHANGED": "Its configuration was changed: the session after it began again with all files.",
    "CLEARED": "Its state was cleared; nothing of it became visible.",
    "CANCELLED": "Cancelled; nothing of it became visible.",
    "UNDONE": "Undone: its rows are not visible any more.",
}
_FILE_MARKS: Final = {
    "PENDING": Mark("queued", "idle", "clock"),
    "RUNNING": Mark("building", "busy", "spin"),
    "BUILT": Mark("built", "ok", "check"),
    "DONE": Mark("pushed", "ok", "check"),
    "FAILED": Mark("failed", "bad", "cross"),
    "DEFERRED": Mark("left for later", "idle", "clock"),
    "DROPPED": Mark("gone", "idle", "dot"),
    "SKIPPED": Mark("skipped", "warn", "alert"),
}


@dataclass(frozen=True)
class SessionView:
    """One session for a page. ``left_s``: seconds that the files that are left may take; None: nobody can know.

    ``is_live``: a run is under way, so that the page changes on its own. ``waits``: nothing happens until a trigger.
    ``goes_on``: that is no retry, it only goes on with what the limits of a run left.
    """

    session: IngestionSession
    mark: Mark
    sentence: str
    next_step: str
    percent: int
    left_s: float | None
    is_live: bool
    waits: bool
    goes_on: bool


@dataclass(frozen=True)
class FileLine:
    """One file of a session. ``name`` is its address below the session's folder; ``error`` does not repeat
    it, and says in which line. ``bad`` are the first of its rows that do not fit.
    """

    file: IngestionFile
    mark: Mark
    name: str
    error: str
    bad: list[BadRow]


def file_line(file: IngestionFile, folder: str) -> FileLine:
    """How the page shows a file of a session that reads ``folder``."""
    error = error_of_file(file.error, file.uri, file.line)
    below = folder.rstrip("/") + "/"
    name = file.uri.removeprefix(below) if folder else file.uri
    return FileLine(file, file_mark(file.state), name, error, bad_rows(file))


def session_view(session: IngestionSession, attempts: Sequence[IngestionAttempt], now: datetime) -> SessionView:
    """What the page says of a session; ``attempts`` are its runs, oldest first."""
    is_open = is_open_session(session)
    is_live = is_open and bool(session.task)
    return SessionView(
        session,
        _mark(session, is_live=is_live),
        _sentence(session, is_live=is_live),
        _next_step(session) if is_open and not is_live else "",
        _percent(session),
        _left_s(session, attempts, now) if is_live else None,
        is_live,
        is_open and not is_live,
        is_open and not is_live and _goes_on(session),
    )


def is_open_session(session: IngestionSession) -> bool:
    """Is something left to do, by a worker or by a trigger?"""
    return session.is_kept and session.state != _State.DONE and not session.end_reason


def file_mark(state: str) -> Mark:
    """The badge of a file's state."""
    return _FILE_MARKS.get(state) or mark(state)


def file_tallies(session: IngestionSession) -> list[tuple[str, str, int]]:
    """(state, word, how many files) of the states that occur, those that need somebody first."""
    order = ("FAILED", "RUNNING", "PENDING", "DEFERRED", "SKIPPED", "BUILT", "DONE", "DROPPED")
    counts = [(s, str(IngestionFile.State(s).label), int(getattr(session, f"files_{s.lower()}"))) for s in order]
    return [line for line in counts if line[2]]


def mode_words(mode: str, *, swap: bool) -> str:
    """What the table does with the folder's files."""
    if swap:
        return "swap: each session replaces the whole table by all files of the folder"
    if mode == "SYNC":
        return "sync: the table follows the folder; changed files are replaced, rows of deleted files go"
    return "append: new files are added, nothing is removed"


def _mark(session: IngestionSession, *, is_live: bool) -> Mark:
    if session.state == _State.DONE:
        return Mark("undone", "idle", "undo") if session.end_reason == "UNDONE" else Mark("done", "ok", "check")
    if session.end_reason:
        return Mark("ended", "idle", "cross")
    if is_live:
        return Mark(_State(session.state).label, "busy", "spin")
    if session.is_blocked:
        return Mark("blocked", "bad", "cross")
    return Mark("waiting", "bad" if session.files_failed else "warn", "cross" if session.files_failed else "clock")


def _sentence(session: IngestionSession, *, is_live: bool) -> str:
    total, failed = session.files_total, session.files_failed
    if session.end_reason:
        return _ENDS.get(session.end_reason, f"It ended: {session.end_reason}.")
    if session.state == _State.DONE:
        return _done_sentence(session)
    if session.state == _State.SWITCH:
        return _switch_sentence(session, is_live=is_live)
    if session.state == _State.INIT:
        return "The folder was listed; no file is read yet." if total else "The folder is being listed."
    ready = session.files_built + session.files_done
    if is_live:
        return f"{ready} of {_files(total)} built. Queries still see the old rows."
    if failed:
        return f"{_files(failed)} of {total} failed. Queries still see the old rows, and nothing of this session."
    why = "and its last run read as many as one run may" if session.files_deferred else "and the run ended"
    return f"{ready} of {_files(total)} built, {why}. Queries still see the old rows."


def _done_sentence(session: IngestionSession) -> str:
    """Files that a session of a task without consistent push left are read by the next one."""
    shown, left = session.files_total - session.files_deferred, session.files_deferred
    if not session.files_total:
        return "Done: there was nothing to read."
    more = f" It read as many as one run may; {_files(left)} {'is' if left == 1 else 'are'} left." if left else ""
    return f"Done: queries see the rows of {_files(shown)}.{more}"


def _goes_on(session: IngestionSession) -> bool:
    """Does the next trigger only go on with what the limits of a run left?"""
    is_whole = not (session.files_failed or session.files_pending or session.files_running)
    return bool(session.files_deferred) and is_whole and session.state == _State.IN_PROGRESS


def _switch_sentence(session: IngestionSession, *, is_live: bool) -> str:
    if is_live:
        return "All files are built. Queries are being switched to them, all at once."
    why = "the table's checks refuse the switch" if session.is_blocked else "the switch did not come to its end"
    return f"All files are built, but {why}. Queries still see the old rows."


def _next_step(session: IngestionSession) -> str:
    if _goes_on(session):
        rest = f"the {_files(session.files_deferred)} that are" if session.files_deferred > 1 else "the file that is"
        return f"The next trigger goes on with {rest} left, which is no retry. Queries see all at once, at the end."
    if session.retry_count < session.max_retries:
        left = session.max_retries - session.retry_count
        if session.state == _State.SWITCH:
            return f"The next trigger tries the switch again and reads no file ({left} of its retries left)."
        open_files = session.files_failed + session.files_pending + session.files_running + session.files_deferred
        tries = "the last retry" if left == 1 else f"{left} retries are left"
        again = f"only {_files(open_files)}" if open_files else "no file"
        return f"The next trigger reads {again} again and keeps what is built ({tries})."
    why = "no retry is allowed" if not session.max_retries else "all retries are used up"
    return f"The next trigger begins again with all files: {why}. Retry now if the cause is fixed."


def _percent(session: IngestionSession) -> int:
    if session.state == _State.DONE:
        return 100
    ready = session.files_built + session.files_done + session.files_skipped
    return min(99, 100 * ready // session.files_total) if session.files_total else 0


def _left_s(session: IngestionSession, attempts: Sequence[IngestionAttempt], now: datetime) -> float | None:
    """By what this run has done since it began; a run counts what is ready at its end, also from the runs before."""
    if session.state != _State.IN_PROGRESS or not attempts or attempts[-1].started_at is None:
        return None
    before = attempts[-2].files_ok if len(attempts) > 1 else 0
    ended = session.files_built + session.files_done + session.files_skipped + session.files_failed - before
    left = session.files_pending + session.files_running
    passed = (now - attempts[-1].started_at).total_seconds()
    return left * passed / ended if ended > 0 and passed > 0 else None


def _files(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"
