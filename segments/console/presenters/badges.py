"""State as word, icon and tone, so that colour never speaks alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Mark:
    """What a badge shows: ``tone`` is one of ok, warn, bad, busy, idle; ``icon`` a symbol of icons.svg."""

    text: str
    tone: str
    icon: str


_OK, _WARN, _BAD, _BUSY, _IDLE = ("ok", "check"), ("warn", "alert"), ("bad", "cross"), ("busy", "spin"), ("idle", "dot")

_MARKS: Final = {
    # lineage
    "IN_PROGRESS": _BUSY,
    "COMPLETED": _OK,
    "REVERTED": ("idle", "undo"),
    # pushes
    "QUEUED": ("idle", "clock"),
    "RUNNING": _BUSY,
    "DONE": _OK,
    "FAILED": _BAD,
    "CANCELLED": ("idle", "cross"),
    "BLOCKED": _WARN,
    # reingestions
    "READING": _BUSY,
    "BUILDING": _BUSY,
    "UPLOADING": _BUSY,
    # checks
    "passed": _OK,
    "warned": _WARN,
    "blocked": _BAD,
    "overridden": _WARN,
    # audit
    "done": _OK,
    "refused": _WARN,
    "failed": _BAD,
    # findings
    "error": _BAD,
    "warning": _WARN,
    # replicas
    "ONLINE": _OK,
    "CONSUMING": _BUSY,
    "COMMITTING": _BUSY,
    "OFFLINE": _WARN,
    "ERROR": _BAD,
    "DROPPED": _IDLE,
    # minion tasks and their sub-tasks
    "NOT_STARTED": ("idle", "clock"),
    "INIT": ("idle", "clock"),
    "STOPPED": ("warn", "clock"),
    "STOPPING": _BUSY,
    "ABORTED": _BAD,
    "TIMED_OUT": _BAD,
    "TIMING_OUT": _BAD,
    "FAILING": _BAD,
    "TASK_ERROR": _BAD,
    "TASK_ABORTED": _BAD,
    # segments of a push
    "PLANNED": ("idle", "clock"),
    "STAGED": ("idle", "check"),
    "UPLOADED": _OK,
    "REMOVED": ("idle", "undo"),
}


def mark(state: str) -> Mark:
    """The badge of a state; unknown states are shown as they are."""
    tone, icon = _MARKS.get(state, _IDLE)
    return Mark(state, tone, icon)


def replicas_mark(online: int, wanted: int) -> Mark:
    """``3 of 4 online``."""
    if wanted == 0:
        return Mark("no segments", *_IDLE)
    if online == 0:
        return Mark(f"0 of {wanted} online", *_BAD)
    if online < wanted:
        return Mark(f"{online} of {wanted} online", *_WARN)
    return Mark("online", *_OK)
