"""Upload, refresh, deletion, restore and retention, cut after every single write, in memory and on a real ZooKeeper:
nothing is ever lost.

At every moment a segment is either in the table with its record and its file, or kept with its document, or waits in
the queue with both; and doing it again, or letting the passes run, ends as if nothing had happened.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.domain.tables.table_config import parse_table_config
from segments.errors import PinotAdminError
from segments.gateways.deep_store.deepstore import DeepStore
from segments.services.core.context import Context
from segments.services.segments import archive, deletion
from segments.services.segments.restore import restore_segments
from segments.services.upkeep import retention
from segments.store import paths
from segments.store.base import Store
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.contract.conftest import zookeeper as zookeeper
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.real_parts import ZooKeeperProcess
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
NAMES = ("a", "b")
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Case:
    """``before`` prepares, ``step`` is interrupted and then repeated, ``ideal`` is what the table holds in the end."""

    before: Callable[[World], object]
    step: Callable[[Context, World], object]
    ideal: tuple[str, ...]


def archived(world: World) -> None:
    world.upload(*NAMES)
    deletion.remove_segments(world.ctx, TABLE, NAMES, actor=ANN)
    world.serve()
    deletion.drain(world.ctx, TABLE)


def queued(world: World) -> None:
    world.upload(*NAMES)
    deletion.remove_segments(world.ctx, TABLE, NAMES, actor=ANN)
    world.serve()


def old(world: World) -> None:
    """Both segments are 40 days old in a table that keeps 30."""
    world.upload(*NAMES, "young")
    body = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "segmentsConfig": {"retentionTimeUnit": "DAYS", "retentionTimeValue": "30"},
    }
    config = world.memory.get(paths.table_config(TABLE.typed))
    assert config is not None
    world.memory.replace(paths.table_config(TABLE.typed), parse_table_config(body).to_record(), config.version)
    for name in NAMES:
        node = world.memory.get(paths.segment(TABLE.typed, name))
        assert node is not None
        assert node.record is not None
        times = {"segment.end.time": str(world.now - 40 * 86_400_000), "segment.time.unit": "MILLISECONDS"}
        world.memory.replace(paths.segment(TABLE.typed, name), node.record.with_simple_items(times), node.version)


def delete_all(ctx: Context, world: World) -> None:
    deletion.delete_segments(ctx, TABLE, NAMES, actor=ANN)
    world.serve()
    deletion.drain(ctx, TABLE)


def keep(ctx: Context, world: World) -> None:
    retention.run(ctx, TABLE)
    world.serve()
    retention.run(ctx, TABLE)


CASES = {
    "delete": Case(lambda w: w.upload(*NAMES), delete_all, ()),
    "drain": Case(queued, lambda ctx, _: deletion.drain(ctx, TABLE), ()),
    "restore from the archive": Case(archived, lambda ctx, _: restore_segments(ctx, TABLE, NAMES, actor=ANN), NAMES),
    "restore from the queue": Case(queued, lambda ctx, _: restore_segments(ctx, TABLE, NAMES, actor=ANN), NAMES),
    "retention": Case(old, keep, ("young",)),
}


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.integration)])
def stores(request: pytest.FixtureRequest) -> Iterator[Callable[[], Store] | None]:
    """None: each world's own memory; else a maker of stores on a real ZooKeeper, each of a cluster of its own."""
    if request.param == "memory":
        yield None
        return
    process: ZooKeeperProcess = request.getfixturevalue("zookeeper")
    opened: list[Store] = []

    def make() -> Store:
        opened.append(ZooKeeperStore(process.hosts, f"interrupted{next(_numbers)}"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


def world_of(folder: Path, stores: Callable[[], Store] | None) -> World:
    """A fresh table whose whole state is in memory, or on the real ZooKeeper."""
    if stores is None:
        return World(folder, kind="APPEND")
    store = stores()
    return World(folder, store, kind="APPEND", memory=store)


def nothing_is_lost(world: World, where: str) -> None:
    """Each segment is in the table, in the queue, or in the archive, with record and file."""
    ideal, queue = world.ideal, read_queue(world.ctx, TABLE).items
    kept = {k.segment for k in archive.list_kept(world.ctx, TABLE)[0] if k.kept is not None}
    files = {f.partition(".tmp.")[0] for f in world.files}
    for name in NAMES:
        has_record = world.ctx.store.get(paths.segment(TABLE.typed, name)) is not None
        if name in ideal:
            assert has_record, f"{where}: {name} has a row but no record"
            assert name in files, f"{where}: {name} has a row but no file"
        else:
            assert name in kept or name in queue, f"{where}: {name} is nowhere"
            assert name in kept or name in files, f"{where}: the file of {name} is lost"


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("case", CASES)
def test_cut_anywhere_nothing_is_lost_and_done_again_it_ends_the_same(
    tmp_path: Path, stores: Callable[[], Store] | None, case: str, fault: Fault
) -> None:
    what = CASES[case]
    probe = world_of(tmp_path / "probe", stores)
    what.before(probe)
    counting = FaultyStore(probe.ctx.store)
    what.step(probe.with_store(counting), probe)
    assert counting.writes
    for k in range(1, len(counting.writes) + 1):
        world = world_of(tmp_path / f"cut{k}", stores)
        what.before(world)
        with contextlib.suppress(Cut, PinotAdminError):
            what.step(world.with_store(FaultyStore(world.ctx.store, Plan({k: fault}))), world)
        ends_the_same(world, what, f"{case}, {fault.name} at write {k}")


def ends_the_same(world: World, what: Case, where: str) -> None:
    """Nothing is lost now, nor after the queue was drained, and the step done again ends as if it had not been
    interrupted.
    """
    nothing_is_lost(world, where)
    world.now += 31_000  # claims of the dead process are over
    deletion.drain(world.serve().ctx, TABLE)
    nothing_is_lost(world, f"{where}, after a drain")
    what.step(world.ctx, world)
    for _ in range(2):
        deletion.drain(world.serve().ctx, TABLE)
    nothing_is_lost(world, f"{where}, done again")
    assert tuple(world.ideal) == what.ideal, where
    assert tuple(world.files) == what.ideal, where
    assert read_queue(world.ctx, TABLE).items == {}, where


class FaultyFiles(DeepStore):
    """The process dies before or after its ``at``-th change of a file; nothing is changed any more after that."""

    def __init__(self, inner: DeepStore, at: int, fault: Fault) -> None:
        super().__init__(inner.url)
        self.at, self.fault, self.changes = at, fault, 0
        self._lock = threading.Lock()

    def _change(self, run: Callable[[], object]) -> object:
        with self._lock:
            self.changes += 1
            if self.at and (self.changes > self.at or (self.changes == self.at and self.fault is Fault.CUT_BEFORE)):
                raise Cut("the process is dead")
            result = run()
            if self.changes == self.at:
                raise Cut("the process dies after changing a file")
            return result

    def move(self, source: str, target: str) -> bool:
        return bool(self._change(lambda: DeepStore.move(self, source, target)))

    def write(self, path: str, data: bytes) -> None:
        self._change(lambda: DeepStore.write(self, path, data))

    def touch(self, path: str, at_ms: int) -> None:
        self._change(lambda: DeepStore.touch(self, path, at_ms))

    def delete(self, path: str) -> bool:
        return bool(self._change(lambda: DeepStore.delete(self, path)))


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
@pytest.mark.parametrize("case", CASES)
def test_cut_between_any_two_files_nothing_is_lost(tmp_path: Path, case: str, fault: Fault) -> None:
    what = CASES[case]
    for k in itertools.count(1):
        world = World(tmp_path / f"cut{k}", kind="APPEND")
        what.before(world)
        files = FaultyFiles(world.ctx.deep_store, k, fault)
        with contextlib.suppress(Cut):
            what.step(replace(world.ctx, deep_store=files), world)
        ends_the_same(world, what, f"{case}, {fault.name} at change {k} of a file")
        if files.changes < k:
            return


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
def test_a_restore_that_is_never_repeated_ends_on_its_own(tmp_path: Path, fault: Fault) -> None:
    ended = set()
    for k in range(1, 4):
        world = World(tmp_path / f"{k}", kind="APPEND")
        archived(world)
        with contextlib.suppress(Cut):
            restore_segments(world.with_store(FaultyStore(world.memory, Plan({k: fault}))), TABLE, NAMES, actor=ANN)
        world.now += 31_000
        deletion.drain(world.serve().ctx, TABLE)
        kept = sorted(x.segment for x in archive.list_kept(world.ctx, TABLE)[0])
        assert (world.ideal, world.files, kept) in ((list(NAMES), list(NAMES), []), ([], [], list(NAMES))), k
        assert read_queue(world.ctx, TABLE).items == {}
        ended.add(bool(world.ideal))
    assert ended == {True, False}
