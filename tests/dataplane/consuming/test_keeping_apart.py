"""Threads of consuming segments that come to a commit together keep apart, unless somebody wants something of them."""

from __future__ import annotations

import threading
import time

import pytest

from segments.dataplane.server.consuming import waiting
from segments.dataplane.server.consuming.waiting import Waiting


def test_each_waits_for_another_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, waits = iter([0.25, 0.75]), []
    monkeypatch.setattr(waiting.random, "random", lambda: next(parts))
    for _ in range(2):
        one = Waiting("s", is_forced=False)
        monkeypatch.setattr(one, "pause", waits.append)
        one.keep_apart(0.1)
    assert waits == pytest.approx([0.025, 0.075])


def test_a_commit_that_somebody_wants_now_does_not_wait() -> None:
    one = Waiting("s", is_forced=False)
    threading.Timer(0.05, one.end).start()
    began = time.perf_counter()
    one.pause(30)
    one.end()
    one.keep_apart(30)
    assert time.perf_counter() - began < 5
