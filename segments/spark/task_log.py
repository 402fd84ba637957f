"""The log of a task that failed: what was raised, what caused it, and where; short enough to be kept with the file."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_CAUSES: Final = 5
_FRAMES: Final = 4
_LONGEST_TEXT: Final = 300
LONGEST: Final = 2_000


def task_log(error: BaseException) -> str:
    """The error, then its causes, each with the last places in the code that it came through, at most ``LONGEST``
    characters: the beginning.
    """
    lines = [line for number, one in enumerate(_chain(error)) for line in _lines(one, is_cause=number > 0)]
    return "\n".join(lines)[:LONGEST]


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(_CAUSES):
        if found is None:
            return
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _lines(error: BaseException, *, is_cause: bool) -> Iterator[str]:
    text = " ".join(str(error).split())[:_LONGEST_TEXT]
    yield f"{'caused by ' if is_cause else ''}{type(error).__name__}: {text}"
    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        # Folders of the machine are nobody's business.
        yield f"  at {'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} in {frame.name}"
