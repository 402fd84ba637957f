"""The session's state machine: what a trigger does, and what follows from a run, each decided from state, listing and
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from segments.domain.ingestion.plan import Listing, Plan, Visible, check_not_empty, new_plan, vanished
from segments.domain.ingestion.reconcile import reconcile
from segments.domain.ingestion.registry import Registry
from segments.domain.ingestion.run_limits import is_left_by_limits, limited
from segments.domain.ingestion.session import (
    OPEN,
    FileRecord,
    FileState,
    IngestionSession,
    SessionState,
    failure,
)
from segments.domain.ingestion.task_config import IngestionTask


class EndReason(StrEnum):
    """Why a session ended without its files becoming visible; a session that is DONE has none until it is UNDONE."""

    RETRIES_EXHAUSTED = "RETRIES_EXHAUSTED"
    CONFIG_CHANGED = "CONFIG_CHANGED"
    CLEARED = "CLEARED"
    CANCELLED = "CANCELLED"
    UNDONE = "UNDONE"


@dataclass(frozen=True)
class Situation:
    """What a trigger finds. ``session`` and ``files``: the newest session of the table. ``config_hash`` is that of what
    the session depends on; ``cleared_for``: the table config for which the clear flag was honoured already, as
    ``clear_hash`` is that of the present one. ``forced``: a swap is done although nothing changed.
    """

    task: IngestionTask
    config_hash: str
    listing: Listing
    registry: Registry
    visible: Visible
    session: IngestionSession | None = None
    files: Sequence[FileRecord] = ()
    clear_hash: str = ""
    cleared_for: str = ""
    forced: bool = False


@dataclass(frozen=True)
class Idle:
    """Nothing is done, and why. ``is_busy``: a run is under way."""

    why: str
    is_busy: bool = False


@dataclass(frozen=True)
class Begin:
    """A session begins, after ``discards`` was thrown away for ``reason`` (None: there is none). Without files and
    vanished ones only the throwing away is done.
    """

    plan: Plan
    discards: IngestionSession | None = None
    reason: EndReason | None = None


@dataclass(frozen=True)
class Retry:
    """The session goes on with these files; one retry more, unless its last run only left files to the next one by its
    limits (``is_continued``). ``vanished`` as in a plan.
    """

    files: tuple[FileRecord, ...]
    vanished: tuple[str, ...]
    is_continued: bool = False


@dataclass(frozen=True)
class SwitchAgain:
    """Everything is staged; only the switch is driven again, as one retry more."""


Decision = Idle | Begin | Retry | SwitchAgain


def on_trigger(now: Situation) -> Decision:
    """What the trigger does. Raises what ``new_plan`` raises; nothing is to be changed then."""
    session = now.session
    if session is not None and session.is_open and session.is_running and session.state is SessionState.SWITCH:
        return _busy(session)  # queries may see it already: it is neither given up nor cleared now
    if clears(now):
        is_open = session is not None and session.is_open
        return Begin(_planned(now), session if is_open else None, EndReason.CLEARED if is_open else None)
    if session is None or not session.is_open:
        plan = _planned(now)
        return Idle(plan.idle) if plan.idle else Begin(plan)
    if session.is_running:
        return _busy(session)
    if session.config_hash != now.config_hash:
        return Begin(_planned(now), session, EndReason.CONFIG_CHANGED)
    goes_on = session.state is SessionState.IN_PROGRESS and is_left_by_limits(now.files)
    if session.retry_count >= now.task.max_retries and not goes_on:
        return Begin(_planned(now), session, EndReason.RETRIES_EXHAUSTED)
    if session.state is SessionState.SWITCH:
        return SwitchAgain()
    check_not_empty(now.task, now.listing)
    files = reconcile(now.task, now.files, now.listing, now.registry, now.visible)
    return Retry(limited(now.task, files), vanished(now.task, now.listing, now.registry), goes_on)


def _busy(session: IngestionSession) -> Idle:
    return Idle(f"Session {session.id} is running; the trigger is skipped.", is_busy=True)


def clears(now: Situation) -> bool:
    """Is the clear flag to be honoured? Once for each version of the table config."""
    return now.task.clear and now.task.consistent and now.cleared_for != now.clear_hash


def _planned(now: Situation) -> Plan:
    plan = new_plan(now.task, now.listing, now.registry, now.visible, forced=now.forced)
    return replace(plan, files=limited(now.task, plan.files))


class Next(StrEnum):
    """What follows from the files of a session in a run."""

    READ = "READ"
    WAIT = "WAIT"
    SWITCH = "SWITCH"
    FINISH = "FINISH"


@dataclass(frozen=True)
class RunOutcome:
    """``next`` and, where the session waits for a trigger, why."""

    next: Next
    error: str = ""
    files: tuple[FileRecord, ...] = field(default=(), compare=False)


def after_files(files: Sequence[FileRecord], gone: Sequence[str], *, replaces_all: bool) -> RunOutcome:
    """READ while files are open; WAIT for the next trigger when some failed or were left to it; FINISH when nothing is
    staged and nothing has to go; else SWITCH. ``replaces_all``: the switch is needed in any case.
    """
    if any(f.state in OPEN for f in files):
        return RunOutcome(Next.READ)
    if error := failure(files):
        return RunOutcome(Next.WAIT, error)
    if is_left_by_limits(files):
        return RunOutcome(Next.WAIT)
    is_staged = any(f.state is FileState.BUILT for f in files)
    return RunOutcome(Next.SWITCH if is_staged or gone or replaces_all else Next.FINISH)
