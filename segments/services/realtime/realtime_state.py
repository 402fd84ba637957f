"""Read what there is to know of a realtime table's consumption: ideal state, latest records, pause (one moment, three
round trips).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.pause import is_disabled, pause_of
from segments.domain.realtime.realtime_repair import MAX_COMPLETION_MS, Known, Seen, bare_rows, latest_names, unsettled
from segments.domain.segments import segment_metadata
from segments.errors import InvalidInput, NotFound
from segments.names import OFFLINE, REALTIME, TableName, split_table_name
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Versioned

#: Cluster settings, Pinot's names.
COMPLETION_TIME_KEY = "max.segment.completion.time.millis"
RETURN_REPLICAS_KEY = "controller.realtime.segment.partialOfflineReplicaRepairEnabled"


@dataclass(frozen=True)
class RealtimeState:
    """The ideal state as read with its version, what a diagnosis needs, and every segment name that is in use or being
    deleted.
    """

    ideal: ZNRecord
    ideal_version: int
    known: tuple[Known, ...]
    taken: frozenset[str]
    deleted: frozenset[str] = field(default_factory=frozenset)
    settings: ZNRecord | None = None
    bare: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def seen(self, partitions: frozenset[int] | None, topics: int, *, is_patient: bool = False) -> Seen:
        """What ``diagnose`` takes; ``partitions`` as the streams say, None when they could not be asked.

        ``is_patient``: wait for segments that are being deleted. A pass does; what a person requests is done at once.
        """
        simple = self.settings.simple if self.settings else {}
        returns = simple.get(RETURN_REPLICAS_KEY, "").lower() == "true"
        age_ms = completion_ms(simple.get(COMPLETION_TIME_KEY))
        leaving = frozenset(parse_llc_name(s).partition for s in self.deleted if is_patient and is_llc_name(s))
        return Seen(
            self.ideal, pause_of(self.ideal), self.known, partitions, topics, age_ms, returns, not is_patient, leaving,
            self.bare,
        )  # fmt: skip


def realtime_table(name: str) -> TableName:
    """The REALTIME table that a path's name means; ``x_OFFLINE`` is taken as a raw name."""
    raw, suffix = split_table_name(name)
    return TableName(name if suffix == OFFLINE else raw, REALTIME)


def read_ideal(ctx: Context, table: TableName) -> Versioned:
    """The table's ideal state. NotFound when there is no such table, InvalidInput when it is disabled."""
    return checked_ideal(ctx.store.get(paths.ideal_state(table.typed)), table)


def checked_ideal(node: Versioned | None, table: TableName) -> Versioned:
    """The node with its record, or the refusal of ``read_ideal``."""
    if node is None or node.record is None:
        raise NotFound(f"Table {table} not found!", remedy="List the tables with GET /tables?type=realtime.")
    if is_disabled(node.record):
        raise InvalidInput(
            f"Table {table} is disabled!", remedy=f"Enable it with PUT /tables/{table.raw}/state?state=enable."
        )
    return node


def observe_realtime(ctx: Context, table: TableName, *, is_quick: bool = False) -> RealtimeState:
    """Everything a repair or a resume decides from. Raises as ``read_ideal``.

    ``is_quick``: records only of partitions whose rows leave a doubt, for a pass of every few seconds.
    """
    ideal, queue, settings = ctx.store.get_many(
        [paths.ideal_state(table.typed), paths.pending_deletions(table.typed), f"{paths.CLUSTER_CONFIGS}/{ctx.cluster}"]
    )
    node = checked_ideal(ideal, table)
    assert node.record is not None
    records = frozenset(ctx.store.children(paths.segments(table.typed)))
    deleted = frozenset(queue.record.maps) if queue and queue.record else frozenset()
    names = latest_names(node.record.maps, records, deleted)
    known = _known(ctx, table, unsettled(names, node.record.maps) if is_quick else names)
    taken = records | deleted | frozenset(node.record.maps)
    bare = bare_rows(node.record.maps, records | deleted)
    return RealtimeState(node.record, node.version, known, taken, deleted, settings.record if settings else None, bare)


def _known(ctx: Context, table: TableName, names: Collection[str]) -> tuple[Known, ...]:
    """Records of these segments; one that vanished meanwhile is left out."""
    nodes = ctx.store.get_many([paths.segment(table.typed, s) for s in names])
    return tuple(
        Known(parse_llc_name(s), segment_metadata.from_record(n.record), n.modified_ms, n.version)
        for s, n in zip(names, nodes, strict=True)
        if n and n.record
    )


def completion_ms(text: str | None) -> int:
    """The setting's value; Pinot's default for garbage and for what is not positive."""
    try:
        value = int(text or "")
    except ValueError:
        return MAX_COMPLETION_MS
    return value if value > 0 else MAX_COMPLETION_MS
