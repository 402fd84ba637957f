"""A rebalance cut after, before and in the middle of every write: others carry it on to the same end, and no segment is
ever served by fewer replicas than before.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from segments.clusters.embedded.rebalance import keeping
from segments.clusters.embedded.rebalance.jobs import advance
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.errors import PinotAdminError
from segments.services.rebalance import rebalance
from segments.store.base import Store
from tests.faults.faulty import every_interruption
from tests.rebalance.spread import A, B, C, Spread
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


def is_served(world: Spread) -> None:
    """Every segment is served by two servers that the ideal state names."""
    assert all(len(world.served(s) & set(row)) >= 2 for s, row in world.record.maps.items())


def test_a_rebalance_that_is_cut_anywhere_is_carried_on_and_never_short_of_replicas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)
    worlds: list[Spread] = []

    def start() -> Store:
        worlds.append(Spread(Path(tempfile.mkdtemp()), 6))
        return worlds[-1].memory

    def run(store: Store) -> None:
        world, ctx = worlds[-1], worlds[-1].with_store(store)
        try:
            rebalance.start(ctx, TABLE, Options(), actor=ANN)
            for _ in range(4):
                advance(ctx, TABLE)
                is_served(world)
                world.serve_some(2)
                is_served(world)
        except PinotAdminError:
            return

    count = 0
    for _ in every_interruption(start, run):
        world = worlds[-1]
        is_served(world)
        if world.newest() is None:
            rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
        world.finish()
        is_served(world)
        job = world.newest()
        assert job is not None
        assert (job.status, job.done.added) == (Status.DONE, 4)
        assert world.load == {A: 4, B: 4, C: 4}
        count += 1
    assert count >= 20


def test_a_stop_that_is_cut_anywhere_leaves_a_state_to_stay_in_or_to_go_on_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)
    worlds: list[Spread] = []

    def start() -> Store:
        world = Spread(Path(tempfile.mkdtemp()), 6)
        rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
        advance(world.ctx, TABLE)
        world.serve_some(2)
        worlds.append(world)
        return world.memory

    def run(store: Store) -> None:
        try:
            rebalance.stop(worlds[-1].with_store(store), TABLE, actor=ANN)
        except PinotAdminError:
            return

    for _ in every_interruption(start, run):
        world = worlds[-1]
        is_served(world)
        rebalance.stop(world.ctx, TABLE, actor=ANN)
        is_served(world)
        job = world.newest()
        assert job is not None
        assert (job.status, job.in_flight) == (Status.CANCELLED, {})
        assert all(len(row) == 2 for row in world.record.maps.values())
