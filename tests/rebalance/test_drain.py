"""A drain ends with nothing left on the server, on every kind of cluster; what cannot go is named, and it is undone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.rebalance import keeping
from segments.clusters.pinot import calls as pinot_calls
from segments.domain.rebalance.drain import UNTAGGED, Phase, drain_of
from segments.domain.rebalance.options import Options
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict
from segments.models import AuditEvent
from segments.services.clusters import instances
from segments.services.core.context import Context
from segments.services.rebalance import drain, rebalance
from segments.services.rebalance.drain_record import find_drain
from segments.store import paths
from segments.store.base import Store
from segments.store.records.instances import join
from tests.faults.faulty import every_interruption
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.rebalance.draining import TAGS, Tagged
from tests.rebalance.spread import A, B, C
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinot_calls, "_PAUSE_S", 0.0)
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)


@pytest.fixture(params=["embedded", "0.11.0", "1.2.0", "1.5.1"])
def kind(request: Any, tmp_path: Path) -> tuple[Context, Tagged]:
    """The context that drives the cluster, and what it holds."""
    inside = Tagged(tmp_path / "inside")
    if request.param == "embedded":
        return inside.ctx, inside
    return PinotCluster(tmp_path, inside=inside, version=request.param).ctx, inside


def turn(ctx: Context, inside: Tagged) -> None:
    """The pass of who drives it, what the cluster itself does, and its servers."""
    drain.keep(ctx)
    rebalance.keep(inside.ctx)
    inside.serve()
    inside.now += 5_000


def finish(ctx: Context, inside: Tagged, server: str) -> drain.Outlook:
    for _ in range(50):
        turn(ctx, inside)
        found = drain.outlook_of(ctx, server)
        if found.drain is None or not found.drain.is_at_work:
            return found
    raise AssertionError(f"the drain does not end: {drain.outlook_of(ctx, server)}")


def test_all_that_a_server_holds_moves_to_others_and_nothing_new_comes_to_it(kind: tuple[Context, Tagged]) -> None:
    ctx, inside = kind
    before = drain.outlook_of(ctx, A)
    assert (before.left, before.drain, before.refusals) == (12, None, {})
    begun = drain.start(ctx, A, actor=ANN)
    assert begun.drain is not None
    assert (begun.drain.phase, begun.percent, inside.tags(A)) == (Phase.DRAINING, 0, (UNTAGGED,))
    while drain.outlook_of(ctx, A).left:
        turn(ctx, inside)
        assert all(len(inside.served(s)) >= 2 for s in inside.names)
    done = finish(ctx, inside, A)
    assert done.drain is not None
    assert (done.drain.phase, done.left, done.percent) == (Phase.DRAINED, 0, 100)
    assert inside.load == {B: 12, C: 12}
    assert drain.start(ctx, A, actor=ANN).drain == done.drain


def test_it_gets_its_tags_back_and_the_next_rebalance_uses_it(kind: tuple[Context, Tagged]) -> None:
    ctx, inside = kind
    drain.start(ctx, A, actor=ANN)
    finish(ctx, inside, A)
    assert drain.undo(ctx, A, actor=ANN) == []
    assert (inside.tags(A), drain.outlook_of(ctx, A).drain) == (TAGS, None)
    assert rebalance.preview(ctx, TABLE, Options()).plan.loads == {A: 8}
    with pytest.raises(NotFound, match="is not drained"):
        drain.undo(ctx, A, actor=ANN)
    found = AuditEvent.objects.filter(cluster=ctx.cluster, action__contains="drainInstance").order_by("pk")
    assert [e.outcome for e in found] == ["done", "done", "refused"]


def test_a_table_that_cannot_do_without_the_server_is_named_and_nothing_is_begun(kind: tuple[Context, Tagged]) -> None:
    ctx, inside = kind
    inside.stop_server(C)
    why = f"without '{A}' only 1 enabled server with the tag 'DefaultTenant_OFFLINE' would be alive"
    (refusal,) = drain.outlook_of(ctx, A).refusals.values()
    assert why in refusal
    with pytest.raises(StateConflict, match=why):
        drain.start(ctx, A, actor=ANN)
    assert (inside.tags(A), find_drain(ctx, A)) == (TAGS, None)


def test_who_holds_no_segments_or_is_not_known_is_not_drained(kind: tuple[Context, Tagged]) -> None:
    ctx, inside = kind
    join(inside.memory, "Broker_h_8099", "h", 8099, ["DefaultTenant_BROKER"])
    with pytest.raises(InvalidInput, match="is not a server"):
        drain.start(ctx, "Broker_h_8099", actor=ANN)
    with pytest.raises(NotFound):
        drain.start(ctx, "Server_nobody_1", actor=ANN)


@pytest.fixture
def world(tmp_path: Path) -> Tagged:
    return Tagged(tmp_path)


def test_a_server_that_is_gone_for_good_is_drained_and_forgotten(world: Tagged) -> None:
    world.stop_server(A)
    with pytest.raises(StateConflict) as refused:
        instances.drop_instance(world.ctx, A, actor=ANN)
    assert "Drain it first" in refused.value.remedy
    drain.start(world.ctx, A, actor=ANN)
    world.move_on()
    assert world.load == {B: 12, C: 12}
    instances.drop_instance(world.ctx, A, actor=ANN)
    assert find_drain(world.ctx, A) is None


def test_a_rebalance_of_somebody_else_is_waited_for(world: Tagged) -> None:
    rebalance.start(world.ctx, TABLE, Options(), actor=ANN)
    drain.start(world.ctx, A, actor=ANN)
    found = find_drain(world.ctx, A)
    assert found is not None
    assert "begun by ann, runs first" in found.problems[TABLE.typed]
    world.move_on()
    assert world.load == {B: 12, C: 12}


def test_an_undo_on_the_way_stops_what_the_drain_began_and_every_segment_stays_served(world: Tagged) -> None:
    drain.start(world.ctx, A, actor=ANN)
    rebalance.keep(world.ctx)
    world.serve_some(3)
    assert drain.undo(world.ctx, A, actor=ANN) == [TABLE.typed]
    assert all(len(world.served(s) & set(row)) >= 2 for s, row in world.record.maps.items())
    assert (world.tags(A), find_drain(world.ctx, A)) == (TAGS, None)


def test_what_is_switched_off_on_the_server_is_named_and_goes_once_it_is_repaired(world: Tagged) -> None:
    rows = {name: dict(row) for name, row in world.record.maps.items()}
    world.place({**rows, "s00": {A: "OFFLINE", B: "OFFLINE"}})
    drain.start(world.ctx, A, actor=ANN)
    for _ in range(10):
        turn(world.ctx, world)
        world.now += 15_000
    found = drain.outlook_of(world.ctx, A)
    assert found.drain is not None
    assert (found.left, found.percent, found.drain.phase) == (1, 91, Phase.DRAINING)
    assert "1 are switched off on it" in found.drain.problems[TABLE.typed]
    world.place({**world.record.maps, "s00": {A: "ONLINE", B: "ONLINE"}})
    world.now += 15_000
    world.move_on()
    assert A not in world.load


def test_a_server_that_lost_its_tags_again_to_somebody_keeps_none_while_it_is_drained(world: Tagged) -> None:
    drain.start(world.ctx, A, actor=ANN)
    world.ctx.engine.instances.set_instance_tags(world.ctx, A, list(TAGS))
    world.move_on()
    assert (world.tags(A), A in world.load) == ((UNTAGGED,), False)


def test_a_segment_that_was_placed_before_the_tags_went_is_moved_after_the_end(world: Tagged) -> None:
    drain.start(world.ctx, A, actor=ANN)
    world.move_on()
    world.place({**world.record.maps, "late": {A: "ONLINE", B: "ONLINE"}})
    world.serve()
    drain.keep(world.ctx)
    assert drain.outlook_of(world.ctx, A).left == 1
    world.move_on()
    assert A not in world.load


def test_a_drain_that_is_cut_anywhere_ends_with_nothing_left_and_never_short_of_replicas(tmp_path: Path) -> None:
    worlds: list[Tagged] = []

    def begin() -> Store:
        worlds.append(Tagged(Path(tempfile.mkdtemp(dir=tmp_path)), 4))
        return worlds[-1].memory

    def run(store: Store) -> None:
        world, ctx = worlds[-1], worlds[-1].with_store(store)
        try:
            drain.start(ctx, A, actor=ANN)
            for _ in range(4):
                drain.keep(ctx)
                rebalance.keep(ctx)
                world.serve()
        except PinotAdminError:
            return

    count = 0
    for _ in every_interruption(begin, run):
        world = worlds[-1]
        assert all(len(world.served(s) & set(row)) >= 2 for s, row in world.record.maps.items())
        drain.start(world.ctx, A, actor=ANN)
        world.move_on()
        assert (world.load, world.tags(A)) == ({B: 4, C: 4}, (UNTAGGED,))
        count += 1
    assert count >= 20


def test_an_undo_that_is_cut_anywhere_is_carried_on_by_the_pass(tmp_path: Path) -> None:
    worlds: list[Tagged] = []

    def begin() -> Store:
        worlds.append(Tagged(Path(tempfile.mkdtemp(dir=tmp_path)), 4))
        drain.start(worlds[-1].ctx, A, actor=ANN)
        rebalance.keep(worlds[-1].ctx)
        return worlds[-1].memory

    def run(store: Store) -> None:
        try:
            drain.undo(worlds[-1].with_store(store), A, actor=ANN)
        except PinotAdminError:
            return

    for _ in every_interruption(begin, run):
        world = worlds[-1]
        drain.keep(world.ctx)
        if find_drain(world.ctx, A) is not None:  # the cut came before anything was on record
            drain.undo(world.ctx, A, actor=ANN)
        assert (world.tags(A), find_drain(world.ctx, A)) == (TAGS, None)
        assert all(len(world.served(s) & set(row)) >= 2 for s, row in world.record.maps.items())


def test_a_record_reads_as_it_was_written(world: Tagged) -> None:
    drain.start(world.ctx, A, commits=False, min_available=-1, actor=ANN)
    found = find_drain(world.ctx, A)
    assert found is not None
    assert drain_of(A, found.to_json()) == found
    assert world.memory.get(paths.drain(A)) is not None
