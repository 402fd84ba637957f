"""Snapshots of a REALTIME table on real servers: an earlier one is read with exactly the rows that were committed then,
while the stream goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.broker import DetachedBroker
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Snapshot
from segments.services.core.context import Context
from segments.services.replacement.history.as_of import query_as_of
from tests.dataplane.consuming_world import ConsumingWorld
from tests.dataplane.world import poll
from tests.services.embedded_engine import engine_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def reading(world: ConsumingWorld) -> Context:
    """A context whose queries the world's servers answer."""
    gateway = world.gateway()
    engine = engine_of(gateway, lambda table: DetachedBroker(world.store, gateway, world.ctx.clock, table))
    return replace(world.ctx, engine=engine)


def rows(ctx: Context, number: int) -> Any:
    answer = query_as_of(ctx, "select count(*), max(n) from r", {}, str(number))
    assert not answer.get("exceptions"), answer
    return answer["resultTable"]["rows"]


def committed(world: ConsumingWorld, mirror: ClusterFollower, segments: int) -> None:
    """So many are, and servers and history know."""
    poll(lambda: len(world.chain()) == segments + 1, what="the next segment")
    world.settled()
    mirror.sync_all()


def test_an_earlier_snapshot_is_read_while_the_stream_goes_on(world: ConsumingWorld) -> None:
    world.create_realtime(rows=100)
    world.start_server()
    ctx, mirror = reading(world), ClusterFollower(world.store, Cluster.objects.create(name="test"))
    world.send(100)
    committed(world, mirror, 1)
    Snapshot.objects.update(at=Snapshot.objects.get().at - timedelta(hours=2))
    world.send(130)
    committed(world, mirror, 2)
    world.exact(1)
    assert [(s.number, s.kind, s.rows) for s in Snapshot.objects.all()] == [(2, "commit", 200), (1, "first", 100)]
    assert [rows(ctx, n) for n in (1, 2)] == [[[100, 99]], [[200, 199]]]
