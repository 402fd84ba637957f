"""The compare-and-set loop under conflicts, races, lost replies and deaths."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown, StateConflict, Unavailable
from segments.store.base import Check, Create, Delete, Replace, Store, Versioned
from segments.store.memory import MemoryStore
from segments.store.update import RetryPolicy, update_record, update_transaction
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan, every_interruption


@dataclass
class FakeTime:
    now: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def policy(self, **changes: object) -> RetryPolicy:
        return RetryPolicy(sleep=self.sleep, random=lambda: 1.0, clock=lambda: self.now, **changes)  # type: ignore[arg-type] # test shorthand


def appending(entry: str):
    """A decision with a stable id: it finds its own trace (rule 6)."""

    def decide(found: Versioned | None) -> ZNRecord | None:
        entries = found.record.lists["entries"] if found and found.record else []
        return None if entry in entries else ZNRecord("r", lists={"entries": [*entries, entry]})

    return decide


def entries(store: Store, path: str = "/r") -> list[str]:
    found = store.get(path)
    assert found is not None
    assert found.record is not None
    return found.record.lists["entries"]


def test_a_missing_znode_is_created_and_an_existing_one_replaced_on_its_version():
    store = MemoryStore()
    first = update_record(store, "/r", appending("a"))
    second = update_record(store, "/r", appending("b"))
    assert (first.before, first.after.version, second.after.version) == (None, 0, 1)
    assert entries(store) == ["a", "b"]


def test_an_equal_record_or_none_is_not_written():
    store = FaultyStore(MemoryStore())
    update_record(store, "/r", appending("a"))
    again = update_record(store, "/r", appending("a"))
    equal = update_record(store, "/r", lambda found: found.record)
    assert not again.changed
    assert not equal.changed
    assert len(store.writes) == 1


def test_each_attempt_decides_on_a_fresh_read():
    inner = MemoryStore()
    update_record(inner, "/r", appending("a"))
    race = {n: lambda n=n: update_record(inner, "/r", appending(f"other{n}")) for n in (1, 2, 3)}
    done = update_record(FaultyStore(inner, Plan(before=race)), "/r", appending("b"), policy=FakeTime().policy())
    assert done.attempts == 4
    assert entries(inner) == ["a", "other1", "other2", "other3", "b"]


def test_a_race_for_a_missing_znode_is_lost_and_decided_again():
    inner = MemoryStore()
    store = FaultyStore(inner, Plan(before={1: lambda: update_record(inner, "/r", appending("other"))}))
    assert update_record(store, "/r", appending("mine")).attempts == 2
    assert entries(inner) == ["other", "mine"]


def test_a_write_that_landed_but_whose_reply_was_lost_is_not_applied_twice():
    store = FaultyStore(MemoryStore(), Plan({1: Fault.LOST_AFTER, 2: Fault.LOST_AFTER}))
    count = lambda found: ZNRecord("r", {"n": str(int(found.record.simple["n"]) + 1 if found else 1)})  # noqa: E731 # a decision without a trace
    for _ in range(2):
        assert update_record(store, "/r", count, policy=FakeTime().policy()).changed
    assert store.get("/r").record.simple["n"] == "2"
    assert len(store.writes) == 2


def test_a_write_that_was_lost_on_its_way_is_sent_again():
    store = FaultyStore(MemoryStore(), Plan({1: Fault.LOST_BEFORE}))
    assert update_record(store, "/r", appending("a"), policy=FakeTime().policy()).changed
    assert entries(store) == ["a"]


def test_a_lost_reply_overwritten_by_others_is_decided_again():
    inner = MemoryStore()
    store = FaultyStore(inner, Plan({1: Fault.LOST_AFTER}))
    policy = RetryPolicy(sleep=lambda _: update_record(inner, "/r", appending("other")))
    assert not update_record(store, "/r", appending("mine"), policy=policy).changed
    assert entries(inner) == ["mine", "other"]


def test_what_the_decision_raises_ends_the_loop_at_once():
    inner, calls = MemoryStore(), []

    def refuse(found: Versioned | None) -> ZNRecord:
        calls.append(found)
        raise StateConflict("No.")

    with pytest.raises(StateConflict):
        update_record(inner, "/r", refuse)
    assert calls == [None]


def test_a_conflict_that_never_ends_is_reported_after_the_last_attempt():
    time = FakeTime()
    store = FaultyStore(MemoryStore(), Plan(dict.fromkeys(range(1, 100), Fault.CONFLICT)))
    with pytest.raises(Conflict, match=r"/r changed under each of 25 attempts"):
        update_record(store, "/r", appending("a"), policy=time.policy(attempts=25))
    assert len(store.writes) == 25
    assert time.pauses[:4] == [0.0, 0.004, 0.008, 0.016]
    assert max(time.pauses) == 0.25


def test_the_deadline_ends_it_too():
    time = FakeTime()
    store = FaultyStore(MemoryStore(), Plan(dict.fromkeys(range(1, 100), Fault.CONFLICT)))
    with pytest.raises(Conflict):
        update_record(store, "/r", appending("a"), policy=time.policy(deadline_s=1.0))
    assert 1.0 <= time.now < 1.5


def test_a_doubt_that_cannot_be_resolved_is_raised_as_outcome_unknown():
    inner, time = MemoryStore(), FakeTime()

    class Down(FaultyStore):
        def get(self, path: str) -> Versioned | None:
            if self.writes:
                raise Unavailable("ZooKeeper is away.")
            return super().get(path)

    with pytest.raises(OutcomeUnknown):
        update_record(
            Down(inner, Plan({1: Fault.LOST_AFTER})), "/r", appending("a"), policy=time.policy(deadline_s=3.0)
        )
    assert time.now >= 3.0


def test_unavailable_without_a_write_in_doubt_is_raised_at_once():
    store = MemoryStore()
    store.close()
    time = FakeTime()
    with pytest.raises(Unavailable):
        update_record(store, "/r", appending("a"), policy=time.policy())
    assert time.pauses == []


def moving(store: Store):
    """Move the record from /from to /to and count it in /n, all in one transaction; nothing to do when it is there."""

    def attempt() -> list[Create | Replace | Delete | Check] | None:
        source, counter = store.get_many(["/from", "/n"])
        if source is None:
            return None
        count = ZNRecord("n", {"n": str(int(counter.record.simple["n"]) + 1)})
        return [Create("/to", source.record), Delete("/from", source.version), Replace("/n", count, counter.version)]

    return attempt


def prepared() -> MemoryStore:
    store = MemoryStore()
    store.create("/from", ZNRecord("x"))
    store.create("/n", ZNRecord("n", {"n": "0"}))
    return store


def test_a_transaction_survives_every_lost_reply_and_conflict_and_is_applied_once():
    kinds = [Fault.LOST_AFTER, Fault.LOST_BEFORE, Fault.CONFLICT]
    seen = []
    for number, kind, inner in every_interruption(
        prepared, lambda store: update_transaction(store, moving(store)), kinds
    ):
        seen.append((number, kind))
        assert (inner.exists("/from"), inner.exists("/to"), inner.get("/n").record.simple["n"]) == (None, 0, "1")
    assert seen == [(1, kind) for kind in kinds]


def test_a_transaction_in_doubt_that_landed_is_not_attempted_again():
    inner = prepared()
    store = FaultyStore(inner, Plan({1: Fault.LOST_AFTER}))
    done = update_transaction(store, moving(store))
    assert done.changed
    assert done.attempts == 2
    assert len(store.writes) == 1


def test_a_process_that_dies_leaves_all_of_a_transaction_or_nothing():
    for _, kind, inner in every_interruption(
        prepared, lambda store: update_transaction(store, moving(store)), [Fault.CUT_BEFORE, Fault.CUT_AFTER]
    ):
        landed = kind is Fault.CUT_AFTER
        assert (inner.exists("/from"), inner.exists("/to")) == ((None, 0) if landed else (0, None))
        assert inner.get("/n").record.simple["n"] == ("1" if landed else "0")


def test_a_transaction_with_nothing_to_do_writes_nothing():
    store = FaultyStore(prepared())
    assert not update_transaction(store, lambda: None).changed
    assert not update_transaction(store, list).changed
    assert store.writes == []


def test_a_dead_store_stays_dead():
    store = FaultyStore(MemoryStore(), Plan({1: Fault.CUT_BEFORE}))
    for call in (lambda: store.create("/a", None), lambda: store.get("/a"), lambda: store.transaction([])):
        with pytest.raises(Cut):
            call()
