"""A data plane in one process: real HTTP servers and a broker on a store in memory, with tiny real segments."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from segments.dataplane.broker import Broker
from segments.dataplane.server import Server, ServerSettings
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement import lineage
from segments.domain.replacement.lineage import Entry, State
from segments.domain.segments import ideal_state
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.servers import HttpServers
from segments.segmentfile import build_segment, write_tar
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.memory import MemoryStore
from segments.store.records.cluster_setup import ensure_cluster
from segments.store.update import update_record
from tests.waiting import wait_until

TABLE = "t_OFFLINE"
SECRET = "s3cret-of-the-test-cluster"
_ports = itertools.count(20_000)


def poll(look: Callable[[], Any], seconds: float = 10.0, what: str = "the condition") -> Any:
    """As ``wait_until``, for what happens within this process: soon, and timed by benches."""
    return wait_until(look, seconds, what, every_s=0.002)


def schema_of(raw: str = "t") -> Schema:
    """v STRING, n INT."""
    dimensions, metrics = [{"name": "v", "dataType": "STRING"}], [{"name": "n", "dataType": "INT"}]
    return parse_schema({"schemaName": raw, "dimensionFieldSpecs": dimensions, "metricFieldSpecs": metrics})


def config_of(raw: str = "t") -> TableConfig:
    """A plain OFFLINE table."""
    parts = {"segmentsConfig": {"replication": "2"}, "tableIndexConfig": {}, "tenants": {}, "metadata": {}}
    return parse_table_config({"tableName": raw, "tableType": "OFFLINE", **parts})


class World:
    """Store, deep store, servers and brokers; ``close`` ends all of them."""

    def __init__(self, folder: Path, store: Store | None = None, client: Callable[[], Store] | None = None) -> None:
        self.folder = folder
        self.store: Any = store or MemoryStore()
        self.client: Callable[[], Store] = client or self.store.another_client
        ensure_cluster(self.store, "test")
        (folder / "deepstore").mkdir(exist_ok=True)
        self.deep_store = DeepStore(f"file://{folder}/deepstore")
        self.servers: dict[int, Server] = {}
        self.stores: list[Store] = []
        self.brokers: list[Broker] = []
        self.gateways: list[HttpServers] = []
        self.http = self.gateway()

    def close(self) -> None:
        """End everything."""
        for broker in self.brokers:
            broker.stop()
        for server in self.servers.values():
            server.stop()
        for gateway in self.gateways:
            gateway.close()
        for store in [*self.stores, self.store]:
            store.close()

    # The cluster

    def start_server(self, number: int = 1, **settings: Any) -> Server:
        """A server with a store client of its own; the same number means the same name and folder."""
        store = self.client()
        self.stores.append(store)
        folder = self.folder / f"server-{number}"
        given = ServerSettings("127.0.0.1", number, 0, folder, SECRET, join_patience_s=2.0, **settings)
        server = Server(store, self.deep_store, given)
        server.start()
        self.servers[number] = server
        poll(lambda: server.is_ready, what="server ready")
        return server

    def gateway(self, secret: str = SECRET, **settings: Any) -> HttpServers:
        """HTTP to the servers."""
        made = HttpServers(secret, **settings)
        self.gateways.append(made)
        return made

    def start_broker(self, **settings: Any) -> Broker:
        """A broker with a store client of its own."""
        store = self.client()
        self.stores.append(store)
        broker = Broker(
            store, f"Broker_127.0.0.1_{next(_ports)}", self.gateway(**settings), lambda: int(time.time() * 1000)
        )
        broker.start()
        self.brokers.append(broker)
        return broker

    # Tables and segments

    def create_table(self, raw: str = "t") -> None:
        """Schema, config and an empty ideal state."""
        self.store.create(paths.schema(raw), schema_of(raw).to_record())
        self.store.create(paths.table_config(f"{raw}_OFFLINE"), config_of(raw).to_record())
        self.store.create(paths.ideal_state(f"{raw}_OFFLINE"), ideal_state.new_ideal_state(f"{raw}_OFFLINE", 2))

    def build(self, name: str, rows: int = 10, value: str | None = None, raw: str = "t") -> int:
        """Build a segment into the deep store (v = its name unless given); returns its CRC."""
        work = self.folder / "build"
        work.mkdir(exist_ok=True)
        data = pa.table({"v": [value or name] * rows, "n": list(range(rows))})
        info = build_segment(data, schema_of(raw), config_of(raw), name, work, creation_time_ms=1_700_000_000_000)
        write_tar(work / name, work / f"{name}.tar.gz")
        self.deep_store.put(work / f"{name}.tar.gz", self.deep_store.segment_path(raw, name))
        return info.crc

    def record(self, name: str, crc: int, raw: str = "t", url: str | None = None) -> None:
        """Write or replace the segment's record."""
        fields = {
            "segment.crc": str(crc),
            "segment.download.url": url or self.deep_store.uri(self.deep_store.segment_path(raw, name)),
        }
        update_record(
            self.store, paths.segment(f"{raw}_OFFLINE", name), lambda _: SegmentMetadata(name, fields).to_record()
        )

    def assign(
        self, names: Sequence[str], servers: Sequence[int] = (1,), table: str = TABLE, state: str = "ONLINE"
    ) -> None:
        """Add rows to the ideal state."""
        row = {f"Server_127.0.0.1_{n}": state for n in servers}
        self._edit_ideal(table, lambda record: ideal_state.with_rows(record, dict.fromkeys(names, row)))

    def unassign(self, *names: str, table: str = TABLE) -> None:
        """Remove rows from the ideal state."""
        self._edit_ideal(table, lambda record: ideal_state.without_rows(record, names))

    def push(self, names: Sequence[str], servers: Sequence[int] = (1,), rows: int = 10) -> None:
        """Build, record, assign and wait until every replica is ONLINE."""
        for name in names:
            self.record(name, self.build(name, rows))
        self.assign(names, servers)
        row = {f"Server_127.0.0.1_{n}": "ONLINE" for n in servers}
        poll(lambda: all(self.states(name) == row for name in names), what=f"{names} ONLINE")

    def states(self, segment: str, table: str = TABLE) -> Mapping[str, str]:
        """The segment's row of the external view."""
        node = self.store.get(paths.external_view(table))
        return node.record.maps.get(segment, {}) if node else {}

    def write_lineage(self, *entries: Entry, table: str = TABLE) -> int:
        """Replace the table's lineage; returns the zxid of the write."""
        record = lineage.to_record(lineage.Lineage(table, {e.id: e for e in entries}))
        done = update_record(self.store, paths.lineage(table), lambda _: record)
        assert done.after is not None
        return done.after.mzxid

    def acknowledged(self, broker: Broker, table: str = TABLE) -> int:
        """The lineage zxid that the broker serves; -1 without an acknowledgement."""
        node = self.store.get(paths.routing_ack(table, broker.broker_id))
        return int(node.record.simple["lineageZxid"]) if node and node.record else -1

    def _edit_ideal(self, table: str, edit: Callable[[ZNRecord], ZNRecord]) -> None:
        def decide(found: Versioned | None) -> ZNRecord:
            assert found is not None
            assert found.record is not None
            return edit(found.record)

        update_record(self.store, paths.ideal_state(table), decide)


def entry(old: Sequence[str], new: Sequence[str], state: str, name: str = "e1") -> Entry:
    """A lineage entry."""
    return Entry(name, tuple(old), tuple(new), State(state), 1_700_000_000_000)


def counts(broker: Broker, raw: str = "t", **options: Any) -> dict[str, int]:
    """{v: rows}; an exception in the answer fails."""
    answer = broker.query(f"select v, count(*) from {raw} group by v limit 1000", **options)
    assert not answer["exceptions"], answer["exceptions"]
    return dict(answer["resultTable"]["rows"])


def codes(answer: Mapping[str, Any]) -> list[int]:
    """The error codes of an answer."""
    return [e["errorCode"] for e in answer["exceptions"]]
