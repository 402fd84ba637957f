"""Rows of a lost segment become what they were at first: late and repeated ones dropped, partial ones completed with
the rows before the segment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from segments.dataplane.primary_keys.consuming_rows import KeyedRows
from segments.dataplane.primary_keys.table_keys import TableKeys
from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.reingestion.job_record import NotWanted
from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name
from segments.domain.segments.ideal_state import OFFLINE
from segments.domain.tables.keyed_tables import key_rules
from segments.errors import Unavailable

#: Seconds for which a segment before is waited for while nobody is at work on it, and between two checks.
_LONGEST_WAIT_S: Final = 60.0
_POLL_S: Final = 0.2


def follow_rows_before(
    reader: PartitionReader, slots: Slots, stopping: threading.Event, is_read: Callable[[str], bool]
) -> None:
    """Have the rows that ``reader`` reads depend on those before its segment, if the table's do; the keys of those rows
    are this job's own, which no query sees.

    ``is_read``: is a segment being read again by a live server now? Then it is waited for as long as that takes.
    Unavailable when a segment before is not here in time; NotWanted when the server stops.
    """
    source = reader.source
    rules = key_rules(source.config, source.schema)
    if rules is None or not rules.depends_on_rows:
        return
    keys = TableKeys(rules, source.schema)
    for held in _segments_before(slots, source.table, source.name, stopping, is_read):
        keys.put(held, keys.keys_of(held))
    reader.keyed = KeyedRows(keys, source.name.text, reader.segment)


def _segments_before(
    slots: Slots, table: str, name: LLCName, stopping: threading.Event, is_read: Callable[[str], bool]
) -> list[HeldSegment]:
    """Those of the partition, in order."""
    until = time.monotonic() + _LONGEST_WAIT_S
    while True:
        found, missing = _held_before(slots, table, name)
        if not missing:
            return found
        if time.monotonic() > until:
            if is_read(missing[0]):
                until = time.monotonic() + _LONGEST_WAIT_S
                continue
            raise Unavailable(
                f"The rows of segment '{name}' depend on those of segment '{missing[0]}', which is not on this server.",
                remedy="Reingest that one first, or reset its replicas.",
            )
        if stopping.wait(_POLL_S):
            raise NotWanted


def _held_before(slots: Slots, table: str, name: LLCName) -> tuple[list[HeldSegment], list[str]]:
    held: dict[int, HeldSegment] = {}
    missing: dict[int, str] = {}
    with slots.locked() as tables:
        for other, slot in tables.get(table, {}).items():
            if not is_llc_name(other) or slot.wanted in (None, OFFLINE):
                continue
            place = parse_llc_name(other)
            if place.partition != name.partition or place.sequence >= name.sequence:
                continue
            if slot.held is None:
                missing[place.sequence] = other
            else:
                held[place.sequence] = slot.held
    return [held[n] for n in sorted(held)], [missing[n] for n in sorted(missing)]
