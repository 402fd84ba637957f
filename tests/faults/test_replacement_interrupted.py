"""A push and a rollback, cut after every single write: what queries see is always one side, and doing it again ends the
same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from segments.errors import PinotAdminError, StateConflict
from segments.services.core.context import Context
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.upkeep import retention
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.contract.conftest import zookeeper as zookeeper
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.real_parts import ZooKeeperProcess
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
Step = Callable[[Context], object]


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.integration)])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], World]]:
    """Makes worlds, in memory or each a cluster of its own on a real ZooKeeper."""
    numbers, opened = itertools.count(1), list[ZooKeeperStore]()

    def make() -> World:
        folder = tmp_path / f"{next(numbers)}"
        if request.param == "memory":
            return World(folder)
        process: ZooKeeperProcess = request.getfixturevalue("zookeeper")
        opened.append(ZooKeeperStore(process.hosts, f"cut{id(opened)}-{folder.name}"))
        return World(folder, opened[-1], memory=opened[-1])

    yield make
    for store in opened:
        store.close()


def prepare(world: World) -> World:
    """p1 was replaced by p2; a failed push left q1 behind; p3 is about to come, with clean-up."""
    first = start_replace(world.ctx, TABLE, [], ["p1"], force_cleanup=True, actor=ANN, entry_id="e1")
    world.upload("p1")
    end_replace(world.ctx, TABLE, first, actor=ANN)
    start_replace(world.ctx, TABLE, ["p1"], ["p2"], force_cleanup=True, actor=ANN, entry_id="e2")
    world.upload("p2")
    end_replace(world.ctx, TABLE, "e2", actor=ANN)
    start_replace(world.ctx, TABLE, ["p2"], ["q1", "q2"], force_cleanup=True, actor=ANN, entry_id="failed")
    return world.upload("q1")


def push(world: World) -> Step:
    def step(ctx: Context) -> None:
        start_replace(ctx, TABLE, ["p2"], ["p3"], force_cleanup=True, actor=ANN, entry_id="e3")
        world.upload("p3")
        end_replace(ctx, TABLE, "e3", actor=ANN)

    return step


def rollback(world: World) -> Step:
    def step(ctx: Context) -> None:
        try:
            revert_replace(ctx, TABLE, "e2", actor=ANN)
        except StateConflict as error:
            if "already" not in str(error):
                raise

    start_replace(world.ctx, TABLE, ["p2"], ["p9"], force_cleanup=True, actor=ANN, entry_id="gone")
    revert_replace(world.ctx, TABLE, "gone", force=True, actor=ANN)
    return step


@pytest.mark.parametrize(
    ("scenario", "before", "after", "left"), [(push, "p2", "p3", ["p2", "p3"]), (rollback, "p2", "p1", ["p1"])]
)
@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.LOST_AFTER, Fault.LOST_BEFORE, Fault.CONFLICT]
)
def test_cut_anywhere_and_done_again(
    fresh: Callable[[], World],
    scenario: Callable[[World], Step],
    before: str,
    after: str,
    left: list[str],
    fault: Fault,
) -> None:
    probe = prepare(fresh())
    counting = FaultyStore(probe.memory)
    scenario(probe)(probe.with_store(counting))
    assert counting.writes
    for k in range(1, len(counting.writes) + 1):
        world = prepare(fresh())
        step = scenario(world)
        try:
            step(world.with_store(FaultyStore(world.memory, Plan({k: fault}))))
        except (Cut, PinotAdminError):
            assert world.visible in ([before], [after]), f"write {k}: {world.visible}"
        step(world.ctx)
        for _ in range(2):
            world.serve()
            retention.run(world.ctx, TABLE)
        assert (world.visible, world.ideal) == ([after], left), f"write {k}"
