"""Waiting for segments of a Pinot cluster ends when its controller stays unreachable, and survives its restart."""

from __future__ import annotations

from typing import Any, cast

import pytest

from segments.clusters.pinot.calls import Answering
from segments.errors import Unavailable
from segments.gateways.pinot import PinotController


class Health:
    """A controller of which only the health is asked."""

    def __init__(self) -> None:
        self.is_up, self.asked = True, 0

    def text(self, path: str, *_: Any, **__: Any) -> str:
        assert path == "/health"
        self.asked += 1
        if not self.is_up:
            raise Unavailable("The controller does not answer.")
        return "OK"


def test_a_controller_that_stays_unreachable_ends_the_wait_and_one_that_restarts_does_not() -> None:
    now, health = [100.0], Health()
    answering = Answering(cast(PinotController, health), lambda: now[0])

    def after(seconds: float) -> None:
        now[0] += seconds
        answering.require()

    after(1)
    assert health.asked == 0  # not at every check
    after(3)
    health.is_up = False
    for _ in range(3):
        after(5)
    health.is_up = True
    after(4)
    health.is_up = False
    after(19)
    with pytest.raises(Unavailable, match="does not answer"):
        after(4)
    assert health.asked == 7
