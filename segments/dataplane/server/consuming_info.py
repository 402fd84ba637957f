"""What a server reports about its consuming segments: state, offsets and lag per partition, bad messages."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from segments.dataplane.server.consuming import StreamPool
from segments.dataplane.server.consuming.source import Source, is_pauseless_now
from segments.dataplane.server.consuming.worker import Worker
from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.segment_lives import SegmentLives
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import PinotAdminError
from segments.store.base import Store

NOT_CALCULATED: Final = "NOT_CALCULATED"
#: Seconds for which the end of a partition is not requested again, and a topic that does not answer is left alone: its
#: answer may take half a minute not to come, for every partition and every reader.
_KEEP_S: Final = 1.0
_SILENT_S: Final = 10.0
_COUNTED: Final = ("kafka", "memory")


@dataclass(frozen=True)
class PartitionState:
    """One partition's consuming segment. ``messages`` and ``behind_s`` (seconds) are None where nobody knows them,
    ``latest`` and ``current`` (offsets) also where the stream's offsets are no numbers. ``row_limit``: where it ends.
    """

    partition: int
    is_reading: bool
    messages: int | None
    behind_s: float | None
    rows: int
    bytes: int
    row_limit: int | None = None
    latest: int | None = None
    current: int | None = None


class ConsumingInfo:
    """Reads slots and streams; may block on a stream, so not for the event loop. Safe between threads."""

    def __init__(
        self, slots: Slots, streams: StreamPool, lives: SegmentLives | None = None, store: Store | None = None
    ) -> None:
        self._slots, self._streams, self._lives, self._store = slots, streams, lives or SegmentLives(), store
        self._lock = threading.Lock()
        self._ends: dict[tuple[str, str, int], tuple[Offset, float]] = {}
        self._silent_until: dict[tuple[str, str], float] = {}

    def pinot(self, table: str) -> list[dict[str, Any]]:
        """Pinot's SegmentConsumerInfo of each consuming segment of a typed table."""
        return [self._pinot(w) for _, w in sorted(self._slots.consuming(table).items()) if isinstance(w, Worker)]

    def details(self, table: str) -> list[dict[str, Any]]:
        """Ours, with what Pinot's lacks: state of the protocol, rows, memory, bad messages, lost ranges,
        why it waits.
        """
        return [self._details(w) for _, w in sorted(self._slots.consuming(table).items()) if isinstance(w, Worker)]

    def lives(self, table: str, partition: int) -> list[dict[str, Any]]:
        """What became of the last segments of a partition here."""
        return self._lives.of(table, partition)

    def is_pauseless(self, table: str) -> bool | None:
        """Will the next commit of a typed table be a pauseless one? None when nothing of it is consumed here."""
        source = next((worker.source for worker in self._newest(table).values() if worker.source is not None), None)
        if source is None or self._store is None:
            return None
        try:
            return is_pauseless_now(self._store, source)
        except PinotAdminError:
            return source.config.is_pauseless

    def partitions(self, table: str) -> list[PartitionState]:
        """The newest consuming segment of each partition of a typed table."""
        return [self._state(partition, worker) for partition, worker in sorted(self._newest(table).items())]

    def _newest(self, table: str) -> dict[int, Worker]:
        newest: dict[int, Worker] = {}
        for _, worker in sorted(self._slots.consuming(table).items()):
            if isinstance(worker, Worker) and worker.source is not None:
                known = newest.get(worker.source.name.partition)
                if known is None or known.source is None or known.source.name.sequence < worker.source.name.sequence:
                    newest[worker.source.name.partition] = worker
        return newest

    def _state(self, partition: int, worker: Worker) -> PartitionState:
        source, intake = worker.source, worker.intake
        latest, current = self._latest(source) if source else None, intake.offset if intake else None
        messages = _records_lag(current, latest)
        behind_ms = _time_lag(current, latest, intake.last_message_ms if intake else 0)
        return PartitionState(
            partition,
            worker.is_reading,
            None if messages == NOT_CALCULATED else int(messages),
            None if behind_ms == NOT_CALCULATED else int(behind_ms) / 1000,
            intake.segment.rows if intake else 0,
            intake.segment.bytes if intake else 0,
            source.rows if source else None,
            _number(latest),
            _number(current),
        )

    def _pinot(self, worker: Worker) -> dict[str, Any]:
        source, intake = worker.source, worker.intake
        partition = str(source.stream_partition) if source else ""
        current = intake.offset if intake else None
        latest = self._latest(source) if source else None
        behind_ms = intake.last_message_ms if intake else 0
        return {
            "segmentName": worker.segment,
            "consumerState": "CONSUMING" if worker.is_reading else "NOT_CONSUMING",
            "lastConsumedTimestamp": intake.last_read_ms if intake else 0,
            "partitionToOffsetMap": {partition: current.text} if current else {},
            "partitionOffsetInfo": {
                "currentOffsets": {partition: current.text} if current else {},
                "latestUpstreamOffsets": {partition: latest.text} if latest else {},
                "recordsLag": {partition: _records_lag(current, latest)} if source else {},
                "availabilityLagMs": {partition: _time_lag(current, latest, behind_ms)} if source else {},
            },
        }

    def _details(self, worker: Worker) -> dict[str, Any]:
        source, intake = worker.source, worker.intake
        body: dict[str, Any] = {
            "segmentName": worker.segment,
            "state": worker.state.value,
            "problem": worker.problem,
            "isReported": worker.is_reported,
            "partition": source.name.partition if source else None,
            "topic": source.stream.topic if source else None,
            "info": self._pinot(worker),
        }
        if intake is not None:
            body |= {
                "startOffset": intake.start.text,
                "rows": intake.segment.rows,
                "bytes": intake.segment.bytes,
                "messages": intake.messages,
                "badMessages": intake.bad,
                "filteredRows": intake.filtered,
                "badSamples": [{"offset": s.offset, "reason": s.reason} for s in intake.bad_samples],
                "lost": [{"from": a.text, "to": b.text} for a, b in list(intake.lost)],
            }
        return body

    def _latest(self, source: Source) -> Offset | None:
        """The end of the partition, at most a second old; None when the stream does not answer."""
        key, now = (source.table, source.stream.topic, source.stream_partition), time.monotonic()
        with self._lock:
            known, silent_until = self._ends.get(key), self._silent_until.get(key[:2], 0.0)
        if known is not None and now - known[1] < _KEEP_S:
            return known[0]
        if now < silent_until:
            return None
        try:
            latest = self._streams.stream(source.stream).latest(source.stream_partition)
        except PinotAdminError:
            with self._lock:
                self._silent_until[key[:2]] = time.monotonic() + _SILENT_S
            return None
        with self._lock:
            self._ends[key] = (latest, now)
            self._silent_until.pop(key[:2], None)
        return latest


def _number(offset: Offset | None) -> int | None:
    return offset.value[0] if offset is not None and offset.stream_type in _COUNTED else None


def _records_lag(current: Offset | None, latest: Offset | None) -> str:
    """Messages between; a number only where offsets count messages, or nothing is missing."""
    if current is None or latest is None:
        return NOT_CALCULATED
    if current >= latest:
        return "0"
    return str(latest.value[0] - current.value[0]) if current.stream_type in _COUNTED else NOT_CALCULATED


def _time_lag(current: Offset | None, latest: Offset | None, last_message_ms: int) -> str:
    if current is None or latest is None:
        return NOT_CALCULATED
    if current >= latest:
        return "0"
    return str(max(0, time.time_ns() // 1_000_000 - last_message_ms)) if last_message_ms else NOT_CALCULATED
