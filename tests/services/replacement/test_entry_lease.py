"""Signs of life keep a replacement open; the reaper takes back what its client left, and nothing else (rule
`entry-lease`).
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from segments.domain.replacement.lease import WATCHED
from segments.domain.replacement.lineage import HEARTBEAT, LEASE, UPLOAD, Entry
from segments.domain.tables.table_config import DAY_MS
from segments.errors import NotFound, StateConflict
from segments.models import AuditEvent, Push
from segments.services.core.context import Limits
from segments.services.push.push_session import now
from segments.services.replacement import entry_lease, entry_reaper
from segments.services.replacement.ends.end_jobs import request_end
from segments.services.replacement.ends.waiting_ends import kept_alive
from segments.services.replacement.entry_lease import heartbeat, renew_for_upload
from segments.services.replacement.lineage_record import note_entry, observe
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep import passes, retention
from segments.store import paths
from tests.faults.faulty import Fault, FaultyStore, Plan
from tests.services.replacement.either_cluster import SimulatedCluster
from tests.services.world import ANN, TABLE, World
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Segment a is served; replacement ``open`` of a by b is under way, b is uploaded."""
    made = World(tmp_path / "store").upload("a")
    start_replace(made.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="open")
    return made.upload("b")


def test_a_client_that_sends_heartbeats_and_falls_silent_is_reverted(simulated: SimulatedCluster) -> None:
    entry = simulated.upload("a").start(["a"], ["b"])
    heartbeat(simulated.ctx, TABLE, entry, ANN)
    simulated.world.now += 30_000
    assert entry_reaper.run(simulated.ctx, TABLE) == []
    for _ in range(3):
        simulated.world.now += 30_000
        sentences = entry_reaper.run(simulated.ctx, TABLE)
        if simulated.state(entry) == "REVERTED":
            break
    assert "its client sent heartbeats and has been silent" in sentences[0]
    assert (simulated.state(entry), simulated.visible) == ("REVERTED", ["a"])
    reaped = simulated.events[-1]
    assert (reaped.action, reaped.actor, reaped.detail["entry"]) == ("reapEntry", "system", entry)


def entry(world: World, entry_id: str = "open") -> Entry:
    return observe(world.ctx, TABLE).lineage.entry(entry_id)


def pass_time(world: World, seconds: float, every: float = 5.0) -> list[str]:
    """Run the reaper every few seconds for a while; what it reported."""
    said, end = [], world.now + int(seconds * 1000)
    while world.now < end:
        world.now += int(every * 1000)
        said += entry_reaper.run(world.ctx, TABLE)
    return said


def version(world: World) -> int:
    found = world.memory.exists(paths.lineage(TABLE.typed))
    assert found is not None
    return found


def test_a_heartbeat_says_until_when_and_leaves_pinots_timestamp_alone(world: World) -> None:
    before = entry(world)
    world.now += 7_000
    state = heartbeat(world.ctx, TABLE, "open", ANN)
    after = entry(world)
    assert (state.is_leased, state.last_sign_ms, state.given_up_at_ms) == (True, world.now, world.now + 60_000)
    assert state.heartbeat_every_s == 10.0
    assert (after.timestamp_ms, after.state, after.segments_to) == (
        before.timestamp_ms,
        before.state,
        before.segments_to,
    )
    assert after.notes[HEARTBEAT] == str(world.now)


def test_only_the_first_heartbeat_is_audited_and_close_ones_are_not_written(world: World) -> None:
    heartbeat(world.ctx, TABLE, "open", ANN)
    written = version(world)
    world.now += 2_000
    heartbeat(world.ctx, TABLE, "open", ANN)
    assert version(world) == written
    world.now += 5_000
    heartbeat(world.ctx, TABLE, "open", ANN)
    assert version(world) == written + 1
    assert AuditEvent.objects.filter(action="leaseEntry").count() == 1


def test_a_client_whose_entry_is_over_is_ordered_to_stop(world: World) -> None:
    end_replace(world.ctx, TABLE, "open", actor=ANN)
    with pytest.raises(StateConflict, match="COMPLETED"):
        heartbeat(world.ctx, TABLE, "open", ANN)
    with pytest.raises(NotFound, match="nope"):
        heartbeat(world.ctx, TABLE, "nope", ANN)


def test_a_client_that_fell_silent_is_reverted_within_ninety_seconds(world: World) -> None:
    heartbeat(world.ctx, TABLE, "open", ANN)
    said = pass_time(world, 90)
    assert (world.state("open"), world.visible, world.ideal) == ("REVERTED", ["a"], ["a"])
    assert any("Reverted lineage entry open" in s for s in said)
    event = AuditEvent.objects.get(action="reapEntry")
    assert (event.detail["entry"], event.actor) == ("open", "system")
    assert "silent" in event.reason


def test_a_client_that_goes_on_is_left_alone_for_days(world: World) -> None:
    for _ in range(60):
        heartbeat(world.ctx, TABLE, "open", ANN)
        assert pass_time(world, 30) == []
    assert world.state("open") == "IN_PROGRESS"


def test_uploads_are_signs_of_life_too(world: World) -> None:
    config = read_table_config(world.ctx, TABLE)
    heartbeat(world.ctx, TABLE, "open", ANN)
    for _ in range(10):
        assert pass_time(world, 30) == []
        renew_for_upload(world.ctx, config, ["b"])
    assert entry(world).notes[UPLOAD] == str(world.now)
    pass_time(world, 90)
    assert world.state("open") == "REVERTED"


def test_many_uploads_at_once_are_one_write_and_mostly_no_read(world: World) -> None:
    config = read_table_config(world.ctx, TABLE)
    counting = FaultyStore(world.memory)
    reads: list[str] = []
    get = counting.get
    counting.get = lambda path: (reads.append(path), get(path))[1]  # type: ignore[method-assign]
    ctx = world.with_store(counting)
    renew_for_upload(ctx, config, ["b"])
    assert counting.writes == [], "right after the start there is nothing to tell"
    world.now += 6_000
    reads.clear()
    for _ in range(50):
        renew_for_upload(ctx, config, ["b"])
        world.now += 50
    assert (len(counting.writes), len(reads)) == (1, 2)
    world.now += 5_000
    renew_for_upload(ctx, config, ["b"])
    assert len(counting.writes) == 2


def test_an_upload_of_another_segment_renews_nothing_and_a_lost_write_fails_no_upload(world: World) -> None:
    config, written = read_table_config(world.ctx, TABLE), version(world)
    world.now += 6_000
    renew_for_upload(world.ctx, config, ["z"])
    assert version(world) == written
    faulty = FaultyStore(world.memory, Plan(dict.fromkeys(range(1, 50), Fault.CONFLICT)))
    renew_for_upload(world.with_store(faulty), config, ["b"])
    assert version(world) == written


def test_a_client_without_heartbeats_keeps_the_documented_period_from_its_last_upload(world: World) -> None:
    config = read_table_config(world.ctx, TABLE)
    assert LEASE not in entry(world).notes
    world.now += DAY_MS - 1000
    renew_for_upload(world.ctx, config, ["b"])
    world.now += DAY_MS - 1000
    assert entry_reaper.run(world.ctx, TABLE) == []
    retention.run(world.ctx, TABLE)
    assert (world.state("open"), world.ideal) == ("IN_PROGRESS", ["a", "b"])
    world.now += 2000
    retention.run(world.ctx, TABLE)
    assert world.ideal == ["a"]


def test_a_clock_that_jumps_ahead_reverts_nobody_who_lives(world: World) -> None:
    heartbeat(world.ctx, TABLE, "open", ANN)
    world.now += 3_600_000
    assert "silent" in entry_reaper.run(world.ctx, TABLE)[0]
    world.now += 9_000
    heartbeat(world.ctx, TABLE, "open", ANN)
    assert WATCHED not in entry(world).notes
    world.now += 20_000
    assert entry_reaper.run(world.ctx, TABLE) == []
    assert world.state("open") == "IN_PROGRESS"


def test_a_clock_that_is_set_back_does_not_keep_the_dead(world: World) -> None:
    heartbeat(world.ctx, TABLE, "open", ANN)
    world.now -= 3_600_000
    pass_time(world, 90)
    assert world.state("open") == "REVERTED"


def test_an_end_that_lands_right_before_the_reaper_writes_is_never_undone(world: World) -> None:
    heartbeat(world.ctx, TABLE, "open", ANN)
    pass_time(world, 55)
    world.now += 10_000
    racing = FaultyStore(world.memory, Plan(before={1: lambda: end_replace(world.ctx, TABLE, "open", actor=ANN)}))
    assert entry_reaper.run(world.with_store(racing), TABLE) == []
    assert racing.writes, "the reaper was about to write"
    assert (world.state("open"), world.visible) == ("COMPLETED", ["b"])


def test_a_heartbeat_that_lands_right_before_the_reaper_writes_wins(world: World) -> None:
    heartbeat(world.ctx, TABLE, "open", ANN)
    pass_time(world, 55)
    world.now += 10_000
    racing = FaultyStore(world.memory, Plan(before={1: lambda: heartbeat(world.ctx, TABLE, "open", ANN)}))
    assert entry_reaper.run(world.with_store(racing), TABLE) == []
    assert racing.writes
    assert world.state("open") == "IN_PROGRESS"


def make_push(world: World, state: Push.State, **more: Any) -> Push:
    return Push.objects.create(cluster="test", table_name="t", entry_id="open", state=state, **more)


def test_the_entry_of_a_push_under_way_belongs_to_the_push(world: World) -> None:
    make_push(world, Push.State.RUNNING)
    heartbeat(world.ctx, TABLE, "open", ANN)
    assert pass_time(world, 300) == []
    assert world.state("open") == "IN_PROGRESS"


@pytest.mark.parametrize("state", [Push.State.FAILED, Push.State.CANCELLED])
def test_an_entry_that_a_finished_push_could_not_take_back_is_reverted(world: World, state: Push.State) -> None:
    make_push(world, state, finished_at=now(world.ctx))
    assert pass_time(world, 10) == []
    pass_time(world, 30)
    assert world.state("open") == "REVERTED"


def test_an_entry_that_is_being_ended_in_the_background_is_left_to_that_job(world: World) -> None:
    start_replace(world.ctx, TABLE, [], ["c"], actor=ANN, entry_id="later")
    world.upload("c", online=False)
    heartbeat(world.ctx, TABLE, "later", ANN)
    request_end(world.ctx, TABLE, "later", actor=ANN)
    pass_time(world, 200)
    assert world.state("later") == "IN_PROGRESS"


def test_the_pass_runs_on_demand_by_its_name(world: World) -> None:
    heartbeat(world.ctx, TABLE, "open", ANN)
    pass_time(world, 50)
    world.now += 20_000
    assert any("Reverted" in s for s in passes.run_pass(world.ctx, "LineageReaper", TABLE, ANN))


def test_one_broken_lineage_does_not_stop_the_pass_over_all_tables(world: World) -> None:
    world.memory.create(paths.lineage("broken_OFFLINE"), entry_record_that_cannot_be_read())
    heartbeat(world.ctx, TABLE, "open", ANN)
    world.now += 50_000
    entry_reaper.run_all(world.ctx)
    world.now += 20_000
    assert any("Reverted lineage entry open" in s for s in entry_reaper.run_all(world.ctx))


def entry_record_that_cannot_be_read() -> Any:
    from segments.domain.formats.znrecord import ZNRecord

    return ZNRecord("broken_OFFLINE", lists={"e": ["", "x"]})


@pytest.fixture
def short(tmp_path: Path) -> World:
    """As ``world``, with a lease of 80 ms."""
    made = World(tmp_path / "store", limits=Limits(entry_lease_s=0.08)).upload("a")
    start_replace(made.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="open")
    return made


def leased(world: World) -> None:
    """Its client sent a first heartbeat."""
    note_entry(world.ctx, TABLE, "open", {LEASE: "true", HEARTBEAT: str(world.now)})


def test_an_end_that_waits_keeps_the_lease_of_its_client(short: World) -> None:
    leased(short)
    short.now += 1_000
    with kept_alive(short.ctx, TABLE, "open"):
        wait_until(lambda: entry(short).notes[HEARTBEAT] == str(short.now), 30)


def test_a_first_heartbeat_while_the_end_waits_already_is_followed_by_others(short: World) -> None:
    with kept_alive(short.ctx, TABLE, "open"):
        looked = threading.Event()
        counting = FaultyStore(short.memory)
        counting.get = lambda path: (looked.set(), short.memory.get(path))[1]  # type: ignore[method-assign]
        with kept_alive(short.with_store(counting), TABLE, "open"):
            assert looked.wait(30), "an entry without a lease is looked at as well"
        assert HEARTBEAT not in entry(short).notes
        leased(short)
        short.now += 1_000
        wait_until(lambda: entry(short).notes[HEARTBEAT] == str(short.now), 30)


def test_many_ends_that_wait_share_one_thread_and_each_keeps_its_own_entry(short: World) -> None:
    leased(short)
    before = sum(t.name == "waiting-ends" for t in threading.enumerate())
    with ExitStack() as waiting:
        for _ in range(20):
            waiting.enter_context(kept_alive(short.ctx, TABLE, "nobody's"))
        waiting.enter_context(kept_alive(short.ctx, TABLE, "open"))
        assert sum(t.name == "waiting-ends" for t in threading.enumerate()) == before + 1
        short.now += 1_000
        wait_until(lambda: entry(short).notes[HEARTBEAT] == str(short.now), 30)


@pytest.mark.parametrize("is_leased", [True, False])
def test_an_end_that_is_quick_reads_and_writes_no_sign_of_life(world: World, is_leased: bool) -> None:
    if is_leased:
        heartbeat(world.ctx, TABLE, "open", ANN)
    written = version(world)
    counting = FaultyStore(world.memory)
    reads: list[str] = []
    counting.get = lambda path: (reads.append(path), world.memory.get(path))[1]  # type: ignore[method-assign]
    with kept_alive(world.with_store(counting), TABLE, "open"):
        pass
    assert (version(world), reads) == (written, [])
    assert entry_lease.lease_terms(world.ctx, read_table_config(world.ctx, TABLE)).lease_ms == 40_000
