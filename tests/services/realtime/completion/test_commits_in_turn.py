"""Commits of one table that start and end together in one process do not make one another try again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connections

from segments.errors import Conflict
from segments.services.core.context import Context
from segments.store.base import Versioned, Write
from tests.faults.faulty import FaultyStore
from tests.services.realtime_world import RealtimeWorld
from tests.services.spoken import Spoken

pytestmark = pytest.mark.django_db(transaction=True)
PARTITIONS = 6


class SlowReads(FaultyStore):
    """Everything is read a moment before it is written, as from another machine. ``conflicts`` counts lost writes."""

    conflicts = 0
    _meanwhile = threading.Event()

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        found = super().get_many(paths)
        self._meanwhile.wait(0.01)
        return found

    def transaction(self, writes: Sequence[Write]) -> None:
        try:
            super().transaction(writes)
        except Conflict:
            self.conflicts += 1
            raise


def at_once(ctx: Context, said: Sequence[tuple[str, int]], say: Callable[[Spoken, int], str]) -> list[str]:
    """What these servers are answered when they say it of these segments at the same moment."""

    def one(segment: str, server: int) -> str:
        try:
            return say(Spoken(ctx, segment), server)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(said)) as pool:
        return list(pool.map(one, *zip(*said, strict=True)))


@pytest.mark.parametrize("is_pauseless", [False, True])
def test_commits_of_all_partitions_at_once_cost_no_second_attempt(tmp_path: Path, is_pauseless: bool) -> None:
    world = RealtimeWorld(
        tmp_path,
        partitions=PARTITIONS,
        segments={"peerSegmentDownloadScheme": "http"},
        streaming={"pauselessConsumptionEnabled": is_pauseless},
    )
    store = SlowReads(world.memory)
    ctx, everybody = world.over(store), [(segment, server) for segment in world.consuming for server in (1, 2)]
    for _ in range(2):  # who commits is known once all have asked
        answers = at_once(ctx, everybody, lambda talk, server: talk.consumed(server, 40, "rowLimit")[0])
    committers = [who for who, answer in zip(everybody, answers, strict=True) if answer == "COMMIT"]
    assert [segment for segment, _ in committers] == list(dict.fromkeys(world.consuming))
    assert set(at_once(ctx, committers, lambda talk, server: talk.start(server, 40))) == {"COMMIT_CONTINUE"}
    assert set(at_once(ctx, committers, lambda talk, server: talk.end(server, 40))) == {"COMMIT_SUCCESS"}
    assert store.conflicts == 0
    assert len(world.consuming) == PARTITIONS
