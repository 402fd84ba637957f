"""Where a primary key has one row, a segment is read when the rows before it are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from segments.dataplane.primary_keys.consuming_rows import KeyedRows
from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.waiting import Waiting

#: Seconds between two checks that the rows before a segment are there.
_POLL_S: Final = 0.05


def key_rows(
    parts: SharedResources, intake: PartitionReader, waiting: Waiting, is_before_complete: Callable[[], bool]
) -> None:
    """Have the keys of the rows taken in that ``intake`` reads. Raises Stopped while it waits."""
    source = intake.source
    keys = parts.keys.given(source.config, source.schema)
    if keys is None:
        return
    while keys.rules.needs_order and not is_before_complete():
        waiting.check()
        waiting.problem = "It waits for the rows of the segments before it."
        waiting.pause(_POLL_S)
    waiting.problem = ""
    intake.keyed = KeyedRows(keys, source.name.text, intake.segment)
