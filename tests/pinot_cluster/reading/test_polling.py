"""Polls of a controller that reports no changes: soon while something changes, bounded by a budget, seldom when it is
slow.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from segments.domain.formats.znrecord import ZNRecord, encode
from segments.errors import Unavailable
from segments.store import paths
from segments.store.on_pinot import refreshed_segments
from segments.store.on_pinot.controller import ControllerStore
from segments.store.on_pinot.poll_interval import PollInterval, Terms
from segments.store.on_pinot.polling import Poller
from segments.store.on_pinot.refreshed_segments import Stat, StatReader, covering
from tests.pinot_cluster.fake_rest import FakePinot, controller
from tests.waiting import wait_until

TABLE = "flights_OFFLINE"
TERMS = Terms()


class Clock:
    """Seconds that pass when a poll takes some, and that this process computes."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.used = 0.0


def poll(pace: PollInterval, clock: Clock, *, requests: int = 3, cost: float = 0.01, is_changed: bool = False) -> float:
    """One poll and the pause after it."""
    clock.now += cost
    pause = pace.polled(clock.now, requests=requests, took_s=cost, cost_s=cost, is_changed=is_changed)
    clock.now += pause
    return pause


def test_polls_are_quick_for_a_while_after_a_change() -> None:
    pace, clock = PollInterval(TERMS), Clock()
    assert poll(pace, clock) == TERMS.idle_s
    pauses = [poll(pace, clock, is_changed=number == 0) for number in range(7)]
    assert pauses == [TERMS.quick_s] * 5 + [TERMS.idle_s] * 2


def test_a_cluster_that_never_rests_is_asked_no_more_than_the_budget_allows() -> None:
    pace, clock = PollInterval(TERMS), Clock()
    asked, began = 0, clock.now
    while clock.now - began < 600:
        poll(pace, clock, requests=4, is_changed=True)
        asked += 4
    assert asked <= 10 * TERMS.per_minute + TERMS.burst + 4


def test_no_pause_is_longer_than_an_idle_one_when_the_budget_is_spent() -> None:
    pace, clock = PollInterval(TERMS), Clock()
    assert max(poll(pace, clock, requests=9, is_changed=True) for _ in range(100)) == TERMS.idle_s
    assert pace.is_spent


def test_who_is_slow_three_times_is_left_alone_until_the_next_quick_answer() -> None:
    pace, clock = PollInterval(TERMS), Clock()
    for _ in range(3):
        poll(pace, clock)
    assert [poll(pace, clock, cost=0.5) for _ in range(2)] == [TERMS.idle_s] * 2
    assert poll(pace, clock, cost=0.5) == pytest.approx(0.5 / TERMS.share)
    assert [poll(pace, clock, cost=100.0) for _ in range(3)][-1] == TERMS.longest_s
    assert poll(pace, clock) == TERMS.idle_s


def test_no_poll_follows_sooner_than_the_one_before_took() -> None:
    pace, clock = PollInterval(TERMS), Clock()
    poll(pace, clock)
    assert poll(pace, clock, cost=7.0, is_changed=True) == 7.0


def test_a_change_makes_nobody_poll_quickly_who_is_slow() -> None:
    pace, clock = PollInterval(TERMS), Clock()
    pauses = [poll(pace, clock, cost=1.0, is_changed=True) for _ in range(5)]
    assert min(pauses) == pytest.approx(10.0)


def test_polls_that_fail_come_ever_more_seldom() -> None:
    pace = PollInterval(TERMS)
    pauses = [pace.failed() for _ in range(8)]
    assert pauses == sorted(pauses)
    assert pauses[0] > TERMS.idle_s
    assert pauses[-1] == TERMS.longest_s


# The polls themselves


class PolledPinot:
    """A Pinot over REST whose polls are made by hand, on a clock of our own: seconds that answers take, and that we
    compute meanwhile.
    """

    def __init__(self) -> None:
        self.pinot, self.clock = FakePinot(), Clock()
        self.takes, self.ours = 0.005, 0.0
        self._reported: list[str] = []
        self.put(paths.BROKER_RESOURCE)
        self.store = ControllerStore(controller(self.pinot))
        made = self.store._poller
        self.poller = Poller(
            "hand", self._slowly(made._reader), self.store._current, made._plan, TERMS,
            clock=lambda: self.clock.now, used=lambda: self.clock.used,
        )  # fmt: skip
        self.poller._thread = threading.current_thread()  # no thread of its own polls

    def _slowly(self, stats: StatReader) -> StatReader:
        def asked(parent: str) -> Mapping[str, Stat]:
            self.clock.now += self.takes + self.ours
            self.clock.used += self.ours
            return stats(parent)

        return asked

    def put(self, path: str, record: ZNRecord | None = None) -> None:
        self.pinot.store.put_raw(path, encode(record or ZNRecord(path.rpartition("/")[2])))

    def watch(self) -> None:
        for prefix in ("/PROPERTYSTORE", paths.IDEAL_STATES, paths.EXTERNAL_VIEWS):
            self.poller.watch(prefix, lambda path: self._reported.append(path) if path else None)

    def heard(self) -> list[str]:
        """What was reported since the last time."""
        self.poller._dispatcher.publish("/PROPERTYSTORE/end")
        wait_until(lambda: "/PROPERTYSTORE/end" in self._reported, 30)
        reported, self._reported[:] = [path for path in self._reported if path != "/PROPERTYSTORE/end"], []
        return reported

    def run(self, seconds: float) -> Counter[str]:
        """Rounds for so long; what was requested, by path."""
        began, before = self.clock.now, self.pinot.calls.copy()
        while self.clock.now - began < seconds:
            self.clock.now += self.poller.round()
        return self.pinot.calls - before


@pytest.fixture
def polled() -> Iterator[PolledPinot]:
    made = PolledPinot()
    yield made
    made.poller.close()
    made.store.close()


def with_brokers(polled: PolledPinot, tables: Mapping[str, int]) -> None:
    """Tables with so many segments, served by one broker."""
    polled.put(
        paths.external_view("brokerResource"),
        ZNRecord("brokerResource", maps={t: {"Broker_a": "ONLINE"} for t in tables}),
    )
    polled.put(f"{paths.messages('Broker_a')}/0")
    for table, count in tables.items():
        for number in range(count):
            polled.put(paths.segment(table, f"s{number}"))


def refresh(polled: PolledPinot, table: str, name: str) -> None:
    """An upload over an existing segment, as a controller does it: the record, then a message to the brokers."""
    polled.put(paths.segment(table, name), ZNRecord(name, {"segment.crc": "8"}))
    polled.put(f"{paths.messages('Broker_a')}/1")


def test_an_idle_cluster_is_asked_less_than_two_hundred_and_thirty_times_a_minute(polled: PolledPinot) -> None:
    with_brokers(polled, {TABLE: 3, "other_OFFLINE": 3})
    polled.watch()
    polled.run(60)
    asked = polled.run(600).total() / 10
    assert 100 < asked <= 212, "beside these the mirror asks 18 times a minute how the controller is"


def test_a_change_is_seen_within_the_pause_between_two_polls(polled: PolledPinot) -> None:
    polled.put(paths.ideal_state(TABLE))
    polled.watch()
    polled.run(10)
    polled.heard()
    polled.put(paths.ideal_state(TABLE))
    began = polled.clock.now
    while paths.ideal_state(TABLE) not in polled.heard():
        polled.clock.now += polled.poller.round()
    assert polled.clock.now - began < 1.2


def test_what_we_compute_meanwhile_is_no_sign_of_a_slow_controller(polled: PolledPinot) -> None:
    polled.watch()
    polled.ours = 0.3
    assert max(polled.poller.round() for _ in range(6)) < 2.5
    polled.ours, polled.takes = 0.0, 0.3
    assert [polled.poller.round() for _ in range(6)][-1] == pytest.approx(0.9 / TERMS.share)


def test_a_controller_that_struggles_is_asked_a_few_times_a_minute(polled: PolledPinot) -> None:
    polled.watch()
    polled.takes = 3.0
    polled.run(60)
    assert polled.run(600).total() / 10 <= 8
    polled.takes = 0.005
    polled.run(120)
    assert polled.run(60).total() > 100, "once it is well again it is polled at as before"


def test_a_controller_that_gives_no_answer_is_left_alone_ever_longer(
    polled: PolledPinot, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled.watch()

    def unreachable(parent: str) -> Mapping[str, Stat]:
        raise Unavailable("unreachable")

    monkeypatch.setattr(polled.poller, "_reader", unreachable)
    waited: list[float] = []

    def wait(pause: float) -> bool:
        waited.append(pause)
        return len(waited) > 8

    monkeypatch.setattr(polled.poller._stop, "wait", wait)
    polled.poller._run()
    assert waited[1:] == sorted(waited[1:])
    assert waited[-1] == TERMS.longest_s


# Records that are written in place


def test_a_record_that_was_written_in_place_is_reported_within_seconds(polled: PolledPinot) -> None:
    with_brokers(polled, {TABLE: 3, "other_OFFLINE": 3})
    polled.watch()
    polled.run(30)
    polled.heard()
    refresh(polled, TABLE, "s1")
    asked = polled.run(8)
    assert polled.heard() == [paths.segment(TABLE, "s1")]
    assert asked["/zk/get"] == 0
    polled.run(60)
    assert polled.heard() == [], "once"


def test_without_a_message_to_brokers_no_table_is_polled(polled: PolledPinot) -> None:
    with_brokers(polled, {f"t{number}_OFFLINE": 2 for number in range(40)})
    polled.watch()
    polled.run(30)
    before = polled.poller._requests
    polled.put(paths.segment("t3_OFFLINE", "s0"), ZNRecord("s0", {"segment.crc": "8"}))
    polled.heard()
    polled.run(30)
    assert polled.heard() == []
    assert polled.poller._requests - before < 110


def test_large_tables_are_not_polled_and_those_of_before_come_first(
    polled: PolledPinot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshed_segments, "MODERATE", 5)
    with_brokers(polled, {"large_OFFLINE": 6, **{f"t{number:02}_OFFLINE": 2 for number in range(30)}})
    polled.watch()
    polled.run(30)
    refresh(polled, "t29_OFFLINE", "s0")
    polled.put(paths.segment("large_OFFLINE", "s0"), ZNRecord("s0", {"segment.crc": "8"}))
    polled.heard()
    polled.run(30)
    assert polled.heard() == [paths.segment("t29_OFFLINE", "s0")]
    polled.run(30)
    assert polled.heard() == []
    polled.put(paths.segment("t29_OFFLINE", "s1"), ZNRecord("s1", {"segment.crc": "8"}))
    polled.put(f"{paths.messages('Broker_a')}/2")
    polled.run(7.5)
    assert polled.heard() == [paths.segment("t29_OFFLINE", "s1")]


def test_polls_of_slow_tables_do_not_hold_up_those_of_documents(
    polled: PolledPinot, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_brokers(polled, {f"t{number:02}_OFFLINE": 2 for number in range(30)})
    polled.watch()
    polled.run(30)
    into, before = [], polled.poller._reader

    def slowly(parent: str) -> Mapping[str, Stat]:
        if parent.startswith(paths.SEGMENTS + "/"):
            polled.clock.now += 0.3
            into.append(polled.clock.now)
        return before(parent)

    monkeypatch.setattr(polled.poller, "_reader", slowly)
    refresh(polled, "t29_OFFLINE", "s0")
    pauses = []
    while len(into) < 8:
        pauses.append(polled.poller.round())
        polled.clock.now += pauses[-1]
    assert max(pauses) <= TERMS.idle_s
    assert into[-1] - into[0] > 3 * 0.6 / TERMS.share, "two tables, then a pause ten times as long"


def test_a_second_upload_does_not_wait_until_all_tables_were_polled_for_the_first(polled: PolledPinot) -> None:
    with_brokers(polled, {f"t{number:02}_OFFLINE": 2 for number in range(60)})
    polled.watch()
    polled.run(30)
    refresh(polled, "t00_OFFLINE", "s0")
    polled.run(8)
    assert polled.poller._refreshed.is_waiting, "most tables were not polled into yet"
    polled.heard()
    polled.put(paths.segment("t00_OFFLINE", "s1"), ZNRecord("s1", {"segment.crc": "8"}))
    polled.put(f"{paths.messages('Broker_a')}/2")
    polled.run(3)
    assert polled.heard() == [paths.segment("t00_OFFLINE", "s1")]


def test_every_table_gets_its_turn_where_messages_never_end(polled: PolledPinot) -> None:
    tables = {f"t{number:02}_OFFLINE": 2 for number in range(20)}
    with_brokers(polled, tables)
    polled.watch()
    polled.run(30)
    for number, table in enumerate(tables):
        polled.put(paths.segment(table, "s0"), ZNRecord("s0", {"segment.crc": str(number)}))
    for number in range(60):
        polled.put(f"{paths.messages('Broker_a')}/more{number}")
        polled.clock.now += polled.poller.round()
    assert {paths.segment(table, "s0") for table in tables} <= set(polled.heard())


def test_a_table_that_could_not_be_polled_is_tried_again(polled: PolledPinot, monkeypatch: pytest.MonkeyPatch) -> None:
    with_brokers(polled, {TABLE: 2})
    polled.watch()
    polled.run(30)
    before, fails = polled.poller._reader, [1]

    def failing(parent: str) -> Mapping[str, Stat]:
        if parent == paths.segments(TABLE) and fails:
            fails.pop()
            raise Unavailable("unreachable")
        return before(parent)

    monkeypatch.setattr(polled.poller, "_reader", failing)
    refresh(polled, TABLE, "s0")
    with pytest.raises(Unavailable):
        polled.run(30)
    polled.run(8)
    assert paths.segment(TABLE, "s0") in polled.heard()


def test_few_brokers_that_serve_all_tables_are_asked() -> None:
    resource = {
        "a_OFFLINE": {"Broker_1": "ONLINE", "Broker_2": "ONLINE"},
        "b_OFFLINE": {"Broker_1": "ONLINE", "Broker_2": "OFFLINE"},
        "c_OFFLINE": {"Broker_3": "ONLINE"},
        "d_OFFLINE": {"Broker_3": "OFFLINE"},
    }
    assert covering(resource) == {"Broker_1": {"a_OFFLINE", "b_OFFLINE"}, "Broker_3": {"c_OFFLINE"}}
    assert covering({}) == {}
