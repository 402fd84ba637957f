"""Pause, resume, force commit and repair cut after every write: asked again they end as if nothing had happened, and
nothing is doubled.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from segments.clusters.embedded.realtime.force_commit import keep_jobs
from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.realtime.llc_name import parse_llc_name
from segments.errors import PinotAdminError
from segments.services.core.context import Context
from segments.services.realtime import consumption
from segments.services.realtime.consuming_segments import StartFrom, ensure_consuming
from segments.services.realtime.force_commit import Wanted, force_commit, read_jobs
from segments.services.realtime.realtime_validation import keep_consumption
from segments.store import paths
from segments.store.base import Store
from segments.store.records.data_loss import read_data_loss
from tests.faults.faulty import every_interruption
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db


def fresh() -> RealtimeWorld:
    return RealtimeWorld(Path(tempfile.mkdtemp()))


def is_whole(world: RealtimeWorld) -> None:
    """Invariant: a record for every row and the other way round, never two segments of one (partition, sequence), at
    most one consuming.
    """
    assert world.records == sorted(world.ideal.maps)
    names = [parse_llc_name(s) for s in world.ideal.maps]
    assert max(Counter((n.partition, n.sequence) for n in names).values()) == 1
    assert max(Counter(parse_llc_name(s).partition for s in world.consuming).values(), default=0) <= 1


def interrupted(
    prepare: Callable[[RealtimeWorld], object], run: Callable[[Context], object], after: Callable[[RealtimeWorld], None]
) -> int:
    """Every (write, fault) of ``run`` in a world of its own; then ``after`` must find, or reach, the right end."""
    worlds: list[RealtimeWorld] = []

    def start() -> Store:
        world = fresh()
        prepare(world)
        worlds.append(world)
        return world.memory

    def go(store: Store) -> None:
        try:
            run(worlds[-1].over(store))
        except PinotAdminError:
            return

    count = 0
    for _ in every_interruption(start, go):
        is_whole(worlds[-1])
        after(worlds[-1])
        is_whole(worlds[-1])
        count += 1
    return count


def paused(world: RealtimeWorld) -> None:
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("9")


def test_a_pause_cut_anywhere_is_set_or_not_and_asking_again_sets_it() -> None:
    def after(world: RealtimeWorld) -> None:
        if world.pause.paused:
            keep_consumption(world.ctx)
            assert world.messages("Server_s_8098")
            assert world.messages("Server_s_8099")
        consumption.pause_table(world.ctx, TABLE, actor=ANN)
        world.commit("9")
        keep_consumption(world.ctx)
        assert world.consuming == []

    assert interrupted(lambda w: None, lambda ctx: consumption.pause_table(ctx, TABLE, actor=ANN), after) >= 15


@pytest.mark.parametrize("start", [StartFrom(), StartFrom("largest"), StartFrom("lastConsumed", {0: "11", 1: "12"})])
def test_a_resume_cut_anywhere_is_whole_and_asking_again_changes_no_start(start: StartFrom) -> None:
    def prepare(world: RealtimeWorld) -> None:
        paused(world)
        world.streams.topics["a"] = {0: [0, 20], 1: [0, 20]}

    def run(ctx: Context) -> None:
        consumption.resume_table(ctx, TABLE, start=start, comment="go", actor=ANN)

    def after(world: RealtimeWorld) -> None:
        assert len(world.consuming) == (0 if world.pause.paused else 2)
        run(world.ctx)
        expected = (
            {"lastConsumed": ["9", "9"], "largest": ["20", "20"]}[start.word] if not start.offsets else ["11", "12"]
        )
        assert [world.fields(s)["segment.realtime.startOffset"] for s in world.consuming] == expected

    assert interrupted(prepare, run, after) >= 5


def test_a_repair_cut_anywhere_is_done_by_the_next_pass() -> None:
    def after(world: RealtimeWorld) -> None:
        keep_consumption(world.ctx)
        assert len(world.consuming) == 2

    assert interrupted(lambda w: w.commit("9"), lambda ctx: ensure_consuming(ctx, TABLE), after) >= 5


def test_a_loss_of_data_is_on_record_as_soon_as_the_segment_behind_it_is() -> None:
    def prepare(world: RealtimeWorld) -> None:
        world.commit("9").streams.topics["a"] = {0: [15, 20], 1: [15, 20]}

    def after(world: RealtimeWorld) -> None:
        assert len(read_data_loss(world.memory, TABLE.typed)) == len(world.consuming)
        keep_consumption(world.ctx)
        assert [(x.start, x.end) for x in read_data_loss(world.memory, TABLE.typed)] == [("9", "15"), ("9", "15")]

    assert interrupted(prepare, lambda ctx: ensure_consuming(ctx, TABLE), after) >= 5


def test_a_force_commit_cut_anywhere_is_asked_for_again_when_its_job_is_on_record() -> None:
    def run(ctx: Context) -> None:
        force_commit(ctx, TABLE, Wanted(), BatchSettings(), actor=ANN)

    def after(world: RealtimeWorld) -> None:
        before = world.memory.get(paths.FORCE_COMMIT_JOBS)
        keep_jobs(world.ctx)
        if before is not None:
            assert all(len(world.messages(s)) == 1 for s in ("Server_s_8098", "Server_s_8099"))
        world.commit("9")
        keep_jobs(world.ctx)
        assert all(j.is_done for j in read_jobs(world.ctx))

    assert interrupted(lambda w: None, run, after) >= 15
