"""Several controllers at one lineage at the same time: no entry is lost, and one whole side is there to answer from."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from segments.store.base import Store
from segments.store.memory import MemoryStore
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.writer_turns import in_turn
from tests.contract.conftest import zookeeper as zookeeper
from tests.faults.controllers import RACES, Controller
from tests.real_parts import ZooKeeperProcess
from tests.waiting import wait_until

_numbers = itertools.count(1)


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.integration)])
def sessions(request: pytest.FixtureRequest) -> Iterator[list[Store]]:
    """Three sessions with the same state, as of three processes."""
    if request.param == "memory":
        first = MemoryStore()
        opened: list[Store] = [first, first.another_client(), first.another_client()]
    else:
        process: ZooKeeperProcess = request.getfixturevalue("zookeeper")
        cluster = f"races{next(_numbers)}"
        opened = [ZooKeeperStore(process.hosts, cluster) for _ in range(3)]
    yield opened
    for store in opened:
        store.close()


@pytest.mark.parametrize("kind", RACES)
def test_whoever_wins_nothing_is_lost(
    sessions: list[Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("segments.services.core.audit.record", lambda *_, **__: None)
    before, parts, is_well = RACES[kind]
    for number in range(12):
        name = f"t{number}"
        main = Controller(sessions[0], tmp_path, name).create()
        assert len(main.act(before)) == len(before)
        answers: list[list[str]] = [[] for _ in parts]
        gate = threading.Barrier(len(parts))

        def take_part(
            i: int, name: str = name, answers: list[list[str]] = answers, gate: threading.Barrier = gate
        ) -> None:
            controller = Controller(sessions[i], tmp_path, name)
            gate.wait(10)
            answers[i] = controller.act(parts[i])

        threads = [threading.Thread(target=take_part, args=(i,)) for i in random.sample(range(len(parts)), len(parts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        states = {e.id: e.state.value for e in main.look().lineage.entries.values()}
        assert is_well(answers, states, main.visible), (answers, states, main.visible)


def in_background(run: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_turns_are_taken_in_the_order_asked_and_other_tables_do_not_wait() -> None:
    store, order, arrived = MemoryStore(), list[int](), threading.Semaphore(0)

    def one(i: int) -> None:
        arrived.release()
        with in_turn(store, "t"):
            order.append(i)

    with in_turn(store, "t"):
        waiting = []
        for i in range(5):
            waiting.append(in_background(lambda i=i: one(i)))
            arrived.acquire(timeout=5)
            wait_until(lambda i=i: len(_line(store, "t")) == i + 1)
        with in_turn(store, "other"), in_turn(store, "t"):
            assert order == []
    for thread in waiting:
        thread.join(10)
    assert order == list(range(5))


def _line(store: Store, key: str) -> list[object]:
    from segments.store import writer_turns

    return list(writer_turns._lines[store][key]._waiting)


def test_a_turn_that_does_not_come_is_not_waited_for_for_ever() -> None:
    store, done = MemoryStore(), threading.Event()

    def impatient() -> None:
        with in_turn(store, "t", seconds=0.05):
            done.set()

    with in_turn(store, "t"):
        thread = in_background(impatient)
        assert done.wait(5)
    thread.join(5)
    with in_turn(store, "t"):
        assert done.is_set()
