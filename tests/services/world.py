"""A small cluster in memory for tests of use cases: one table, segments that are online at once, no brokers unless
requested.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import ideal_state
from segments.domain.segments.ideal_state import external_view, new_ideal_state
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import parse_table_config
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import TableName
from segments.services.core.context import Actor, Context, Limits
from segments.services.replacement.lineage_record import observe
from segments.store import paths
from segments.store.base import Store
from segments.store.memory import MemoryStore
from tests.services.embedded_engine import EMBEDDED

TABLE = TableName("t", "OFFLINE")
ANN = Actor("ann", "because")


class World:
    """``ctx`` sees ``store``; the clock stands still unless ``now`` is moved (epoch ms)."""

    def __init__(
        self,
        folder: Path,
        store: Store | None = None,
        *,
        kind: str = "REFRESH",
        limits: Limits | None = None,
        memory: Any = None,
    ) -> None:
        self.memory = memory or MemoryStore()
        self.now = 1_700_000_000_000
        folder.mkdir(parents=True, exist_ok=True)
        ids = itertools.count(1)
        self.ctx = Context(
            cluster="test",
            store=store or self.memory,
            deep_store=DeepStore(f"file://{folder}"),
            clock=lambda: self.now,
            new_id=lambda: f"entry-{next(ids)}",
            controller_url="http://127.0.0.1:9000",
            engine=EMBEDDED,
            limits=limits or Limits(replicas_online_s=0.2, broker_ack_s=0.2),
        )
        body: dict[str, Any] = {"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": {"replication": "1"}}
        body["ingestionConfig"] = {"batchIngestionConfig": {"segmentIngestionType": kind}}
        self.memory.create(paths.table_config(TABLE.typed), parse_table_config(body).to_record())
        self.memory.create(paths.ideal_state(TABLE.typed), new_ideal_state(TABLE.typed, 1))
        self.memory.create(paths.live_instance("Server_a_1"), ZNRecord("Server_a_1"))

    def with_store(self, store: Store) -> Context:
        """The same context over another view of the same state (a faulty one, say)."""
        return Context(**{**self.ctx.__dict__, "store": store})

    def upload(self, *segments: str, online: bool = True) -> World:
        """Record, ideal state row, file, and (unless specified otherwise) an ONLINE replica."""
        store = self.memory
        for name in segments:
            fields = {"segment.total.docs": "10", "segment.size.in.bytes": "100", "segment.crc": "1"}
            if store.get(paths.segment(TABLE.typed, name)) is None:
                store.create(paths.segment(TABLE.typed, name), SegmentMetadata(name, fields).to_record())
            node = store.get(paths.ideal_state(TABLE.typed))
            assert node is not None
            assert node.record is not None
            store.replace(
                paths.ideal_state(TABLE.typed),
                ideal_state.with_rows(node.record, {name: {"Server_a_1": "ONLINE"}}),
                node.version,
            )
            root = self.ctx.deep_store.local_root
            assert root is not None
            (root / "t").mkdir(exist_ok=True)
            (root / "t" / name).write_text("tar")
        return self.serve() if online else self

    def serve(self) -> World:
        """Let the external view follow the ideal state."""
        ideal = self.memory.get(paths.ideal_state(TABLE.typed))
        assert ideal is not None
        assert ideal.record is not None
        record = external_view(ideal.record, ideal.record.maps)
        node = self.memory.get(paths.external_view(TABLE.typed))
        if node is None:
            self.memory.create(paths.external_view(TABLE.typed), record)
        else:
            self.memory.replace(paths.external_view(TABLE.typed), record, node.version)
        return self

    def breaks(self, segment: str) -> None:
        """Its only replica is in ERROR."""
        node = self.memory.get(paths.external_view(TABLE.typed))
        assert node is not None
        assert node.record is not None
        rows = {**node.record.maps, segment: {"Server_a_1": "ERROR"}}
        self.memory.replace(paths.external_view(TABLE.typed), external_view(node.record, rows), node.version)

    @property
    def ideal(self) -> list[str]:
        """Segments of the ideal state."""
        return sorted(observe(self.ctx, TABLE).ideal.maps)

    @property
    def visible(self) -> list[str]:
        """Segments that queries see."""
        seen = observe(self.ctx, TABLE)
        return seen.lineage.visible(seen.ideal.maps)

    @property
    def files(self) -> list[str]:
        """Files of live segments in the deep store."""
        return [f.name for f in self.ctx.deep_store.files("t")]

    def state(self, entry: str) -> str:
        """State of an entry."""
        return observe(self.ctx, TABLE).lineage.entry(entry).state.value
