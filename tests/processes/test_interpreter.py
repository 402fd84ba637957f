"""Processes that answer requests: threads that wait get the interpreter soon, and garbage is collected seldom."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from segments.processes.interpreter import collect_seldom, take_short_turns


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    turn, thresholds = sys.getswitchinterval(), gc.get_threshold()
    yield
    sys.setswitchinterval(turn)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_a_thread_that_computes_gives_way_within_two_milliseconds() -> None:
    take_short_turns()
    assert sys.getswitchinterval() < 0.002


def test_what_is_loaded_by_then_is_walked_over_no_more() -> None:
    kept = [object() for _ in range(10)], {}
    collect_seldom()
    assert not any(found is kept for found in gc.get_objects())
    assert gc.get_threshold()[0] > 10_000
