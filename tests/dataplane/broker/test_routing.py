"""The snapshot rule: lineage, ideal state, view, live servers, lineage again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from segments.dataplane.broker.acknowledgements import Acknowledgements
from segments.dataplane.broker.live_routing import LiveRouting
from segments.dataplane.broker.routing import Routing, ServerRef, build_routing, find_hosting, is_first_load, observe
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.lineage import Entry, Lineage, State, to_record
from segments.domain.segments.ideal_state import external_view, new_ideal_state, with_rows
from segments.errors import Conflict, RecordCorrupt
from segments.store import paths
from segments.store.base import Versioned
from segments.store.memory import MemoryStore

TABLE = "t_OFFLINE"
ME = "Server_h_1"
SERVERS = {ME: ServerRef(ME, "s", "http://h:1")}


def lineage_of(state: str) -> Any:
    """a -> b in this state."""
    return to_record(Lineage(TABLE, {"e": Entry("e", ("a",), ("b",), State(state), 1)}))


class Interrupted:
    """A store on which somebody writes between two reads of one snapshot: ``between`` is called before the n-th path is
    read.
    """

    def __init__(self, store: MemoryStore, at: int, between: Callable[[int], None]) -> None:
        self.store, self.at, self.between = store, at, between
        self.rounds = 0

    def get_many(self, wanted: Sequence[str]) -> list[Versioned | None]:
        """As the store, with the interruption."""
        self.rounds += 1
        found = []
        for position, path in enumerate(wanted):
            if position == self.at:
                self.between(self.rounds)
            found.append(self.store.get(path))
        return found


@pytest.fixture
def store() -> Any:
    """a and b are there and served; a -> b is in progress: a is visible."""
    made = MemoryStore()
    row = {ME: "ONLINE"}
    ideal = with_rows(new_ideal_state(TABLE, 1), {"a": row, "b": row})
    made.create(paths.ideal_state(TABLE), ideal)
    made.create(paths.external_view(TABLE), external_view(ideal, {"a": row, "b": row}))
    made.create(paths.live_instance(ME), None)
    made.create(paths.lineage(TABLE), lineage_of("IN_PROGRESS"))
    yield made
    made.close()


def visible(store: Any) -> tuple[str, ...]:
    """What a query would see."""
    seen = observe(store, TABLE, SERVERS)
    assert seen is not None
    return build_routing(seen, find_hosting(seen, SERVERS)).visible


@pytest.mark.parametrize("at", range(1, 7))
def test_a_lineage_that_changes_between_the_reads_is_read_again(store: MemoryStore, at: int) -> None:
    """The end of a replacement AND the deletion of the old segment fall between two reads: mixing would show nothing or
    too little.
    """

    def end(round_: int) -> None:
        if round_ == 1:
            store.replace(paths.lineage(TABLE), lineage_of("COMPLETED"), 0)
            store.replace(paths.ideal_state(TABLE), with_rows(new_ideal_state(TABLE, 1), {"b": {ME: "ONLINE"}}), 0)

    interrupted = Interrupted(store, at, end)
    assert visible(interrupted) == ("b",)
    assert interrupted.rounds == 2


def test_a_lineage_that_never_rests_is_a_conflict_not_a_guess(store: MemoryStore) -> None:
    def flip(round_: int) -> None:
        store.replace(paths.lineage(TABLE), lineage_of("COMPLETED" if round_ % 2 else "REVERTED"), round_ - 1)

    with pytest.raises(Conflict):
        visible(Interrupted(store, 2, flip))


def test_a_lineage_that_appears_or_goes_between_the_reads_is_read_again(store: MemoryStore) -> None:
    store.delete(paths.lineage(TABLE))

    def appear(round_: int) -> None:
        if round_ == 1:
            store.create(paths.lineage(TABLE), lineage_of("COMPLETED"))

    assert visible(Interrupted(store, 1, appear)) == ("b",)

    def go(round_: int) -> None:
        if round_ == 1:
            store.delete(paths.lineage(TABLE))

    assert visible(Interrupted(store, 1, go)) == ("a", "b")


def test_a_lineage_that_is_replaced_by_an_equal_looking_one_is_read_again(store: MemoryStore) -> None:
    """Deleted and made again it has version 0 once more; only the zxid differs."""

    def again(round_: int) -> None:
        if round_ == 1:
            store.delete(paths.lineage(TABLE))
            store.create(paths.lineage(TABLE), lineage_of("COMPLETED"))

    assert visible(Interrupted(store, 1, again)) == ("b",)


def test_a_damaged_lineage_is_not_taken_for_none(store: MemoryStore) -> None:
    store.put_raw(paths.lineage(TABLE), b"no record")
    with pytest.raises(RecordCorrupt):
        observe(store, TABLE, SERVERS)


def unserved(routing: Routing) -> list[str]:
    """What a query would need and nobody serves."""
    return [s for s in routing.wanted if not routing.replicas.get(s)]


def test_dead_servers_and_rows_that_left_the_ideal_state_are_not_asked(store: MemoryStore) -> None:
    seen = observe(store, TABLE, SERVERS)
    assert seen is not None
    assert build_routing(seen, find_hosting(seen, SERVERS)).replicas == {"a": (SERVERS[ME],), "b": (SERVERS[ME],)}
    store.delete(paths.live_instance(ME))
    seen = observe(store, TABLE, SERVERS)
    assert seen is not None
    assert unserved(build_routing(seen, find_hosting(seen, SERVERS))) == ["a"]
    assert observe(store, "other_OFFLINE", SERVERS) is None


def test_only_a_new_segment_on_its_way_is_left_out(store: MemoryStore) -> None:
    ideal = with_rows(
        new_ideal_state(TABLE, 1), {s: {ME: "ONLINE"} for s in "abnxy"} | {"d": {"Server_dead_1": "ONLINE"}}
    )
    store.replace(paths.ideal_state(TABLE), ideal, 0)
    states = {"a": {ME: "ONLINE"}, "x": {ME: "ERROR"}}
    store.replace(paths.external_view(TABLE), external_view(ideal, states), 0)
    seen = observe(store, TABLE, SERVERS)
    assert seen is not None
    loading = [s for s in seen.ideal if is_first_load(seen, s, served_before={"y"})]
    assert loading == ["n"]
    routing = build_routing(seen, find_hosting(seen, SERVERS), loading)
    assert unserved(routing) == ["d", "x", "y"]
    assert routing.wanted == ["a", "d", "x", "y"]


def test_where_segments_are_is_found_again_only_when_records_or_servers_changed(store: MemoryStore) -> None:
    seen = observe(store, TABLE, SERVERS)
    assert seen is not None
    first = find_hosting(seen, SERVERS)
    assert find_hosting(seen, SERVERS, first) is first
    assert find_hosting(seen, {}, first).replicas == {"a": (), "b": ()}
    assert find_hosting(dataclasses.replace(seen, view={**seen.view}), SERVERS, first) is not first
    assert find_hosting(dataclasses.replace(seen, live=frozenset()), SERVERS, first).replicas == {"a": (), "b": ()}


def test_of_new_segments_only_those_that_were_consumed_are_missing_before_they_are_loaded(store: MemoryStore) -> None:
    table = "r_REALTIME"
    pushed, consumed, growing = (f"r__0__{n}__20260101T0000Z" for n in range(3))
    rows = {s: {ME: "ONLINE"} for s in ("plain", pushed, consumed)} | {growing: {ME: "CONSUMING"}}
    store.create(paths.ideal_state(table), with_rows(new_ideal_state(table, 1), rows))
    store.create(paths.segment(table, pushed), ZNRecord(pushed, {"segment.crc": "1"}))
    store.create(paths.segment(table, consumed), ZNRecord(consumed, {"segment.realtime.endOffset": "7"}))
    seen = observe(store, table, SERVERS)
    assert seen is not None
    live = LiveRouting(store, Acknowledgements(store, "b"), lambda _: None)
    assert live._consumed_before(seen, dict.fromkeys(rows, 1.0)) == set()
    assert live._consumed_before(seen, dict.fromkeys(rows, 3.0)) == {consumed}
