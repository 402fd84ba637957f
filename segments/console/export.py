"""Stream rows as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import StreamingHttpResponse

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Echo:
    """A file whose write gives the text back, as ``csv.writer`` wants for streaming."""

    def write(self, text: str) -> str:
        return text


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """An attachment ``name`` with a header line."""
    response = StreamingHttpResponse(_lines(header, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterable[str]:
    writer: Any = csv.writer(_Echo())
    yield writer.writerow(list(header))
    for row in rows:
        yield writer.writerow([safe_cell(v) for v in row])


def safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
