"""A deep store that hangs is not waited for without an end, and is used again once it answers."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from segments.errors import Unavailable
from segments.gateways.deep_store.bounded_calls import BoundedCalls
from segments.gateways.deep_store.deepstore import DeepStore
from tests.waiting import poll


def test_a_file_that_hangs_is_given_up_and_others_are_read_meanwhile(tmp_path: Path) -> None:
    store = DeepStore(f"file://{tmp_path}", 0.2)
    store.write("t/good", b"rows")
    os.mkfifo(tmp_path / "t" / "bad")
    with pytest.raises(Unavailable, match="The deep store has not answered for 0 s"):
        store.open("t/bad")
    assert store.read("t/good") == b"rows"


def test_while_it_hangs_nobody_waits_and_afterwards_all_goes_on() -> None:
    up, asked = threading.Event(), []

    def ask() -> None:
        asked.append(1)
        assert up.wait(60)

    calls = BoundedCalls("The store", ask)
    with pytest.raises(Unavailable):
        calls.run(lambda: up.wait(60), 0.05)
    began = time.monotonic()
    for _ in range(20):
        with pytest.raises(Unavailable, match="The store has not answered"):
            calls.run(lambda: "never tried", 60)
    assert time.monotonic() - began < 5, "who comes later does not wait as long as who came first"
    assert len(asked) == 1
    up.set()
    assert poll(lambda: calls.run(lambda: "here again", 60), 30, "it is used again") == "here again"


def test_threads_that_are_left_behind_are_bounded() -> None:
    up = threading.Event()
    calls = BoundedCalls("The store", lambda: None)
    for _ in range(40):
        with pytest.raises(Unavailable):
            calls.run(lambda: up.wait(60), 0.001)
    assert len(calls._left) <= 32
    up.set()
    assert poll(lambda: calls.run(lambda: True, 60), 30, "it is used again")


def test_errors_and_answers_come_through(tmp_path: Path) -> None:
    calls = BoundedCalls("The store", lambda: None)
    assert calls.run(lambda: 7, 60) == 7
    with pytest.raises(FileNotFoundError):
        calls.run(lambda: (tmp_path / "none").read_bytes(), 60)
