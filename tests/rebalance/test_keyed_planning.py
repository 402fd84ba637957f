"""Partitions of tables in which a primary key has one row move whole: the steps, and every cut between their writes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from segments.clusters.embedded.rebalance import keeping
from segments.clusters.embedded.rebalance.jobs import advance
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import parse_llc_name, partition_stem
from segments.domain.rebalance.job import Job, Jobs, Size, Status, Who, jobs_of
from segments.domain.rebalance.options import Options
from segments.domain.rebalance.step import next_step, stopped, waiting_for
from segments.domain.rebalance.target import Placement, moves, targets
from segments.domain.segments.ideal_state import external_view, with_rows
from segments.errors import PinotAdminError, StateConflict
from segments.services.rebalance import rebalance
from segments.services.rebalance.job_records import read_jobs
from segments.services.tables import schemas
from segments.store import paths
from segments.store.base import Store
from segments.store.records.instances import join
from segments.store.update import update_record
from tests.faults.faulty import every_interruption
from tests.services.realtime_world import ANN, SCHEMA, TABLE, RealtimeWorld

A, B, C, D = (f"Server_{name}_1" for name in "abcd")
#: Partition 0 goes from A and B to C and D, partition 1 stays.
PLACEMENT = Placement("t_REALTIME", 2, (A, B, C, D), (C, D, A, B), by_partition=True, whole_partitions=True)
OLD, NEW = {A, B}, {C, D}
Rows = dict[str, dict[str, str]]


def name(partition: int, sequence: int) -> str:
    """A segment's name."""
    return f"t__{partition}__{sequence}__20260801T1000Z"


def rows(committed: int = 3) -> Rows:
    """Two partitions on A and B, each with so many committed segments and one that consumes."""
    states = ["ONLINE"] * committed + ["CONSUMING"]
    return {name(p, n): {A: state, B: state} for p in range(2) for n, state in enumerate(states)}


def of_first(ideal: ZNRecord) -> Rows:
    """The rows of partition 0."""
    return {s: dict(row) for s, row in ideal.maps.items() if partition_stem(s) == "t__0"}


def begun(given: Rows, options: Options = Options(), **more: object) -> Job:  # noqa: B008  frozen
    """A job that has taken no step."""
    moved = moves(targets(PLACEMENT, given, include_consuming=False), given)
    size = Size(2 * len(moved), 2 * len(moved), len(moved))
    return Job("j", "t_REALTIME", Who("ann", "why"), 1, 1, options, PLACEMENT, size, **more)  # type: ignore[arg-type]


def all_serve(ideal: ZNRecord) -> dict[str, set[str]]:
    """Every server serves what it should."""
    return {s: set(row) for s, row in ideal.maps.items()}


def test_all_segments_of_a_partition_go_in_one_write_and_land_in_one_when_the_new_servers_serve_them_all() -> None:
    ideal = ZNRecord("t_REALTIME", maps=rows())
    first = next_step(begun(rows()), ideal, {}, 2)
    assert first is not None
    assert all(set(row) == OLD | NEW for row in of_first(first.ideal).values())
    assert set(first.ideal.maps[name(0, 3)].values()) == {"CONSUMING"}
    assert {s: row for s, row in first.ideal.maps.items() if s.startswith("t__1")} == {
        s: row for s, row in rows().items() if s.startswith("t__1")
    }
    serving = all_serve(first.ideal)
    for lacking in of_first(first.ideal):
        short = {**serving, lacking: OLD | {C}}
        assert next_step(first.job, first.ideal, short, 3) is None, lacking
        assert waiting_for(first.job, first.ideal, short) == {lacking: [D]}
    landed = next_step(first.job, first.ideal, serving, 3)
    assert landed is not None
    assert all(set(row) == NEW for row in of_first(landed.ideal).values())
    assert (landed.job.status, landed.job.done) == (Status.DONE, Size(8, 8, 4))


def test_what_is_committed_on_the_way_lands_with_its_partition() -> None:
    first = next_step(begun(rows()), ZNRecord("t_REALTIME", maps=rows()), {}, 2)
    assert first is not None
    everywhere = OLD | NEW
    grown = with_rows(first.ideal, {name(0, 3): dict.fromkeys(everywhere, "ONLINE")})
    grown = with_rows(grown, {name(0, 4): dict.fromkeys(everywhere, "CONSUMING")})
    assert next_step(first.job, grown, {**all_serve(grown), name(0, 4): OLD}, 3) is None
    landed = next_step(first.job, grown, all_serve(grown), 3)
    assert landed is not None
    assert all(set(row) == NEW for row in of_first(landed.ideal).values())


@pytest.mark.parametrize("is_grown", [False, True])
def test_a_stop_brings_the_whole_partition_back_with_what_was_committed_meanwhile(is_grown: bool) -> None:
    first = next_step(begun(rows()), ZNRecord("t_REALTIME", maps=rows()), {}, 2)
    assert first is not None
    ideal = first.ideal
    if is_grown:
        ideal = with_rows(ideal, {name(0, 4): dict.fromkeys(OLD | NEW, "CONSUMING")})
    serving = {**all_serve(ideal), name(0, 2): OLD}
    ended = stopped(first.job, ideal, serving, Status.CANCELLED, "why", 3)
    assert all(set(row) == OLD for row in of_first(ended.ideal).values())
    assert ended.job.in_flight == {}


def test_fewer_available_replicas_are_counted_by_servers_of_the_whole_partition() -> None:
    """Two servers that each serve half of a partition are no replica of it."""
    first = next_step(begun(rows(), Options(min_available=1)), ZNRecord("t_REALTIME", maps=rows()), {}, 2)
    assert first is not None
    halves = {s: OLD | ({C} if n % 2 else {D}) for n, s in enumerate(of_first(first.ideal))}
    assert next_step(first.job, first.ideal, halves, 3) is None
    landed = next_step(first.job, first.ideal, {s: {A, B, C} for s in halves}, 3)
    assert landed is not None
    assert all(set(row) == NEW for row in of_first(landed.ideal).values())


def test_a_partition_larger_than_any_limit_goes_whole() -> None:
    large = rows(committed=400)
    options = Options(batch_per_server=3)
    first = next_step(begun(large, options), ZNRecord("t_REALTIME", maps=large), {}, 2)
    assert first is not None
    assert all(set(row) == OLD | NEW for row in of_first(first.ideal).values())
    assert list(first.job.in_flight) == ["t__0"]


def test_what_consumes_is_committed_first_when_asked_and_its_partition_waits_for_that() -> None:
    job = begun(rows(), Options(force_commit=True), commits=(name(0, 3),))
    ideal = ZNRecord("t_REALTIME", maps=rows())
    assert next_step(job, ideal, {}, 2) is None
    committed = with_rows(
        ideal, {name(0, 3): dict.fromkeys(OLD, "ONLINE"), name(0, 4): dict.fromkeys(OLD, "CONSUMING")}
    )
    step = next_step(job, committed, {}, 3)
    assert step is not None
    assert all(set(row) == OLD | NEW for row in of_first(step.ideal).values())


def test_what_is_switched_off_moves_along_and_a_partition_that_is_so_in_part_is_refused() -> None:
    off = {**rows(), name(0, 3): {A: "OFFLINE", B: "OFFLINE"}}
    first = next_step(begun(off), ZNRecord("t_REALTIME", maps=off), {}, 2)
    assert first is not None
    assert set(first.ideal.maps[name(0, 3)].values()) == {"OFFLINE"}
    serving = {s: row for s, row in all_serve(first.ideal).items() if s != name(0, 3)}
    landed = next_step(first.job, first.ideal, serving, 3)
    assert landed is not None
    assert landed.ideal.maps[name(0, 3)] == dict.fromkeys(NEW, "OFFLINE")
    part = {**rows(), name(0, 3): {A: "OFFLINE", B: "CONSUMING"}}
    with pytest.raises(StateConflict, match="switched off on some of its servers"):
        targets(PLACEMENT, part, include_consuming=True)


def test_a_record_reads_as_it_was_written_also_one_without_a_number_of_segments() -> None:
    first = next_step(begun(rows()), ZNRecord("t_REALTIME", maps=rows()), {}, 2)
    assert first is not None
    jobs = Jobs("t_REALTIME").having(first.job)
    body = jobs.to_json()
    assert jobs_of("t_REALTIME", body) == jobs
    body[0]["inFlight"] = {unit: flight[:2] for unit, flight in body[0]["inFlight"].items()}
    (old,) = jobs_of("t_REALTIME", body).jobs
    assert old.in_flight["t__0"].segments == 1


class KeyedSpread(RealtimeWorld):
    """A table of two partitions on two servers, to which two more came; ``serve`` has servers do what they should."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, create=False)
        schemas.create_schema(self.ctx, {**SCHEMA, "primaryKeyColumns": ["id"]}, override=True, actor=ANN)
        routing = {"instanceSelectorType": "strictReplicaGroup"}
        self.create(upsertConfig={"mode": "FULL"}, routing=routing)
        self.before = {i for row in self.ideal.maps.values() for i in row}
        self.serve()
        for port in (8100, 8101):
            join(self.memory, f"Server_s_{port}", "s", port, ["DefaultTenant_REALTIME"])

    def serve(self, count: int = 1000) -> None:
        """Servers drop what they should, and load so many replicas that they lack."""
        view, served = self.view, {}
        for segment, row in self.ideal.maps.items():
            served[segment] = {}
            for instance, state in row.items():
                is_new = instance not in view.get(segment, {})
                count -= is_new
                if not is_new or count >= 0:
                    served[segment][instance] = state
        path = paths.external_view(TABLE.typed)
        update_record(self.memory, path, lambda _: external_view(self.ideal, served))

    @property
    def view(self) -> Mapping[str, Mapping[str, str]]:
        node = self.memory.get(paths.external_view(TABLE.typed))
        return node.record.maps if node is not None and node.record is not None else {}

    def commit(self) -> None:
        """Each partition's newest segment is committed; the next one is where that is, and served where that is."""
        newest = {s: row for s, row in self.ideal.maps.items() if "CONSUMING" in row.values()}
        after = {s: parse_llc_name(s).next(self.now).text for s in newest}

        def decide(_: object) -> ZNRecord:
            committed = {s: dict.fromkeys(row, "ONLINE") for s, row in newest.items()}
            return with_rows(self.ideal, committed | {after[s]: dict(row) for s, row in newest.items()})

        update_record(self.memory, paths.ideal_state(TABLE.typed), decide)
        view = {**self.view, **{after[s]: self.view[s] for s in newest}}
        update_record(self.memory, paths.external_view(TABLE.typed), lambda _: external_view(self.ideal, view))

    def is_whole(self) -> None:
        """Each partition is on the same servers, and two of them serve all of it."""
        stems = {partition_stem(s) for s in self.ideal.maps}
        for stem in stems:
            own = {s: row for s, row in self.ideal.maps.items() if partition_stem(s) == stem}
            assert len({frozenset(row) for row in own.values()}) == 1, own
            serving = [i for i in next(iter(own.values())) if all(i in self.view[s] for s in own)]
            assert len(serving) >= 2, (own, self.view)

    def finish(self) -> None:
        """Servers and the pass take turns until the rebalance is over."""
        for _ in range(100):
            rebalance.keep(self.ctx)
            newest = read_jobs(self.ctx, TABLE).newest
            if newest is None or not newest.is_open:
                return
            self.serve()
        raise AssertionError("the rebalance does not end")

    def try_over(self, store: Store, *, is_stopped: bool) -> None:
        """Rebalance over a store that may fail; on the way segments are committed, and the job may be stopped."""
        ctx = self.over(store)
        try:
            rebalance.start(ctx, TABLE, Options(), actor=ANN)
            for turn in range(4):
                advance(ctx, TABLE)
                self.is_whole()
                if turn == 1:
                    self.commit()
                if turn == 2 and is_stopped:
                    rebalance.stop(ctx, TABLE, actor=ANN)
                self.serve(3)
                self.is_whole()
        except PinotAdminError:
            return

    def ends_balanced(self) -> None:
        """Whatever was left behind is carried on, or begun again, to the same end."""
        self.is_whole()
        self.finish()
        self.is_whole()
        newest = read_jobs(self.ctx, TABLE).newest
        if newest is None or newest.status is not Status.DONE:
            assert newest is None or newest.status is Status.CANCELLED
            rebalance.start(self.ctx, TABLE, Options(), actor=ANN)
            self.finish()
            self.is_whole()
        assert len({i for row in self.ideal.maps.values() for i in row}) == 4
        assert all(len(row) == 2 for row in self.ideal.maps.values())


@pytest.mark.django_db
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_rebalance_of_partitions_that_is_cut_anywhere_never_parts_one(
    monkeypatch: pytest.MonkeyPatch, is_stopped: bool
) -> None:
    monkeypatch.setattr(keeping, "_QUIET_S", 0.0)
    worlds: list[KeyedSpread] = []

    def start() -> Store:
        worlds.append(KeyedSpread(Path(tempfile.mkdtemp())))
        worlds[-1].commit()
        worlds[-1].serve()
        return worlds[-1].memory

    count = 0
    for _ in every_interruption(start, lambda store: worlds[-1].try_over(store, is_stopped=is_stopped)):
        worlds[-1].ends_balanced()
        count += 1
    assert count >= 8
