"""The list of a table's segments whose commit has started and not ended, where Pinot keeps it.

The records decide; the list only says where to look, so that nobody has to read every record of a table.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import COMMITTING
from segments.names import TableName
from segments.store import paths
from segments.store.base import Create, Replace, Store, Versioned, Write
from segments.store.update import update_transaction

_FIELD: Final = "committingSegments"


def listed_segments(store: Store, table: TableName) -> list[str]:
    """Those on the list, sorted, whatever their records say."""
    return sorted(set(_listed(store.get(paths.committing(table.typed)))))


def committing_segments(store: Store, table: TableName) -> list[str]:
    """Those on the list whose record says COMMITTING, sorted."""
    names = listed_segments(store, table)
    nodes = store.get_many([paths.segment(table.typed, name) for name in names])
    return [name for name, node in zip(names, nodes, strict=True) if _is_committing(node)]


def listing_writes(store: Store, table: TableName, segment: str) -> list[Write]:
    """The write that puts the segment on the list, together with the one that makes it COMMITTING."""
    node = store.get(paths.committing(table.typed))
    names = _listed(node)
    return [] if segment in names else [_write(table, node, [*names, segment])]


def unlisting_writes(store: Store, table: TableName, segments: Collection[str]) -> list[Write]:
    """The write that takes the segments off the list, together with those that end their commits."""
    node = store.get(paths.committing(table.typed))
    names = _listed(node)
    left = [name for name in names if name not in segments]
    return [] if left == names else [_write(table, node, left)]


def correct_list(store: Store, table: TableName, seen: Collection[str]) -> None:
    """Have the list name what is COMMITTING by its record, of what it names and of what was ``seen`` to be."""

    def attempt() -> list[Write]:
        node = store.get(paths.committing(table.typed))
        names = _listed(node)
        asked = sorted({*names, *seen})
        nodes = store.get_many([paths.segment(table.typed, name) for name in asked])
        right = [name for name, found in zip(asked, nodes, strict=True) if _is_committing(found)]
        return [] if set(right) == set(names) else [_write(table, node, right)]

    update_transaction(store, attempt)


def _listed(node: Versioned | None) -> list[str]:
    return list(node.record.lists.get(_FIELD, ())) if node is not None and node.record is not None else []


def _write(table: TableName, node: Versioned | None, names: list[str]) -> Write:
    path = paths.committing(table.typed)
    if node is None:
        return Create(path, ZNRecord(table.typed, {}, {}, {_FIELD: names}))
    record = node.record or ZNRecord(table.typed)
    return Replace(path, replace(record, lists={**record.lists, _FIELD: names}), node.version)


def _is_committing(node: Versioned | None) -> bool:
    return (
        node is not None and node.record is not None and segment_metadata.from_record(node.record).status == COMMITTING
    )
