"""What the input of one part shows while it is converted: columns ignored, defaults filled in, rows that do not fit."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from segments.datatypes.shown_value import quoted_text
from segments.domain.push.push_plan import Piece
from segments.domain.push.push_report import MOST_CHARS, MOST_COLUMNS, MOST_OF_PART, MOST_PATH, BadValue, PushReport
from segments.domain.push.reader_spec import TEXTS, ReaderSpec
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE, InputSource
from segments.segmentfile import transform_table
from segments.segmentfile.columns.bad_rows import transform_fitting
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.rows import lines_of


@dataclass(frozen=True)
class _Slice:
    """Rows of one piece within the part's table, where they begin ``at``; ``rows`` of it were read."""

    piece: Piece
    at: int
    rows: int
    notes: FileNotes

    @property
    def path(self) -> str:
        """The file."""
        return self.piece.file.path

    def row(self, at: int) -> int:
        """The row of the piece, from 0, from which the table's row comes."""
        return at - self.at if self.notes.origin is None else int(self.notes.origin[at - self.at])

    def number(self, at: int) -> int | None:
        """The number of that row in the file, from 1; None when it is not known."""
        return None if self.notes.first_row is None else self.row(at) + self.notes.first_row + 1


@dataclass
class PartInput:
    """Rows of a part on their way into columns; what is noticed is kept for ``report``."""

    reader: ReaderSpec
    schema: Schema
    config: TableConfig
    now_ms: int
    source: InputSource = ANYWHERE
    slices: list[_Slice] = field(default_factory=list)
    rows: int = 0
    bad_rows: int = 0
    bad: list[BadValue] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    defaults: dict[str, int] = field(default_factory=dict)
    #: Rows that do not fit, of each slice.
    misfits: list[int] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The first file."""
        return self.slices[0].path

    def report(self) -> PushReport:
        """All that was noticed."""
        bad_of_files = Counter[str]()
        for piece, misfits in self._bad_rows():
            bad_of_files[piece.piece.file.path] += piece.notes.bad + misfits
        found = {path: bad for path, bad in bad_of_files.items() if bad}
        return PushReport(self.rows, self.bad_rows, tuple(self.bad), self.ignored, self.defaults, bad_of_files=found)

    def add(self, piece: Piece, count: int, notes: FileNotes) -> None:
        """Rows of a piece were read."""
        path = piece.file.path[:MOST_PATH]
        self.slices.append(_Slice(piece, self.rows, count, notes))
        self.rows += count
        self.bad_rows += notes.bad
        self.bad += [
            BadValue(path, line, None, "", quoted_text(text, MOST_CHARS), why)
            for line, text, why in notes.listed[:MOST_OF_PART]
        ]
        if piece.start == 0:  # a file counts once
            for column in notes.ignored[:MOST_COLUMNS]:
                self.ignored[column[:MOST_PATH]] = 1

    def check_files(self, most: float) -> None:
        """Raise InvalidInput for the first file of which a larger share of the rows is bad than ``most`` (0 to 1).

        Its ``data`` has ``file``, ``line`` and ``report``. Of a file that is cut, the piece in this part counts.
        """
        for piece, misfits in self._bad_rows():
            bad, total = piece.notes.bad + misfits, piece.rows + piece.notes.bad
            if bad <= most * total:
                continue
            listed = (b for b in self.bad if b.file == piece.path[:MOST_PATH])
            first = min(listed, key=lambda bad: bad.line or bad.row or 0, default=None)
            verb = "row does" if total == 1 else "rows do"
            may_be = f"a share of {most:g}" if most else "none"
            raise InvalidInput(
                f"Input file '{piece.path}': {bad:,} of {total:,} {verb} not fit; {may_be} may be bad."
                + (f" First: {first}" if first else ""),
                remedy="Correct the file, or allow a larger share of bad rows.",
                file=piece.path,
                line=first.line if first else None,
                report=self.report().to_json(),
            )

    def converted(self, table: pa.Table, *, may_leave_out: bool) -> tuple[pa.Table, dict[str, Any]] | None:
        """(stored columns, null masks) of all rows that fit. None when some do not and ``may_leave_out`` is not set.

        Raises InvalidInput for what is not a single row's fault.
        """
        misfits = self.bad_rows
        self.rows += misfits
        try:
            stored, masks = transform_table(table, self.schema, self.config, now_ms=self.now_ms)
        except InvalidInput as error:
            if error.data.get("row") is None:
                raise InvalidInput(f"Input file '{self.path}': {error.message}", remedy=error.remedy) from error
            stored, masks = self._fitting(table, self.config)
        if self.bad_rows and not may_leave_out:
            return None
        self.defaults = {name: int(np.count_nonzero(mask)) for name, mask in masks.items() if mask.any()}
        if self.config.ingestion.continue_on_error and any(n > _nulls(table, c) for c, n in self.defaults.items()):
            self._fitting(table, strict(self.config))  # what does not fit is stored as the default: it is only listed
        return stored, masks

    def _fitting(self, table: pa.Table, config: TableConfig) -> tuple[pa.Table, dict[str, Any]]:
        """The rows that fit, converted; the others are noted."""
        room = max(MOST_OF_PART - len(self.bad), 1)
        stored, masks, found = transform_fitting(table, self.schema, config, now_ms=self.now_ms, most=room)
        self.bad_rows += len(found.rows)
        starts = [piece.at for piece in self.slices]
        self.misfits = np.bincount(np.searchsorted(starts, found.rows, "right") - 1, minlength=len(starts)).tolist()
        lines = self._lines([c.row for c in found.cells])
        for cell in found.cells:
            piece = self._slice_of(cell.row)
            value = quoted_text(cell.value, MOST_CHARS)
            path, number = piece.path[:MOST_PATH], piece.number(cell.row)
            self.bad.append(BadValue(path, lines.get(cell.row), number, cell.column, value, cell.why))
        return stored, masks

    def _bad_rows(self) -> Iterator[tuple[_Slice, int]]:
        """Every piece, and how many of its rows do not fit."""
        return zip(self.slices, self.misfits or [0] * len(self.slices), strict=True)

    def _slice_of(self, row: int) -> _Slice:
        return self.slices[bisect_right(self.slices, row, key=lambda s: s.at) - 1]

    def _lines(self, rows: list[int]) -> dict[int, int]:
        """{row of the table: line} of text files; each piece is walked once."""
        if self.reader.format not in TEXTS:
            return {}
        wanted: dict[int, list[int]] = {}
        for row in rows:
            wanted.setdefault(self.slices.index(self._slice_of(row)), []).append(row)
        found: dict[int, int] = {}
        for at, numbers in wanted.items():
            piece = self.slices[at]
            inside = {piece.row(n) for n in numbers}
            lines = lines_of(piece.piece, self.reader, inside, piece.notes.width, self.source)
            found.update({n: lines[piece.row(n)] for n in numbers if piece.row(n) in lines})
        return found


def strict(config: TableConfig) -> TableConfig:
    """The same config without ``continueOnError``."""
    ingestion = {**(config.body.get("ingestionConfig") or {}), "continueOnError": False}
    return replace(config, body={**config.body, "ingestionConfig": ingestion})


def _nulls(table: pa.Table, column: str) -> int:
    return int(table.column(column).null_count) if column in table.column_names else table.num_rows
