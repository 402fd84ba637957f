"""Stream rows as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from segments.domain.safe_cells import safe_cell
from segments.services.streaming import in_threads

_LINES: Final = 1000


class _Echo:
    """A file whose write gives the text back, as ``csv.writer`` wants for streaming."""

    def write(self, text: str) -> str:
        return text


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, in_pieces: bool = False) -> StreamingHttpResponse:
    """An attachment ``name`` with a header line, whose names are a person's words, too: aliases of a query.

    ``in_pieces``: under ASGI, where Django would gather all lines before it sends the first; then each piece is made on a thread of its
    own, so ``rows`` must not hold on to a database connection.
    """
    pieces = _pieces(_lines(header, rows))
    response = StreamingHttpResponse(in_threads(pieces) if in_pieces else pieces, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = str(content_disposition_header(as_attachment=True, filename=name))
    return response


def _pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Many lines at once: each piece is a way over threads."""
    source = iter(lines)
    while chunk := "".join(islice(source, _LINES)):
        yield chunk.encode()


def _lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterable[str]:
    writer: Any = csv.writer(_Echo())
    yield writer.writerow([safe_cell(name) for name in header])
    for row in rows:
        yield writer.writerow([safe_cell(v) for v in row])
