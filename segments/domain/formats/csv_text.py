"""Rows as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from segments.domain.formats.safe_cells import safe_cell


class _Echo:
    """A file whose write gives the text back, as ``csv.writer`` wants for streaming."""

    def write(self, text: str) -> str:
        return text


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Lines with their ends; the header's names are a person's words, too."""
    writer: Any = csv.writer(_Echo())
    yield writer.writerow([safe_cell(name) for name in header])
    for row in rows:
        yield writer.writerow([safe_cell(v) for v in row])
