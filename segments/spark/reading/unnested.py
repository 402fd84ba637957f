"""Applies a table's ``complexTypeConfig`` to rows, and remembers which input row each comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput
from segments.segmentfile.columns.complex_type import ComplexType
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.raw_rows import raw_rows

#: Rows that one row of a file may become, and bytes of all of them.
_MOST_ROWS: Final = 1_000_000
_MOST_BYTES: Final = 1 << 30


class Unnesting:
    """Rows of one piece on their way through ``complexTypeConfig``."""

    def __init__(self, path: str, complex_type: ComplexType, schema: Schema, notes: FileNotes | None) -> None:
        self._path, self._complex_type, self._schema, self._notes = path, complex_type, schema, notes
        self._passed = 0
        self._origin: list[Any] = []
        self.mentioned: set[str] = set()

    def table(self, rows: Sequence[dict[str, Any]]) -> pa.Table:
        """The schema's columns of what the rows become. Raises InvalidInput for a row that cannot be renamed, or
        becomes too many.
        """
        found: list[dict[str, Any]] = []
        counts = np.zeros(len(rows), np.int64)
        for at, row in enumerate(rows):
            before = len(found)
            try:
                found += self._complex_type.rows(row, _MOST_ROWS, _MOST_BYTES)[0]
            except ValueError as error:
                raise InvalidInput(
                    f"Input file '{self._path}' row {self._passed + at + 1}: {error}.",
                    remedy="Change ingestionConfig.complexTypeConfig, or the row.",
                ) from error
            counts[at] = len(found) - before
        keys = dict.fromkeys(key for row in found for key in row)
        self.mentioned.update(k for k in keys if k in self._schema.by_name)
        self._origin.append(np.repeat(np.arange(self._passed, self._passed + len(rows)), counts))
        self._passed += len(rows)
        if self._notes is not None:
            more = [k for k in keys if k not in self._schema.by_name]
            self._notes.ignored = list(dict.fromkeys([*self._notes.ignored, *more]))
            self._notes.origin = np.concatenate(self._origin)
        return raw_rows(found, self._schema)
