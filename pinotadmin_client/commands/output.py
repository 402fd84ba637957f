"""What commands print: JSON, or a table of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec


def write(text: str) -> None:
    """A line on standard output, without characters that drive a terminal."""
    sys.stdout.write("".join(c if c.isprintable() or c == "\n" else "?" for c in text) + "\n")


def write_json(value: Any) -> None:
    """As indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def write_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Columns as wide as their longest value; no more than 60 characters of one value."""
    lines = [tuple(head), *(tuple(_cell(value) for value in row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def moment(ms: int | None) -> str:
    """Epoch milliseconds as UTC, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ") if ms is not None else ""


def _cell(value: Any) -> str:
    text = "" if value is None else str(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:59] + "…"
