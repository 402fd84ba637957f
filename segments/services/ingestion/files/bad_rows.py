"""Rows of a session's files that do not fit: counted by file, and the first of them listed with line and value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from segments.domain.ingestion.session import BadRow, FileRecord
from segments.domain.push.push_report import MOST_PATH
from segments.secret_texts import mask_text

#: Rows that are listed of one file, and of a session.
MOST_OF_FILE: Final = 20
MOST_OF_SESSION: Final = 1_000


def bad_rows_of(uri: str, report: Mapping[str, Any]) -> int:
    """How many rows of a file do not fit, by the report of a part that holds some of its rows."""
    return int(report.get("bad_of_files", {}).get(uri, 0))


class BadRows:
    """What may still be listed of a session; ``files`` are those that it has, with what is listed already."""

    def __init__(self, files: Iterable[FileRecord]) -> None:
        self._room = MOST_OF_SESSION - sum(len(f.bad) for f in files)

    def rows(self, uri: str, reports: Sequence[Mapping[str, Any]]) -> tuple[BadRow, ...]:
        """The first rows of a file that do not fit, from the reports of its parts, as far as there is room."""
        found = [
            BadRow(bad["line"], bad["row"], bad["column"], mask_text(bad["value"]), mask_text(bad["why"]))
            for report in reports
            for bad in report.get("bad", ())
            if bad["file"] == uri[:MOST_PATH]
        ]
        found.sort(key=lambda bad: bad.line or bad.row or 0)
        listed = tuple(found[: max(min(MOST_OF_FILE, self._room), 0)])
        self._room -= len(listed)
        return listed
