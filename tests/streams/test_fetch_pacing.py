"""How long a consumer rests between small batches."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from segments.gateways.streams import fetch_pacing
from segments.gateways.streams.fetch_pacing import FetchPacing


class Clock:
    """Time that passes when somebody waits or works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(fetch_pacing, "time", SimpleNamespace(monotonic=lambda: self.now))

    def rest(self, pace: FetchPacing, timeout_s: float = 0.5) -> float:
        """Seconds that the next fetch waits before it begins."""
        waited: list[float] = []
        pace._woken.wait = waited.append  # type: ignore[method-assign,assignment]  # passes no time of its own
        pace.begin(timeout_s)
        return sum(waited)


@pytest.mark.parametrize(
    ("work_s", "rest_s"),
    [
        (0.0, 0.004),  # at least
        (0.001, 0.003),
        (0.004, 0.008),  # three times as long, the work included
        (0.012, 0.008),  # at most
        (0.5, 0.0),  # something else took long
    ],
)
def test_the_rest_after_a_small_batch_grows_with_what_it_took(
    monkeypatch: pytest.MonkeyPatch, work_s: float, rest_s: float
) -> None:
    clock, pace = Clock(monkeypatch), FetchPacing()
    pace.end(5)
    clock.now += work_s
    assert clock.rest(pace) == pytest.approx(rest_s)


@pytest.mark.parametrize("messages", [0, 256, 10_000])
def test_an_empty_or_a_large_batch_is_followed_at_once(monkeypatch: pytest.MonkeyPatch, messages: int) -> None:
    clock, pace = Clock(monkeypatch), FetchPacing()
    pace.end(messages)
    clock.now += 0.002
    assert clock.rest(pace) == 0


def test_a_rest_ends_with_the_fetch_and_when_it_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pace = Clock(monkeypatch), FetchPacing()
    pace.end(5)
    assert clock.rest(pace, timeout_s=0.001) == pytest.approx(0.001)
    monkeypatch.undo()
    monkeypatch.setattr(fetch_pacing, "_LONGEST_REST_S", 30.0)
    monkeypatch.setattr(fetch_pacing, "_REST_S", 30.0)
    pace = FetchPacing()
    pace.end(5)
    pace.wake()
    began = time.perf_counter()
    pace.begin(30)
    assert time.perf_counter() - began < 5
    assert pace.left() == 0
