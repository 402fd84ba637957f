"""Segments move between real servers while queries run: none fails, none sees more or fewer rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dataplane.world import World
from tests.rebalance.under_queries import measure


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_segments_move_to_a_third_server_under_queries_that_all_succeed(world: World) -> None:
    found = measure(world, segments=120, rows=10, clients=2, drop_grace_s=0.3)
    assert found.answers.failed == {}
    assert len(found.answers.times) > 20
    assert (found.moved, found.least) == (80, 2)
    assert sorted(found.load.values()) == [80, 80, 80]
