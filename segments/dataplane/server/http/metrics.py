"""The server's figures in Prometheus' text form: what was recorded, and the state of segments and partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.server.consuming_info import ConsumingInfo, PartitionState
from segments.dataplane.server.held.slots import Slots
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.metrics import servers
from segments.metrics.exposition import Collector, RecordedValues, render
from segments.metrics.metric_kinds import SERVER, Family, Gauge

_OF_A_PARTITION: Final[tuple[tuple[Gauge, Callable[[PartitionState], float | None]], ...]] = (
    (servers.INGESTION_DELAY, lambda state: state.behind_s),
    (servers.OFFSET_LAG, lambda state: state.messages),
    (servers.PARTITION_CONSUMING, lambda state: float(state.is_reading)),
    (servers.CONSUMING_ROWS, lambda state: state.rows),
    (servers.CONSUMING_BYTES, lambda state: state.bytes),
    (servers.ROW_LIMIT, lambda state: state.row_limit),
    (servers.UPSTREAM_OFFSET, lambda state: state.latest),
    (servers.CONSUMING_OFFSET, lambda state: state.current),
)
#: Partitions of which figures are shown; more are left out, by name.
_MOST_PARTITIONS: Final = 5_000


def render_metrics(
    slots: Slots, consuming: ConsumingInfo, cache_bytes: Callable[[], int], keys: ServerKeys,
    reingesting: Callable[[], int],
) -> bytes:  # fmt: skip
    """Everything that a server shows; ``reingesting``: jobs of reingestion here. Blocks on streams, which are asked
    where they end.
    """

    def tables() -> list[tuple[str, ...]]:
        return [(table,) for table in slots.tables()]

    return render(
        RecordedValues([SERVER], tables),
        HeldSegments(slots, cache_bytes),
        ConsumedPartitions(slots, consuming),
        PrimaryKeys(slots, keys),
        Reingesting(reingesting),
    )


class HeldSegments(Collector):
    """Segments by state, and what those on disk amount to."""

    def __init__(self, slots: Slots, cache_bytes: Callable[[], int]) -> None:
        self._slots, self._cache_bytes = slots, cache_bytes

    def collect(self) -> Iterator[Family]:
        """By table, but for states."""
        states, rows, size, cache = (
            one.family()
            for one in (servers.SEGMENTS, servers.SEGMENT_ROWS, servers.SEGMENT_BYTES, servers.COLUMN_CACHE)
        )
        for state, count in sorted(self._slots.count_by_state().items()):
            states.add_metric([state], count)
        for table in self._slots.tables():
            held = self._slots.serving(table).values()
            rows.add_metric([table], sum(segment.num_docs for segment in held))
            size.add_metric([table], sum(segment.disk_bytes for segment in held))
        cache.add_metric([], self._cache_bytes())
        yield from (states, rows, size, cache, self._newest())

    def _newest(self) -> Family:
        """Of each partition the segment that was committed last."""
        family, shown = servers.COMMITTED_BYTES.family(), 0
        for table in self._slots.tables():
            newest = dict[int, tuple[int, int]]()
            for name, held in self._slots.serving(table).items():
                if is_llc_name(name):
                    parts = parse_llc_name(name)
                    known = newest.get(parts.partition, (-1, 0))
                    newest[parts.partition] = max(known, (parts.sequence, held.disk_bytes))
            for partition, (_, size) in sorted(newest.items())[: _MOST_PARTITIONS - shown]:
                family.add_metric([table, str(partition)], size)
                shown += 1
        return family


class Reingesting(Collector):
    """What of reingestions is under way."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count

    def collect(self) -> Iterator[Family]:
        """One line."""
        family = servers.REINGESTING.family()
        family.add_metric([], self._count())
        yield family


class ConsumedPartitions(Collector):
    """Lag, freshness and memory of each partition that this server consumes, and how their tables commit."""

    def __init__(self, slots: Slots, consuming: ConsumingInfo) -> None:
        self._slots, self._consuming = slots, consuming

    def collect(self) -> Iterator[Family]:
        """One line per partition and figure; what is not known is left out."""
        states = [(table, state) for table in self._slots.tables() for state in self._consuming.partitions(table)][
            :_MOST_PARTITIONS
        ]
        for gauge, figure in _OF_A_PARTITION:
            family = gauge.family()
            for table, state in states:
                value = figure(state)
                if value is not None:
                    family.add_metric([table, str(state.partition)], value)
            yield family
        family = servers.PAUSELESS.family()
        for table in dict.fromkeys(table for table, _ in states):
            is_pauseless = self._consuming.is_pauseless(table)
            if is_pauseless is not None:
                family.add_metric([table], is_pauseless)
        yield family


class PrimaryKeys(Collector):
    """How many keys each partition of an upsert or dedup table has on this server."""

    def __init__(self, slots: Slots, keys: ServerKeys) -> None:
        self._slots, self._keys = slots, keys

    def collect(self) -> Iterator[Family]:
        """One line per partition. Waits for a table whose keys are changing."""
        upsert, dedup = servers.UPSERT_KEYS.family(), servers.DEDUP_KEYS.family()
        shown = 0
        for table in self._slots.tables():
            keys = self._keys.known(table)
            for partition, count in sorted(keys.counts().items()) if keys is not None else ():
                if shown < _MOST_PARTITIONS and keys is not None:
                    (upsert if keys.rules.mode != "DEDUP" else dedup).add_metric([table, str(partition)], count)
                    shown += 1
        yield from (upsert, dedup)
