"""Passes that run every minute do not read the records of all committed segments again."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from segments.clusters.embedded.realtime.resource_pressure import relieve
from segments.clusters.embedded.segments.deep_store_upload import missing_from_store
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.services.realtime.realtime_validation import run
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep.segment_record_cache import READ_AGAIN_MS, CachedRecord, SegmentRecordCache
from segments.store import paths
from tests.services.embedded_engine import with_servers
from tests.services.realtime.test_realtime_upkeep import FakeServers
from tests.services.realtime_world import TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db


class Counting:
    """The store, and the segment records that were read from it."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.records = inner, list[str]()

    def get_many(self, asked: list[str]) -> Any:
        self.records += [p.rpartition("/")[2] for p in asked if p.startswith(paths.segments(TABLE.typed) + "/")]
        return self._inner.get_many(asked)

    def read(self) -> list[str]:
        """Those read since the last call."""
        found, self.records = self.records, []
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def world_of(folder: Path) -> tuple[RealtimeWorld, Counting, list[str]]:
    """Four committed segments of 100 bytes, kept by the deep store, in a table with a quota."""
    world = RealtimeWorld(folder, partitions=4, quota={"storage": "1K"})
    old = world.consuming
    world.commit()
    for segment in old:
        world.set_record(segment, segment_download_url="file:///x", segment_size_in_bytes="100")
    store = Counting(world.memory)
    world.ctx = with_servers(world.over(store), FakeServers({}))
    return world, store, old


def look(world: RealtimeWorld) -> list[str]:
    """What a pass says of the table's quota and of segments that the deep store lacks."""
    return [
        *relieve(world.ctx, read_table_config(world.ctx, TABLE), world.pause),
        *missing_from_store(world.ctx, TABLE),
    ]


def test_a_second_pass_reads_no_record_of_a_segment_that_is_committed_and_kept(tmp_path: Path) -> None:
    world, store, old = world_of(tmp_path)
    run(world.ctx, TABLE)
    assert set(old) <= set(store.read())
    world.now += 60_000
    assert look(world) == []
    assert not set(old) & set(store.read())


def test_what_only_servers_have_is_read_until_the_deep_store_has_it(tmp_path: Path) -> None:
    world, store, old = world_of(tmp_path)
    world.set_record(old[0], segment_download_url="")
    assert look(world) == [old[0]]
    world.set_record(old[0], segment_download_url="file:///x")
    assert (look(world), look(world)) == ([], [])
    assert store.read().count(old[0]) == 3  # twice by the first read, and once more by the one after


def test_a_segment_that_came_or_went_counts_at_once_and_one_that_was_replaced_after_an_hour(tmp_path: Path) -> None:
    world, _, old = world_of(tmp_path)
    world.commit()
    assert look(world) == []
    world.set_record(old[0], segment_size_in_bytes="2000")
    world.now += READ_AGAIN_MS - 1
    assert look(world) == []
    world.now += 1
    assert look(world) == [f"{TABLE} is paused: Storage quota of 1024 bytes is 225% full."]
    world.memory.delete(paths.segment(TABLE.typed, old[0]))
    assert look(world) == [f"{TABLE} goes on: There is room again: Storage quota of 1024 bytes is 29% full."]


ODD = {
    "a__0__1__x": ("DONE", "store:///segments/t/a__0__1__x", 7, 1, None),
    "b": ("UPLOADED", "https://host/b/else?name=b", 0, None, None),
    "c": ("DONE", None, 2**40, -5, 5),
    "d": ("DONE", "https://host/other", 1, 2, 3),
    "e": ("DONE", "store:///segments/t/e", 2**63, 2, 3),
    "f": ("IN_PROGRESS", "store:///segments/t/f", 1, 2, 3),
    "g": ("DONE", "", 1, 2, 3),
}


def test_what_is_kept_comes_back_as_it_was_read() -> None:
    cache, asked = SegmentRecordCache(), list[list[str]]()

    def read_now(names: Sequence[str]) -> dict[str, SegmentMetadata]:
        asked.append(sorted(names))
        keys = ("status", "download_url", "size_bytes", "start_ms", "end_ms")
        return {n: SimpleNamespace(**dict(zip(keys, ODD[n], strict=True))) for n in names}  # type: ignore[misc]  # in its place

    first = cache.read("t_OFFLINE", list(ODD), read_now, 1)
    assert cache.read("t_OFFLINE", list(ODD), read_now, 2) == first == {n: CachedRecord(*v) for n, v in ODD.items()}
    assert set(cache.read("t_OFFLINE", ["c", "d"], read_now, 3)) == {"c", "d"}
    assert asked == [sorted(ODD), ["e", "f", "g"], []], "numbers that no segment has, and what is not settled"
    assert set(cache.read("t_OFFLINE", ["b", "c"], read_now, 4)) == {"b", "c"}
    assert asked[3:] == [["b"]], "what went and came back is read again"


def test_a_hundred_thousand_records_are_kept_in_a_tenth_of_what_they_take() -> None:
    names = [f"events__{n % 8}__{n}__20261126T1100Z" for n in range(100_000)]

    def read_now(asked: Sequence[str]) -> dict[str, SegmentMetadata]:
        return {
            n: SimpleNamespace(  # type: ignore[misc]  # in its place
                status="DONE", download_url=f"store:///segments/events/{n}", size_bytes=i, start_ms=i, end_ms=i + 1
            )
            for i, n in enumerate(asked, 10**12)
        }

    cache = SegmentRecordCache()
    tracemalloc.start()
    try:
        cache.read("events_REALTIME", names, read_now, 1)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000 * 100
