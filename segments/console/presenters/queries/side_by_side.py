"""Two answers of one query next to each other: which rows belong together, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segments.console.presenters.queries.answer import Cell, Result


def marked(first: Result, second: Result) -> tuple[Result, Result, int]:
    """Both with the cells marked that are not the same, and how many rows differ or are in one of them only.

    Rows belong together by their values that are not numbers, where these are different in each row, else by their
    place.
    """
    if [c.name for c in first.columns] != [c.name for c in second.columns]:
        return first, second, 0
    keys = _keys(first), _keys(second)
    if keys[0] is None or keys[1] is None:
        keys = [(str(i),) for i in range(len(first.rows))], [(str(i),) for i in range(len(second.rows))]
    ours = dict(zip(keys[0] or (), first.rows, strict=True))
    theirs = dict(zip(keys[1] or (), second.rows, strict=True))
    left = [_against(row, theirs.get(key)) for key, row in ours.items()]
    right = [_against(row, ours.get(key)) for key, row in theirs.items()]
    changed = {k for k, row in zip(ours, left, strict=True) if any(c.differs for c in row)}
    changed |= {k for k, row in zip(theirs, right, strict=True) if any(c.differs for c in row)}
    return replace(first, rows=left), replace(second, rows=right), len(changed)


def _keys(result: Result) -> list[tuple[str, ...]] | None:
    """What each row is known by; None: by nothing."""
    found = [tuple(c.text for c in row if not c.column.is_number) for row in result.rows]
    return found if len(set(found)) == len(found) and all(found) else None


def _against(row: Sequence[Cell], other: Sequence[Cell] | None) -> list[Cell]:
    if other is None:
        return [replace(cell, differs=True) for cell in row]
    return [replace(cell, differs=cell.text != there.text) for cell, there in zip(row, other, strict=True)]
