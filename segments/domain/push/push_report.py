"""What a push found in its input: columns ignored, defaults filled in, rows that do not fit; bounded,
and with a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

#: Bad values listed of one part and of a push, ignored columns listed, and characters shown of a value and of a file's
#: path.
MOST_OF_PART: Final = 200
MOST: Final = 1000
MOST_COLUMNS: Final = 500
MOST_CHARS: Final = 200
MOST_PATH: Final = 1000


@dataclass(frozen=True)
class BadValue:
    """A row that does not fit: file, line of a text file or row of another (from 1), column (empty: the row as a
    whole), value, why.
    """

    file: str
    line: int | None
    row: int | None
    column: str
    value: str
    why: str

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line is not None else "" if self.row is None else f"row {self.row}"
        what = f"Column '{self.column}': value {self.value} {self.why}" if self.column else f"{self.why} {self.value}"
        return f"Input file '{self.file}'{place and ' '}{place}: {what}"


@dataclass(frozen=True)
class PushReport:
    """``ignored`` is {column: files that have it}, ``defaults`` {column: rows}; ``bad`` are the first bad values of
    ``bad_rows`` rows.

    ``is_complete``: all was examined; if not, there are at least so many bad rows. ``bad_of_files``: bad rows by file,
    of the files of a part that have any; a push is not asked for them.
    """

    rows_read: int = 0
    bad_rows: int = 0
    bad: tuple[BadValue, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)
    is_complete: bool = True
    bad_of_files: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def exceeds(self, error_rate: float) -> bool:
        """Is a larger share of the rows bad than may be (0 to 1)?"""
        return self.bad_rows > error_rate * self.rows_read


def report_from_json(body: Mapping[str, Any]) -> PushReport:
    """Back from ``to_json``."""
    return PushReport(**{**body, "bad": tuple(BadValue(**b) for b in body.get("bad", ()))})


def merged(reports: Iterable[PushReport], *, is_complete: bool = True) -> PushReport:
    """The report of a push from those of its parts."""
    rows, count, bad = 0, 0, list[BadValue]()
    ignored, defaults = dict[str, int](), dict[str, int]()
    for one in reports:
        rows, count = rows + one.rows_read, count + one.bad_rows
        bad += one.bad[: MOST - len(bad)]
        is_complete = is_complete and one.is_complete
        for target, given in ((ignored, one.ignored), (defaults, one.defaults)):
            for column, number in given.items():
                if column in target or len(target) < MOST_COLUMNS:
                    target[column] = target.get(column, 0) + number
    return PushReport(rows, count, tuple(bad), ignored, defaults, is_complete)


def too_many(report: PushReport, error_rate: float) -> str:
    """The sentence with which a push fails over its limit; the first bad value stands in it."""
    count = f"{report.bad_rows:,}" if report.is_complete else f"At least {report.bad_rows:,}"
    verb = "row does" if report.rows_read == 1 else "rows do"
    first = f" First: {report.bad[0]}" if report.bad else ""
    return f"{count} of {report.rows_read:,} {verb} not fit; errorRate allows {error_rate:g} of them.{first}"
