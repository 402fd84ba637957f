"""A commit cut, doubted or overtaken at every write it makes: asked again it is whole, once, and no row is lost or
doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from segments.clusters.embedded.realtime.completion import protocol as completion
from segments.clusters.embedded.realtime.completion.committing_list import listed_segments
from segments.domain.realtime.llc_name import parse_llc_name
from segments.services.segments import downloads
from segments.store import paths
from segments.store.base import Store
from segments.store.memory import MemoryStore
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.update import RetryPolicy
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.real_parts import ZooKeeperProcess, start_zookeeper
from tests.services.realtime_world import TABLE, RealtimeWorld
from tests.services.spoken import Spoken

pytestmark = pytest.mark.django_db


def world_of(folder: Path, *, is_pauseless: bool = False) -> tuple[RealtimeWorld, Spoken]:
    world = RealtimeWorld(
        folder,
        partitions=1,
        servers=2,
        replication=2,
        segments={"peerSegmentDownloadScheme": "http"} if is_pauseless else {},
        streaming={"pauselessConsumptionEnabled": is_pauseless},
    )
    return world, Spoken(world.ctx, world.segments(0)[0])


def whole_protocol(world: RealtimeWorld, store: Store, segment: str, tar: Path, *, has_read_on: bool = False) -> str:
    """What a server does from its threshold on; an answer that does not fit makes it begin again, as servers do."""
    ctx = world.over(store)
    talk = Spoken(ctx, segment, has_read_on=has_read_on)
    for _ in range(4):
        told = talk.consumed(1, 40, "rowLimit")[0]
        if told == "KEEP":
            return told
        if told == "COMMIT" and talk.start(1, 40) == "COMMIT_CONTINUE":
            location = completion.upload(ctx, segment, tar, "40").location
            if talk.end(1, 40, location=location) == "COMMIT_SUCCESS":
                return "COMMIT_SUCCESS"
        world.now += 3_500
    raise AssertionError("the server never gets its segment committed")


def holds(world: RealtimeWorld, segment: str) -> None:
    """The partition's chain is whole: one committed segment, one successor that starts at its end, every replica where
    it belongs.
    """
    names = world.segments(0)
    assert names == sorted(world.records)
    assert [parse_llc_name(n).sequence for n in names] == [0, 1]
    assert (
        world.fields(segment)["segment.realtime.endOffset"]
        == world.fields(names[1])["segment.realtime.startOffset"]
        == "40"
    )
    assert set(world.ideal.maps[segment].values()) == {"ONLINE"}
    assert set(world.ideal.maps[names[1]].values()) == {"CONSUMING"}
    assert world.memory.get(paths.completion(TABLE.typed, segment)) is None
    assert listed_segments(world.memory, TABLE) == []
    assert b"".join(downloads.open_segment(world.over(world.memory), "t", segment).chunks()) == b"tar"


def interruptions(folder: Path, *, is_pauseless: bool) -> Iterator[tuple[int, Fault, RealtimeWorld, str, Path]]:
    """A fresh world for each write of an undisturbed protocol and each fault; the first run is interrupted there."""
    tar = folder / "tar"
    folder.mkdir(parents=True, exist_ok=True)
    tar.write_text("tar")
    world, talk = world_of(folder / "count", is_pauseless=is_pauseless)
    counting = FaultyStore(world.memory)
    whole_protocol(world, counting, talk.segment, tar)
    assert len(counting.writes) == 3
    for number in range(1, len(counting.writes) + 1):
        for fault in Fault:
            world, talk = world_of(folder / f"{number}-{fault.name}", is_pauseless=is_pauseless)
            yield number, fault, world, talk.segment, tar


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_a_server_gets_its_segment_committed_whatever_happens_to_one_write(
    tmp_path: Path, *, is_pauseless: bool
) -> None:
    for number, fault, world, segment, tar in interruptions(tmp_path, is_pauseless=is_pauseless):
        try:
            whole_protocol(world, FaultyStore(world.memory, Plan({number: fault})), segment, tar)
        except Cut:
            # Another web process is asked next.
            whole_protocol(world, MemoryStore(world.memory.tree), segment, tar)
        holds(world, segment)


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_a_commit_that_never_wins_fails_and_leaves_nothing_for_another_to_clean_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_pauseless: bool
) -> None:
    """Pinot has written the segment's record by then, and takes back only that of the next one."""
    monkeypatch.setattr(RetryPolicy, "pause_s", lambda *_: 0.0)
    world, talk = world_of(tmp_path, is_pauseless=is_pauseless)
    assert talk.consumed(1, 40, "rowLimit")[0] == "COMMIT"
    race = {n: lambda: world.change_ideal(touched="x") for n in range(1, 200)}
    overtaken = Spoken(world.over(FaultyStore(world.memory, Plan(before=race))), talk.segment)
    if is_pauseless:
        assert overtaken.start(1, 40) == "FAILED"
    else:
        assert talk.start(1, 40) == "COMMIT_CONTINUE"
        assert overtaken.end(1, 40) == "FAILED"
    assert world.fields(talk.segment)["segment.realtime.status"] == "IN_PROGRESS"
    assert world.segments(0) == world.records == [talk.segment]
    assert listed_segments(world.memory, TABLE) == []


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_a_commit_that_meets_two_conflicts_is_one_change_of_the_ideal_state(
    tmp_path: Path, *, is_pauseless: bool
) -> None:
    world, talk = world_of(tmp_path, is_pauseless=is_pauseless)
    assert talk.consumed(1, 40, "rowLimit")[0] == "COMMIT"
    path = paths.ideal_state(TABLE.typed)

    def overtaken() -> Spoken:
        """Each of the next two writes comes after one of somebody else."""
        race = {n: lambda: world.change_ideal(touched=str(world.now)) for n in (1, 2)}
        return Spoken(world.over(FaultyStore(world.memory, Plan(before=race))), talk.segment)

    before = version_of(world, path)
    if is_pauseless:
        assert overtaken().start(1, 40) == "COMMIT_CONTINUE"
        assert talk.end(1, 40) == "COMMIT_SUCCESS"
    else:
        assert talk.start(1, 40) == "COMMIT_CONTINUE"
        assert overtaken().end(1, 40) == "COMMIT_SUCCESS"
    assert version_of(world, path) == before + 3
    assert len(world.segments(0)) == 2


def test_a_commit_that_always_meets_a_conflict_leaves_nothing_behind_and_may_be_tried_again(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    talk.uploading()
    before = world.fields(talk.segment)
    conflicts = FaultyStore(world.memory, Plan(dict.fromkeys(range(1, 100), Fault.CONFLICT)))
    assert Spoken(world.over(conflicts), talk.segment).end(1, 40) == "FAILED"
    assert (world.fields(talk.segment), world.records) == (before, [talk.segment])
    talk.committed()


def version_of(world: RealtimeWorld, path: str) -> int:
    node = world.memory.get(path)
    assert node is not None
    return node.version


def test_a_commit_that_loses_against_a_pause_has_no_successor(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    talk.uploading()
    faulty = FaultyStore(world.memory, Plan(before={1: lambda: world.change_ideal(pauseState='{"paused":true}')}))
    assert Spoken(world.over(faulty), talk.segment).end(1, 40) == "COMMIT_SUCCESS"
    assert world.segments(0) == world.records == [talk.segment]


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_rows_that_were_read_behind_a_commit_have_a_successor_in_a_pause_whatever_happens_to_one_write(
    tmp_path: Path, *, is_pauseless: bool
) -> None:
    """Queries have seen them: without it they would be out of sight until the resume."""
    for number, fault, world, segment, tar in interruptions(tmp_path, is_pauseless=is_pauseless):
        world.change_ideal(pauseState='{"paused":true}')
        try:
            whole_protocol(world, FaultyStore(world.memory, Plan({number: fault})), segment, tar, has_read_on=True)
        except Cut:
            whole_protocol(world, MemoryStore(world.memory.tree), segment, tar, has_read_on=True)
        holds(world, segment)
        assert world.pause.paused


@pytest.mark.parametrize("loses", ["the row goes", "the record is done"])
def test_a_commit_that_was_overtaken_fails_and_writes_nothing(tmp_path: Path, loses: str) -> None:
    world, talk = world_of(tmp_path)
    talk.uploading()
    change: dict[str, Callable[[], object]] = {
        "the row goes": lambda: world.set_row(talk.segment, "ONLINE"),
        "the record is done": lambda: world.done(talk.segment, "40"),
    }
    faulty = FaultyStore(world.memory, Plan(before={1: change[loses]}))
    assert Spoken(world.over(faulty), talk.segment).end(1, 40) == "FAILED"
    assert world.records == [talk.segment]
    assert "segment.crc" not in world.fields(talk.segment)


def test_two_web_processes_with_the_same_commit_end_commit_once(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    talk.uploading()
    answers: list[str] = []
    faulty = FaultyStore(world.memory, Plan(before={1: lambda: answers.append(talk.end(1, 40))}))
    answers.append(Spoken(world.over(faulty), talk.segment).end(1, 40))
    assert answers == ["COMMIT_SUCCESS", "COMMIT_SUCCESS"]
    assert len(world.segments(0)) == 2


def test_two_replicas_at_once_are_not_both_chosen(tmp_path: Path) -> None:
    world, talk = world_of(tmp_path)
    told: list[tuple[str, str | None]] = []
    faulty = FaultyStore(world.memory, Plan(before={1: lambda: told.append(talk.consumed(2, 40, "rowLimit"))}))
    told.append(Spoken(world.over(faulty), talk.segment).consumed(1, 40, "rowLimit"))
    assert told == [("COMMIT", "40"), ("HOLD", "40")]


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    started = start_zookeeper(tmp_path_factory.mktemp("zookeeper"))
    yield started
    started.stop()


@pytest.mark.integration
@pytest.mark.parametrize("is_pauseless", [False, True])
def test_a_commit_on_a_real_zookeeper_survives_every_cut(
    tmp_path: Path, zookeeper: ZooKeeperProcess, *, is_pauseless: bool
) -> None:
    for number, fault, world, segment, tar in interruptions(tmp_path, is_pauseless=is_pauseless):
        if fault not in (Fault.CUT_AFTER, Fault.LOST_AFTER, Fault.CONFLICT):
            continue
        store = ZooKeeperStore(zookeeper.hosts, f"commit-{number}-{fault.name}-{is_pauseless}")
        try:
            copy_tree(world.memory, store)
            try:
                whole_protocol(world, FaultyStore(store, Plan({number: fault})), segment, tar)
            except Cut:
                whole_protocol(world, store, segment, tar)
            world.memory = MemoryStore()
            copy_tree(store, world.memory)
            holds(world, segment)
        finally:
            store.close()


def copy_tree(source: Store, target: Store, path: str = "") -> None:
    """Every record below; empty parents are made automatically."""
    for name in source.children(path or "/"):
        node = source.get(f"{path}/{name}")
        if node is not None and node.record is not None and target.exists(f"{path}/{name}") is None:
            target.create(f"{path}/{name}", node.record)
        copy_tree(source, target, f"{path}/{name}")
