"""How much of a session one run reads, where the table's task limits its runs in files, bytes or tasks.

What is beyond the limits is left to the next trigger. A run reads at least one file, however large it is, so that every
run comes further.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from segments.domain.formats.plural import counted
from segments.domain.ingestion.packing import files_per_segment
from segments.domain.ingestion.session import OPEN, FileRecord, FileState
from segments.domain.ingestion.task_config import IngestionTask, RunLimits
from segments.domain.push.parts_by_size import USUAL_BYTES, unpacked_size
from segments.domain.push.push_plan import InputFile


def limited(task: IngestionTask, files: Sequence[FileRecord]) -> tuple[FileRecord, ...]:
    """The files of a session as its next run begins: of those that are to be read, what this run leaves is DEFERRED.
    What was tried before comes first.
    """
    if task.run == RunLimits():
        return tuple(files)
    waiting = sorted((f for f in files if f.state in OPEN), key=lambda f: not f.attempts)
    allowance = _Allowance(task, files_per_segment(task, files))
    taken = 0
    while taken < len(waiting) and allowance.takes(waiting[taken]):
        taken += 1
    left = {f.uri for f in waiting[taken:]}
    return tuple(replace(f, state=FileState.DEFERRED) if f.uri in left else f for f in files)


def is_left_by_limits(files: Iterable[FileRecord]) -> bool:
    """Did the last run do all that it was to do, and only left files to the next one?"""
    states = {f.state for f in files}
    return FileState.DEFERRED in states and not states & {*OPEN, FileState.FAILED}


def left_sentence(read: int, left: int) -> str:
    """What a run leaves, for people; empty when it is nothing."""
    if not left:
        return ""
    return (
        f"This run reads {counted(read, 'file')} and leaves {left:,} to the next triggers: the task limits its runs "
        "(runMaxNumFiles, runMaxDataSize, runMaxNumTasks)."
    )


class _Allowance:
    """What one run may still read. Tasks are counted by the sizes of the files, as these are packed and cut."""

    def __init__(self, task: IngestionTask, files_per_task: int) -> None:
        self._task, self._files_per_task = task, files_per_task
        self._target = task.max_bytes or USUAL_BYTES
        self._files = self._bytes = self._tasks = 0
        self._room, self._in_task = 0, files_per_task

    def takes(self, file: FileRecord) -> bool:
        """Count a file in, unless it goes beyond a limit."""
        limits, size = self._task.run, file.fingerprint.size
        weight = unpacked_size(InputFile(file.uri, size, 0), self._task.reader.format)
        shares = weight <= self._room and self._in_task < self._files_per_task
        tasks = self._tasks + (0 if shares else max(1, -(-weight // self._target)))
        after = ((self._files + 1, limits.files), (self._bytes + size, limits.bytes), (tasks, limits.tasks))
        if self._files and any(limit and number > limit for number, limit in after):
            return False
        self._files, self._bytes, self._tasks = self._files + 1, self._bytes + size, tasks
        self._room = (self._room if shares else max(self._target, weight)) - weight
        self._in_task = self._in_task + 1 if shares else 1
        return True
