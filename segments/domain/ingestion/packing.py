"""How many files of a session share a segment: a table of ten thousand tiny segments helps nobody, and a file with a
segment of its own can be replaced or left out alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.domain.ingestion.session import FileRecord, FileState
from segments.domain.ingestion.task_config import IngestionMode, IngestionTask, ModifiedFilePolicy

#: Where nobody says otherwise, files share a segment in sessions of at least so many, of at most so many bytes each on
#: average; and so many share one.
MANY_FILES: Final = 200
SMALL_BYTES: Final = 1 << 20
TOGETHER: Final = 100


def files_per_segment(task: IngestionTask, files: Sequence[FileRecord]) -> int:
    """Of a session with these files. Always 1 where a single file is ever replaced or becomes visible alone."""
    adds = task.mode is IngestionMode.APPEND and task.modified_file_policy is not ModifiedFilePolicy.REPLACE
    if not task.consistent or not (task.swap or adds):
        return 1
    if task.max_files:
        return task.max_files
    sizes = [f.fingerprint.size for f in files if f.state is not FileState.DROPPED]
    are_small = len(sizes) >= MANY_FILES and sum(sizes) <= SMALL_BYTES * len(sizes)
    return TOGETHER if are_small else 1
