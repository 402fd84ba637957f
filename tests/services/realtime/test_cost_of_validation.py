"""What the passes read of a table with nothing wrong is bounded: a record of each partition a minute and pass, and next
to nothing every few seconds. `bench/recovery/validation.py` has the seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from segments.domain.segments.ideal_state import OFFLINE
from segments.services.realtime.realtime_validation import keep_consumption, keep_copies, repair_consumption
from segments.store.base import Versioned
from tests.faults.faulty import FaultyStore
from tests.services.realtime.test_realtime_validation import view
from tests.services.realtime_world import TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db
PARTITIONS = 250
#: Beside the records of partitions: ideal state, view, settings, config, live servers.
BESIDE = 40


class Counting(FaultyStore):
    """Counts the znodes that are read."""

    reads = 0

    def get(self, path: str) -> Versioned | None:
        self.reads += 1
        return super().get(path)

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        self.reads += len(paths)
        return super().get_many(paths)


@pytest.fixture
def large(tmp_path: Path) -> RealtimeWorld:
    world = RealtimeWorld(tmp_path, partitions=PARTITIONS)
    view(world)
    return world


def test_whole_passes_read_each_record_once_and_write_nothing(large: RealtimeWorld) -> None:
    for run in (repair_consumption, keep_copies):
        store = Counting(large.memory)
        large.streams.asked = 0
        run(large.over(store), TABLE)
        assert store.reads <= PARTITIONS + BESIDE
        assert store.writes == []
        assert large.streams.asked <= 5


def test_the_pass_of_every_few_seconds_reads_only_what_is_in_doubt(large: RealtimeWorld) -> None:
    store = Counting(large.memory)
    keep_consumption(large.over(store))
    assert store.reads <= BESIDE
    large.set_row(large.segments(7)[0], OFFLINE)
    store = Counting(large.memory)
    assert any("Partition 7" in s for s in keep_consumption(large.over(store)))
    assert len(large.segments(7)) == 2
