"""A background end, a rollback, the reaper and a pin, cut after every write, in memory and on a real ZooKeeper: the end
is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from segments.domain.replacement.end_job import JobState
from segments.errors import PinotAdminError
from segments.services.core.context import Context
from segments.services.replacement import entry_reaper
from segments.services.replacement.ends.end_job_record import all_jobs
from segments.services.replacement.ends.end_jobs import advance_all, request_end
from segments.services.replacement.entry_lease import heartbeat
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.replacement.rollback import roll_back
from segments.services.upkeep import retention
from segments.store.base import Store
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.contract.conftest import zookeeper as zookeeper
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.real_parts import ZooKeeperProcess
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """``before`` prepares, ``step`` is interrupted and then repeated; what queries see before and after, and the
    entries' states.
    """

    before: Callable[[World], object]
    step: Callable[[Context, World], object]
    seen_before: tuple[str, ...]
    seen_after: tuple[str, ...]
    states: tuple[str, ...]


def replaced(world: World) -> None:
    """a was replaced by b, and b by c."""
    world.upload("a")
    for entry, old, new in (("e1", "a", "b"), ("e2", "b", "c")):
        world.now += 1000
        start_replace(world.ctx, TABLE, [old], [new], actor=ANN, entry_id=entry)
        world.upload(new)
        end_replace(world.ctx, TABLE, entry, actor=ANN)


def opened(world: World) -> None:
    world.upload("a")
    start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="e1")
    world.upload("b")


def silent(world: World) -> None:
    """Its client sent a heartbeat two minutes ago, and nobody checked since."""
    opened(world)
    heartbeat(world.ctx, TABLE, "e1", ANN)
    world.now += 120_000


def end_in_background(ctx: Context, world: World) -> None:
    request_end(ctx, TABLE, "e1", actor=ANN)
    for _ in range(3):
        advance_all(ctx)


def reap(ctx: Context, world: World) -> None:
    for _ in range(2):
        entry_reaper.run(ctx, TABLE)
        world.now += 25_000
    entry_reaper.run(ctx, TABLE)


def go_back(ctx: Context, world: World) -> None:
    if observe(ctx, TABLE).lineage.entry("e1").state.value == "COMPLETED":
        roll_back(ctx, TABLE, "e1", actor=ANN)


CASES = {
    "end": Case(opened, end_in_background, ("a",), ("b",), ("COMPLETED",)),
    "rollback": Case(replaced, go_back, ("c",), ("a",), ("REVERTED", "REVERTED")),
    "reaper": Case(silent, reap, ("a",), ("a",), ("REVERTED",)),
    "pin": Case(replaced, lambda ctx, _: pin_entry(ctx, TABLE, "e1", ANN), ("c",), ("c",), ("COMPLETED", "COMPLETED")),
}
FAULTS = {"memory": tuple(Fault), "zookeeper": (Fault.CUT_AFTER, Fault.LOST_AFTER)}


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.integration)])
def worlds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], World]]:
    """Makes fresh worlds, in memory or each a cluster of its own on a real ZooKeeper."""
    stores: list[Store] = []

    def make() -> World:
        number = next(_numbers)
        if request.param == "memory":
            return World(tmp_path / f"{number}")
        process: ZooKeeperProcess = request.getfixturevalue("zookeeper")
        stores.append(ZooKeeperStore(process.hosts, f"lineage{number}"))
        return World(tmp_path / f"{number}", stores[-1], memory=stores[-1])

    make.faults = FAULTS[request.param]  # type: ignore[attr-defined]
    yield make
    for store in stores:
        store.close()


@pytest.mark.parametrize("name", CASES)
def test_cut_anywhere_and_done_again_the_end_is_the_same(worlds: Callable[[], World], name: str) -> None:
    case = CASES[name]
    probe = worlds()
    case.before(probe)
    counting = FaultyStore(probe.ctx.store)
    case.step(probe.with_store(counting), probe)
    assert counting.writes
    for k, fault in itertools.product(range(1, len(counting.writes) + 1), worlds.faults):  # type: ignore[attr-defined]
        world, where = worlds(), f"{fault.name} at write {k}"
        case.before(world)
        try:
            case.step(world.with_store(FaultyStore(world.ctx.store, Plan({k: fault}))), world)
        except (Cut, PinotAdminError):
            assert tuple(world.visible) in (case.seen_before, case.seen_after), where
        case.step(world.ctx, world)
        world.serve()
        retention.run(world.ctx, TABLE)
        check(world, case, where)
        if name == "pin":
            assert observe(world.ctx, TABLE).lineage.entry("e1").is_pinned, where


def check(world: World, case: Case, where: str) -> None:
    lineage = observe(world.ctx, TABLE).lineage
    assert tuple(world.visible) == case.seen_after, where
    assert {e.state.value for e in lineage.entries.values()} <= set(case.states), where
    assert {j.state for j in all_jobs(world.ctx)} <= {JobState.DONE}, where
    assert len(all_jobs(world.ctx)) <= 1, where
