"""Finds and ends every process that a child left behind, through /proc.

A process group is not enough: PySpark's Python workers make a group of their own. They stay in the session of the
child, and they inherit its environment, so both are checked. Standard library only, because the guardian runs without
anything else.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

MARKER = "PINOTADMIN_PROCESS"
_PROC = Path("/proc")


def session_of(pid: int) -> int | None:
    """Session id of a process that still runs; None when it is gone or a zombie."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if len(fields) < 4 or fields[0] in "ZX" else int(fields[3])


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    return session_of(pid) is not None


def carries_marker(pid: int, prefix: str) -> bool:
    """Whether the process was started with ``PINOTADMIN_PROCESS`` beginning with ``prefix``."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"\0{MARKER}={prefix}".encode() in b"\0" + environment


def members(sessions: set[int], prefix: str) -> list[int]:
    """Pids that run in one of the sessions or carry the marker; never our own."""
    try:
        pids = [int(entry) for entry in os.listdir(_PROC) if entry.isdigit()]
    except OSError:
        return []
    own = os.getpid()
    found = []
    for pid in pids:
        session = session_of(pid) if pid != own else None
        if session is not None and (session in sessions or carries_marker(pid, prefix)):
            found.append(pid)
    return found


def send(pid: int, number: int) -> None:
    """Signal a process; one that is gone meanwhile is fine."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def send_group(group: int, number: int) -> None:
    """Signal a process group; one that is gone meanwhile is fine."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_members(
    sessions: set[int], prefix: str, *, seconds: float = 10.0, sleep: Callable[[float], None] = time.sleep
) -> list[int]:
    """SIGKILL everything in the sessions or with the marker until nothing of it runs; returns what is left after
    ``seconds``.
    """
    deadline = time.monotonic() + seconds
    for session in sessions:
        send_group(session, signal.SIGKILL)
    left = members(sessions, prefix)
    while left and time.monotonic() < deadline:
        for pid in left:
            send(pid, signal.SIGKILL)
        sleep(0.01)
        left = members(sessions, prefix)
    return left
