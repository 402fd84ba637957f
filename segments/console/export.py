"""Stream rows as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from segments.domain.formats.csv_text import csv_lines
from segments.services.core.streaming import in_threads

#: Lines and characters of a piece.
_LINES: Final = 1000
_CHARACTERS: Final = 1 << 20


def csv_response(
    name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, in_pieces: bool = False
) -> StreamingHttpResponse:
    """An attachment ``name`` with a header line, whose names are a person's words, too: aliases of a query.

    ``in_pieces``: under ASGI, where Django would gather all lines before it sends the first; then each piece is made on
    a thread of its own, so ``rows`` must not hold on to a database connection.
    """
    pieces = _pieces(csv_lines(header, rows))
    response = StreamingHttpResponse(
        in_threads(pieces) if in_pieces else pieces, content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = str(content_disposition_header(as_attachment=True, filename=name))
    return response


def _pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Many lines at once: each piece is a way over threads."""
    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if len(held) == _LINES or size >= _CHARACTERS:
            yield "".join(held).encode()
            held, size = [], 0
    if held:
        yield "".join(held).encode()
