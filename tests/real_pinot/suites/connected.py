"""The real Pinot as use cases drive it, in this process: no installation stands between, and no database but the
test's.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from segments.clusters.pinot.engine import pinot_engine
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.pinot import Connection, HttpPinotController, PinotBroker
from segments.names import OFFLINE, TableName
from segments.services.core.context import Context, Limits
from segments.services.replacement.lineage_record import observe
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.on_pinot.controller import ControllerStore
from segments.store.on_pinot.overlay import OverlayStore
from segments.store.on_pinot.zookeeper import PinotZooKeeper
from tests.real_pinot.cluster import CLUSTER, RealPinot
from tests.waiting import poll

_numbers = itertools.count(1)


@contextmanager
def connected(pinot: RealPinot, folder: Path, *, over_zookeeper: bool = True) -> Iterator[Context]:
    """A context of its own: what is ours of this cluster is kept in memory, copies below ``folder``. Pinot's state is
    read from its ZooKeeper, or through its controller.
    """
    controller = HttpPinotController(Connection("suite", (pinot.controller,), cluster=CLUSTER))
    broker = HttpPinotController(Connection("suite", (pinot.broker,), is_controller=False))
    theirs = PinotZooKeeper(pinot.zookeeper, lambda: CLUSTER) if over_zookeeper else ControllerStore(controller)
    own = MemoryStore()
    try:
        yield Context(
            cluster="suite",
            store=OverlayStore(lambda: own, "suite", theirs),
            deep_store=DeepStore(folder.as_uri()),
            clock=lambda: time.time_ns() // 1_000_000,
            new_id=lambda: str(uuid.uuid4()),
            controller_url=pinot.controller,
            limits=Limits(replicas_online_s=20.0, broker_ack_s=10.0),
            engine=pinot_engine(controller, PinotBroker(broker, "/query/sql")),
        )
    finally:
        for part in (theirs, controller, broker):
            part.close()


def new_table(pinot: RealPinot, schema: dict[str, Any], config: dict[str, Any]) -> TableName:
    """An empty OFFLINE table of its own."""
    name = f"suite_{next(_numbers)}"
    pinot.call("POST", "/schemas", {**schema, "schemaName": name})
    pinot.call("POST", "/tables", {**config, "tableName": name})
    return TableName(name, OFFLINE)


def online(ctx: Context, table: TableName) -> None:
    """Until servers hold what the ideal state names. What they drop is not waited for: a segment that is deleted while
    a server just loads it 0.11.0 keeps until the table changes again.
    """

    def settled() -> bool:
        ideal, view = ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
        wanted, held = (node.record.maps if node and node.record else {} for node in (ideal, view))
        return all(held.get(segment) == row for segment, row in wanted.items())

    poll(settled, 30, f"servers hold the segments of {table}")


def answering(pinot: RealPinot, ctx: Context, table: TableName) -> list[str]:
    """Segments that answer the very next query; they are those that the lineage shows."""
    seen, found = observe(ctx, table), _answering(pinot, table)
    assert found == seen.lineage.visible(seen.ideal.maps)
    return found


def answering_soon(pinot: RealPinot, ctx: Context, table: TableName) -> list[str]:
    """The same once servers hold them and brokers, to whom nobody reports an upload, have seen that."""
    online(ctx, table)
    seen = observe(ctx, table)
    visible = seen.lineage.visible(seen.ideal.maps)
    poll(lambda: _answering(pinot, table) == visible, 30, f"{visible} of {table} answer")
    return visible


def _answering(pinot: RealPinot, table: TableName) -> list[str]:
    sql = f'select "$segmentName", count(*) from {table.raw} group by "$segmentName" limit 100'
    return sorted(str(row[0]) for row in pinot.query(sql))
