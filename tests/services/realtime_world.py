"""A realtime table in memory for tests of use cases: fake streams whose offsets a test sets, servers that are only
names or alive.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.commit.fields import END_OFFSET, STATUS
from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.realtime.pause import PauseState, consuming_segments, pause_of
from segments.domain.realtime.streams.retention import Retention
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.errors import Unavailable
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.streams import Batch, PartitionConsumer
from segments.names import REALTIME, TableName
from segments.services.core.context import Actor, Context, Limits
from segments.services.tables import schemas, tables
from segments.store import paths
from segments.store.base import Store
from segments.store.memory import MemoryStore, MemoryTree
from segments.store.records import messages
from segments.store.records.cluster_setup import ensure_cluster
from segments.store.records.instances import join
from segments.store.records.messages import Message
from tests.services.embedded_engine import EMBEDDED

TABLE = TableName("t", REALTIME)
ANN = Actor("ann", "because")
NOW_MS = 1_700_000_000_000
SCHEMA: dict[str, Any] = {
    "schemaName": "t",
    "dimensionFieldSpecs": [{"name": "id", "dataType": "STRING"}],
    "dateTimeFieldSpecs": [
        {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
    ],
}


def config_of(
    replication: int = 2, topics: int = 1, stream: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """A REALTIME config that reads the topics ``a``, ``b`` ... from the beginning."""
    maps = [
        {
            "streamType": "memory",
            "stream.memory.topic.name": "abcdef"[i],
            "stream.memory.consumer.prop.auto.offset.reset": "smallest",
            "realtime.segment.flush.threshold.segment.rows": "1000",
            **(stream or {}),
        }
        for i in range(topics)
    ]
    segments = {"timeColumnName": "ts", "replication": str(replication), **more.pop("segments", {})}
    streaming = {"streamConfigMaps": maps, **more.pop("streaming", {})}
    return {
        "tableName": "t",
        "tableType": "REALTIME",
        "segmentsConfig": segments,
        "tenants": {},
        "tableIndexConfig": {},
        "metadata": {},
        "ingestionConfig": {"streamIngestionConfig": streaming},
        **more,
    }


class FakeStreams:
    """``topics`` {topic: {partition: [earliest, latest]}}; ``is_down``: nothing answers. ``asked`` counts questions.

    ``misses``: so many questions for an offset fail first, as those of a topic just made.
    """

    def __init__(self) -> None:
        self.topics: dict[str, dict[int, list[int]]] = {}
        self.is_down = False
        self.asked = 0
        self.misses = 0
        self.keeps = Retention("forever")
        #: When every message was stored; 0: there is none to read.
        self.stored_ms = 0
        #: {milliseconds before now: the first offset stored since}; at other moments nothing was.
        self.since: dict[int, int] = {}

    def open(self, config: StreamConfig) -> FakeStream:
        return FakeStream(self, config.topic)


class FakeStream:
    """One topic of ``FakeStreams``."""

    def __init__(self, streams: FakeStreams, topic: str) -> None:
        self.streams, self.topic = streams, topic

    def _rows(self) -> dict[int, list[int]]:
        self.streams.asked += 1
        if self.streams.is_down or self.topic not in self.streams.topics:
            raise Unavailable(f"Topic {self.topic} does not answer.")
        return self.streams.topics[self.topic]

    def partitions(self) -> list[int]:
        return sorted(self._rows())

    def earliest(self, partition: int) -> Offset:
        if self.streams.misses:
            self.streams.misses -= 1
            raise Unavailable("No leader yet.")
        return parse_offset("memory", str(self._rows()[partition][0]))

    def latest(self, partition: int) -> Offset:
        return parse_offset("memory", str(self._rows()[partition][1]))

    def offset_at(self, partition: int, epoch_ms: int) -> Offset:
        latest = self.latest(partition)
        found = self.streams.since.get(NOW_MS - epoch_ms)
        return latest if found is None else parse_offset("memory", str(found))

    def tail(self, partition: int, most: int, size: int) -> Offset:
        return self.latest(partition)

    def retention(self, partition: int, now_ms: int) -> Retention:
        self._rows()
        return self.streams.keeps

    def consumer(self, partition: int, *, is_brief: bool = False) -> PartitionConsumer:
        return FakeConsumer(self, partition)

    def close(self) -> None:
        return


class FakeConsumer:
    """Says which offsets have left a partition; there are no messages."""

    def __init__(self, stream: FakeStream, partition: int) -> None:
        self._stream, self._partition = stream, partition

    def fetch(self, start: Offset, *, max_messages: int, timeout_s: float, stop: Offset | None = None) -> Batch:
        first = self._stream.earliest(self._partition)
        stored = [self._stream.streams.stored_ms] if self._stream.streams.stored_ms else []
        lost = (start, first) if start < first else None
        return Batch([b"{}"] * len(stored), start, np.array(stored, np.int64), lost=lost)

    def wake(self) -> None:
        return

    def close(self) -> None:
        return


class RealtimeWorld:
    """``ctx`` sees ``store``; the clock and the znodes' times stand still unless ``now`` is moved (epoch ms)."""

    def __init__(
        self,
        folder: Path,
        *,
        partitions: int = 2,
        topics: int = 1,
        servers: int = 2,
        create: bool = True,
        **config: Any,
    ) -> None:
        self.now = NOW_MS
        self.memory = MemoryStore(MemoryTree(clock=lambda: self.now))
        folder.mkdir(parents=True, exist_ok=True)
        ids = itertools.count(1)
        self.streams = FakeStreams()
        for topic in "abcdef"[:topics]:
            self.streams.topics[topic] = {p: [0, 0] for p in range(partitions)}
        self.ctx = Context(
            cluster="test",
            store=self.memory,
            deep_store=DeepStore(f"file://{folder}"),
            clock=lambda: self.now,
            new_id=lambda: f"id-{next(ids)}",
            controller_url="http://127.0.0.1:9000",
            engine=EMBEDDED,
            limits=Limits(replicas_online_s=0.2, broker_ack_s=0.2),
            streams=self.streams.open,
        )
        ensure_cluster(self.memory, "test")
        for port in range(8098, 8098 + servers):
            join(self.memory, f"Server_s_{port}", "s", port, ["DefaultTenant_REALTIME"])
        schemas.create_schema(self.ctx, SCHEMA, override=False, actor=ANN)
        if create:
            self.create(topics=topics, **config)

    def create(self, **config: Any) -> RealtimeWorld:
        tables.create_table(self.ctx, config_of(**config), actor=ANN)
        return self

    def over(self, store: Store) -> Context:
        """The same context over another view of the same state (a faulty one, say)."""
        return Context(**{**self.ctx.__dict__, "store": store})

    # -- what is

    @property
    def ideal(self) -> ZNRecord:
        node = self.memory.get(paths.ideal_state(TABLE.typed))
        assert node is not None
        assert node.record is not None
        return node.record

    @property
    def pause(self) -> PauseState:
        return pause_of(self.ideal)

    @property
    def consuming(self) -> list[str]:
        return consuming_segments(self.ideal)

    def segments(self, partition: int) -> list[str]:
        """Names of a partition in the ideal state, by sequence."""
        names = [parse_llc_name(s) for s in self.ideal.maps]
        return [n.text for n in sorted(n for n in names if n.partition == partition)]

    def fields(self, segment: str) -> dict[str, str]:
        node = self.memory.get(paths.segment(TABLE.typed, segment))
        assert node is not None
        assert node.record is not None
        return node.record.simple

    @property
    def records(self) -> list[str]:
        return self.memory.children(paths.segments(TABLE.typed))

    def messages(self, server: str = "Server_s_8098") -> list[Message]:
        return messages.read(self.memory, server)

    # -- what others do

    def change_ideal(self, **simple: str | None) -> RealtimeWorld:
        path = paths.ideal_state(TABLE.typed)
        node = self.memory.get(path)
        assert node is not None
        assert node.record is not None
        self.memory.replace(path, node.record.with_simple(**simple), node.version)
        return self

    def set_row(self, segment: str, state: str | None) -> RealtimeWorld:
        """All replicas of a segment in this state; None: the row goes."""
        path = paths.ideal_state(TABLE.typed)
        node = self.memory.get(path)
        assert node is not None
        assert node.record is not None
        maps = {**node.record.maps}
        if state is None:
            maps.pop(segment)
        else:
            maps[segment] = dict.fromkeys(maps[segment], state)
        self.memory.replace(path, ZNRecord(node.record.id, node.record.simple, maps), node.version)
        return self

    def set_record(self, segment: str, **fields: str | None) -> RealtimeWorld:
        """Change fields of a record; underscores in names stand for dots."""
        path = paths.segment(TABLE.typed, segment)
        node = self.memory.get(path)
        assert node is not None
        assert node.record is not None
        self.memory.replace(
            path, node.record.with_simple_items({k.replace("_", "."): v for k, v in fields.items()}), node.version
        )
        return self

    def done(self, segment: str, end: str) -> RealtimeWorld:
        """The record says committed; the row is as it was: half a commit."""
        path = paths.segment(TABLE.typed, segment)
        node = self.memory.get(path)
        assert node is not None
        assert node.record is not None
        self.memory.replace(path, node.record.with_simple_items({STATUS: "DONE", END_OFFSET: end}), node.version)
        return self

    def commit(self, end: str = "10") -> RealtimeWorld:
        """Everything that consumes is committed at ``end`` and has no successor, as in a paused table."""
        for segment in self.consuming:
            self.done(segment, end).set_row(segment, "ONLINE")
        return self
