"""What reading a piece of an input file found besides its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from segments.domain.push.push_report import MOST_OF_PART


@dataclass
class FileNotes:
    """Columns that the schema has not (``ignored``), and ``bad`` rows that are left out because they are none.

    ``listed`` are the first of those: (line, text, why). ``width``: columns of a CSV file, for a search of its lines.
    ``first_row``: the number in the file, from 0, of the piece's first row; None: not known. ``origin``: for each row
    read the row of the piece that it comes from, where one gives several (NumPy; None: the same).
    """

    ignored: list[str] = field(default_factory=list)
    bad: int = 0
    listed: list[tuple[int, str, str]] = field(default_factory=list)
    width: int = 0
    first_row: int | None = 0
    origin: Any = None

    def list_bad(self, line: int, text: str, why: str) -> None:
        """One more row that is none; the first are listed."""
        self.bad += 1
        if len(self.listed) < MOST_OF_PART:
            self.listed.append((line, text, why))
