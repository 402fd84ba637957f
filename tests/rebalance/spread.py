"""A table of the small cluster in memory with segments on two servers, and a third that holds nothing yet."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.rebalance.job import Job
from segments.domain.segments.ideal_state import external_view
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import parse_table_config
from segments.services.rebalance import rebalance
from segments.store import paths
from segments.store.update import update_record
from tests.services.world import TABLE, World

A, B, C = (f"Server_{name}_1" for name in "abc")


class Spread(World):
    """Segments s00, s01, ... on A and B; C is alive. ``serve`` lets every server do what the ideal state wants."""

    def __init__(self, folder: Path, segments: int = 12, **config: object) -> None:
        super().__init__(folder)
        for server in (B, C):
            self.memory.create(paths.live_instance(server), ZNRecord(server))
        self.configure(**config)
        self.names = [f"s{number:02}" for number in range(segments)]
        for name in self.names:
            fields = {"segment.crc": "1", "segment.size.in.bytes": "1000", "segment.realtime.status": "DONE"}
            url = {"segment.download.url": "file:///x"}
            self.memory.create(paths.segment(TABLE.typed, name), SegmentMetadata(name, {**fields, **url}).to_record())
        self.place({name: {A: "ONLINE", B: "ONLINE"} for name in self.names})
        self.serve()

    def configure(self, replication: int = 2, scheme: str | None = None) -> None:
        """Another table config."""
        segments = {"replication": str(replication), **({"peerSegmentDownloadScheme": scheme} if scheme else {})}
        body = {"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": segments}
        update_record(self.memory, paths.table_config(TABLE.typed), lambda _: parse_table_config(body).to_record())

    def place(self, rows: dict[str, dict[str, str]]) -> None:
        """Write these rows into the ideal state."""

        def decide(node: object) -> ZNRecord:
            return ZNRecord(TABLE.typed, dict(self.record.simple), rows)

        update_record(self.memory, paths.ideal_state(TABLE.typed), decide)

    @property
    def record(self) -> ZNRecord:
        """The ideal state."""
        node = self.memory.get(paths.ideal_state(TABLE.typed))
        assert node is not None
        assert node.record is not None
        return node.record

    @property
    def load(self) -> dict[str, int]:
        """{server: segments that the ideal state gives it}."""
        return dict(Counter(i for row in self.record.maps.values() for i in row))

    def served(self, segment: str) -> set[str]:
        """Servers that answer from the segment."""
        node = self.memory.get(paths.external_view(TABLE.typed))
        assert node is not None
        assert node.record is not None
        return set(node.record.maps.get(segment, {}))

    def serve_some(self, count: int) -> None:
        """Servers drop what they should, and load the first ``count`` replicas that they lack."""
        lacking = [(s, i) for s, row in self.record.maps.items() for i in sorted(row) if i not in self.served(s)]
        late = set(itertools.islice(reversed(lacking), max(0, len(lacking) - count)))
        rows = {s: {i: "ONLINE" for i in row if (s, i) not in late} for s, row in self.record.maps.items()}
        update_record(self.memory, paths.external_view(TABLE.typed), lambda _: external_view(self.record, rows))

    def newest(self) -> Job | None:
        """The newest rebalance."""
        from segments.services.rebalance.job_records import read_jobs  # the record, whatever the pages say of it

        return read_jobs(self.ctx, TABLE).newest

    def finish(self) -> None:
        """Servers and the pass take turns until the rebalance is over."""
        for _ in range(100):
            rebalance.keep(self.ctx)
            job = self.newest()
            if job is None or not job.is_open:
                return
            self.serve()
        raise AssertionError("the rebalance does not end")
