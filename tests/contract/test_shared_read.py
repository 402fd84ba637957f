"""One read for many threads: never one that began before the question."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from segments.store.memory import MemoryStore
from segments.store.shared_read import read_together


def test_threads_that_ask_during_a_read_share_the_next_one() -> None:
    store, numbers, go, reading = MemoryStore(), itertools.count(1), threading.Event(), threading.Event()

    def read() -> int:
        number = next(numbers)
        reading.set()
        assert go.wait(30)
        return number

    with ThreadPoolExecutor(12) as pool:
        first = pool.submit(read_together, store, "k", read)
        assert reading.wait(30)
        others = [pool.submit(read_together, store, "k", read) for _ in range(10)]
        # Another key is another read and does not wait.
        assert read_together(store, "other", lambda: "at once") == "at once"
        go.set()
        assert first.result(30) == 1
        found = {future.result(30) for future in others}
    assert min(found) > 1, "a read that began before the question"


def test_no_answer_is_older_than_its_question_whoever_asks_when() -> None:
    store, clock, wrong = MemoryStore(), itertools.count(1), list[tuple[int, int]]()

    def ask(_: int) -> None:
        for _ in range(300):
            asked = next(clock)
            began = read_together(store, "k", lambda: next(clock))
            if began < asked:
                wrong.append((asked, began))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    assert not wrong


def test_a_failed_read_fails_for_those_who_shared_it_and_the_next_one_is_new() -> None:
    store = MemoryStore()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        read_together(store, "k", fail)
    assert read_together(store, "k", lambda: 5) == 5
