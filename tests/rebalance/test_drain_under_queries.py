"""A server that consumes is drained while rows come and queries run: none fails, and none sees fewer rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.clusters.embedded.rebalance import keeping
from segments.domain.rebalance.drain import Phase
from segments.services.rebalance import drain, rebalance
from tests.dataplane.consuming_world import ConsumingWorld, instance
from tests.dataplane.world import poll
from tests.rebalance.test_consuming import NEW, OLD, counted
from tests.services.world import ANN

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConsumingWorld]:
    """One server with a committed and a consuming segment, and another that has room."""
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)
    made = ConsumingWorld(tmp_path)
    made.start_server(OLD, drop_grace_s=0.5)
    made.create_realtime(servers=(OLD,))
    made.send(50)
    made.exact(OLD)
    made.start_server(NEW, drop_grace_s=0.5)
    yield made
    made.close()


@pytest.mark.parametrize("commits", [True, False])
def test_what_a_server_consumes_goes_on_elsewhere_and_no_query_sees_fewer_rows(
    world: ConsumingWorld, commits: bool
) -> None:
    broker = world.start_broker()
    poll(lambda: not broker.query("select count(*) from r")["exceptions"], what="the first answer")

    def is_drained() -> bool:
        drain.keep(world.ctx)
        rebalance.keep(world.ctx)
        if world.sent < 200:
            world.send(5)
        found = drain.outlook_of(world.ctx, instance(OLD)).drain
        return found is not None and found.phase is Phase.DRAINED

    with counted(broker) as seen:
        drain.start(world.ctx, instance(OLD), commits=commits, actor=ANN)
        poll(is_drained, 30, "the drain")
        world.exact(NEW)
        poll(lambda: bool(seen) and seen[-1] == world.sent, what="all rows in an answer")
    assert seen == sorted(seen)
    assert seen[0] >= 50
    assert all(dict(world.view(segment)).keys() == {instance(NEW)} for segment in world.chain())
