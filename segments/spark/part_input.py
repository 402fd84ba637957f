"""What the input of one part shows while it is converted: columns ignored, defaults filled in, rows that do not fit."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from segments.domain.push.push_plan import Piece
from segments.domain.push.push_report import MOST_COLUMNS, MOST_OF_PART, MOST_PATH, BadValue, PushReport, shown_value
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE, InputSource
from segments.segmentfile import transform_table
from segments.segmentfile.columns.bad_rows import transform_fitting
from segments.spark.locate import places_of
from segments.spark.read_rows import FileNotes, read_bytes


@dataclass(frozen=True)
class _Slice:
    """Rows of one piece within the part's table: where they begin there, and in their file; columns of the file.

    ``rows`` of it were read, ``bad`` of its lines are no rows.
    """

    path: str
    at: int
    first: int
    width: int
    rows: int
    bad: int


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
        return PushReport(self.rows, self.bad_rows, tuple(self.bad), self.ignored, self.defaults)

    def add(self, piece: Piece, count: int, notes: FileNotes) -> None:
        """Rows of a piece were read. What is noted of a file counts where its first row is."""
        path = piece.file.path
        counts = piece.start == 0
        self.slices.append(_Slice(path, self.rows, piece.start, notes.width, count, notes.bad if counts else 0))
        self.rows += count
        if counts:
            self.bad_rows += notes.bad
            self.bad += [
                BadValue(path[:MOST_PATH], line, None, "", shown_value(text), why)
                for line, text, why in notes.listed[:MOST_OF_PART]
            ]
            for column in notes.ignored[:MOST_COLUMNS]:
                self.ignored[column[:MOST_PATH]] = 1

    def check_files(self, most: float) -> None:
        """Raise InvalidInput for the first file of which a larger share of the rows is bad than ``most`` (0 to 1).

        Its ``data`` has ``file``, ``line`` and ``report``. Of a file that is cut, the piece in this part counts.
        """
        for piece, misfits in zip(self.slices, self.misfits or [0] * len(self.slices), strict=True):
            bad, total = piece.bad + misfits, piece.rows + piece.bad
            if bad <= most * total:
                continue
            first = next((b for b in self.bad if b.file == piece.path[:MOST_PATH]), None)
            verb = "row does" if total == 1 else "rows do"
            raise InvalidInput(
                f"Input file '{piece.path}': {bad:,} of {total:,} {verb} not fit; {most:g} of them may be bad."
                + (f" First: {first}" if first else ""),
                remedy="Correct the file, or allow a larger share of bad rows.",
                file=piece.path,
                line=first.line if first else None,
                report=self.report().to_json(),
            )

    def converted(self, table: pa.Table, *, may_leave_out: bool) -> tuple[pa.Table, dict[str, Any]] | None:
        """(stored columns, null masks) of all rows that fit. None when some do not and ``may_leave_out`` is not set.

        Raises InvalidInput for what is no single row's fault.
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
            row = cell.row - piece.at + piece.first
            value = shown_value(cell.value)
            self.bad.append(
                BadValue(piece.path[:MOST_PATH], lines.get((piece.path, row)), row + 1, cell.column, value, cell.why)
            )
        return stored, masks

    def _slice_of(self, row: int) -> _Slice:
        return self.slices[bisect_right(self.slices, row, key=lambda s: s.at) - 1]

    def _lines(self, rows: list[int]) -> dict[tuple[str, int], int]:
        """{(file, row in it): line} of text files; each file is walked once."""
        if self.reader.format == "parquet":
            return {}
        wanted: dict[str, tuple[set[int], int]] = {}
        for row in rows:
            piece = self._slice_of(row)
            wanted.setdefault(piece.path, (set(), piece.width))[0].add(row - piece.at + piece.first)
        return {
            (path, row): line
            for path, (numbers, width) in wanted.items()
            for row, line in places_of(read_bytes(path, self.source), self.reader, numbers, width, most=0).lines.items()
        }


def strict(config: TableConfig) -> TableConfig:
    """The same config without ``continueOnError``."""
    ingestion = {**(config.body.get("ingestionConfig") or {}), "continueOnError": False}
    return replace(config, body={**config.body, "ingestionConfig": ingestion})


def _nulls(table: pa.Table, column: str) -> int:
    return int(table.column(column).null_count) if column in table.column_names else table.num_rows
