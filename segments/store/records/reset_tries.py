"""Replicas in ERROR that were reset, kept per table until they are well again: how often, and when last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.repair.replica_resets import Tries
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.update import update_record

#: {segment: {instance: what was tried}}.
TriesByReplica = Mapping[str, Mapping[str, Tries]]
_SEPARATOR: Final = "@"


def read_tries(store: Store, table: str) -> TriesByReplica:
    """What was tried on the replicas of a typed table."""
    return _parsed(store.get(paths.reset_tries(table)))


def change_tries(store: Store, table: str, change: Callable[[TriesByReplica], TriesByReplica]) -> None:
    """Put on record what ``change`` makes of what is there; nothing is written when that is the same."""

    def decide(node: Versioned | None) -> ZNRecord | None:
        before = _parsed(node)
        after = change(before)
        return None if after == before else ZNRecord(table, {}, _texts(after))

    update_record(store, paths.reset_tries(table), decide)


def _texts(tries: TriesByReplica) -> dict[str, dict[str, str]]:
    return {s: {i: f"{t.count}{_SEPARATOR}{t.last_ms}" for i, t in row.items()} for s, row in tries.items() if row}


def _parsed(node: Versioned | None) -> TriesByReplica:
    """A value that is not a number counts as none: the replica is then reset once more than needed."""
    found: dict[str, dict[str, Tries]] = {}
    for segment, row in (node.record.maps if node and node.record else {}).items():
        for instance, text in row.items():
            count, _, last = text.partition(_SEPARATOR)
            if count.isdecimal() and last.isdecimal():
                found.setdefault(segment, {})[instance] = Tries(int(count), int(last))
    return found
