"""Threads of consuming segments that come to a commit together keep apart, unless somebody wants something of them."""

from __future__ import annotations

import threading
import time

import pytest

from segments.dataplane.server.consuming.waiting import Waiting


def test_partitions_wait_for_different_times_and_replicas_of_one_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    for segment in ("t__0__0", "t__1__0", "t__0__0"):
        one = Waiting(segment, is_forced=False)
        monkeypatch.setattr(one, "pause", waits.append)
        one.keep_apart(0.5, segment)
    assert waits[0] == waits[2] != waits[1]
    assert all(0 <= wait < 0.5 for wait in waits)


def test_a_commit_that_somebody_wants_now_does_not_wait() -> None:
    one = Waiting("s", is_forced=False)
    threading.Timer(0.05, one.end).start()
    began = time.perf_counter()
    one.pause(30)
    one.end()
    one.keep_apart(30, "s")
    assert time.perf_counter() - began < 5
