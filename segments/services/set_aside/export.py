"""Messages that were set aside as a file: CSV that is safe to open in a spreadsheet, or a JSON document
in each line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any, Final, Literal

from django.db import connection

from segments.domain.formats.safe_cells import safe_cell
from segments.errors import InvalidInput
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.set_aside.keeping import check_table
from segments.services.set_aside.listing import Which, chosen, message_json

Format = Literal["csv", "jsonl"]
TYPES: Final[dict[Format, str]] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
_COLUMNS: Final = (
    "id",
    "topic",
    "partition",
    "offset",
    "segment",
    "noticedAt",
    "sentAt",
    "column",
    "reason",
    "bytes",
    "isCut",
    "state",
    "isMasked",
    "payload",
)
#: Messages of one piece: payloads of at most 16 KiB.
_AT_ONCE: Final = 200


def export_messages(
    ctx: Context, table: TableName, which: Which, kind: Format, *, with_payload: bool, lets_go: bool = False
) -> Iterator[bytes]:
    """The file in pieces, secrets masked. ``lets_go``: each piece is made on another thread, which keeps no database
    connection.
    """
    check_table(ctx, table)
    return _pieces(ctx, table, which, kind, with_payload=with_payload, lets_go=lets_go)


def read_format(text: str | None) -> Format:
    """The format as a parameter names it. InvalidInput."""
    found = next((kind for kind in TYPES if kind == (text or "jsonl")), None)
    if found is None:
        raise InvalidInput(f"'kind' must be csv or jsonl, not '{(text or '')[:40]}'.", remedy="Write kind=csv.")
    return found


def _pieces(
    ctx: Context, table: TableName, which: Which, kind: Format, *, with_payload: bool, lets_go: bool
) -> Iterator[bytes]:
    yield _csv([_COLUMNS]) if kind == "csv" else b""
    last = None
    while True:
        found = chosen(ctx, table, which)
        page = list((found if last is None else found.filter(pk__lt=last))[:_AT_ONCE])
        rows = [message_json(m, with_payload=with_payload) for m in page]
        if lets_go:
            connection.close()
        if not page:
            return
        last = page[-1].pk
        if kind == "csv":
            yield _csv([[safe_cell(row[name]) for name in _COLUMNS] for row in rows])
        else:
            yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")


def _csv(rows: list[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")
