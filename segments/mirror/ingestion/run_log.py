"""The log of a session's run as the mirror sees it go on: what became of each file, the session's steps, why it
stopped. Of a run that the mirror has not seen it names how its files stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.ingestion.session import error_of_file

#: Characters that are kept of a run's log: its last ones.
LONGEST: Final = 32_000
_LONGEST_LINE: Final = 500
_STEPS: Final = {
    "INIT": "The folder was listed.",
    "IN_PROGRESS": "Files are read.",
    "SWITCH": "Queries are switched.",
    "DONE": "Done: queries see all of it.",
}
_WORDS: Final = {"BUILT": "built", "FAILED": "failed", "SKIPPED": "skipped", "DROPPED": "left the folder"}


def continued(log: str, lines: Iterator[str]) -> str:
    """The log with more lines, without its oldest ones when it gets too long."""
    text = "\n".join([*([log] if log else []), *(line[:_LONGEST_LINE] for line in lines)])
    return text if len(text) <= LONGEST else "…\n" + text[-LONGEST:].partition("\n")[2]


def news(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    files_before: Mapping[str, Any],
    files: Mapping[str, Any],
    logs: Mapping[str, str],
) -> Iterator[str]:
    """One line for each thing that changed: files as tuples in the order of ``FILE_COLUMNS``, by URI. Below a failed
    file is the log of its task, where there is one.
    """
    changed: datetime | None = now["changed_at"]
    at = f"{changed:%H:%M:%S}" if changed else "--:--:--"
    for uri, file in files.items():
        known = files_before.get(uri)
        if file[2] in _WORDS and (known is None or (known[2], known[6], known[7]) != (file[2], file[6], file[7])):
            yield f"{at} {_file_line(uri, file)}"
            yield from (f"    {line}" for line in logs.get(uri, "").splitlines() if file[2] == "FAILED")
    if before.get("state") != now["state"]:
        yield f"{at} {_STEPS[now['state']]}"
    left = now.get("files_deferred", 0)
    if left and not now["task"] and before.get("task") != now["task"]:
        yield f"{at} The run read as many as one may; {counted(left, 'file', 'is', 'are')} left for the next trigger."
    if now["error"] and before.get("error") != now["error"]:
        yield f"{at} Stopped: {now['error']}"


def _file_line(uri: str, file: tuple[Any, ...]) -> str:
    _, _, state, _, rows, _, _, error, line, bad_rows, _ = file
    if state == "BUILT":
        bad = f"; {counted(bad_rows, 'row', 'does', 'do')} not fit" if bad_rows else ""
        return f"{uri}: built, {counted(rows or 0, 'row')}{bad}"
    return f"{uri}: {_WORDS[state]}{f': {error_of_file(error, uri, line)}' if error else ''}"
