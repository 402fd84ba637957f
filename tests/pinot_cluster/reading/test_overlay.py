"""The store of a Pinot cluster laid over ours: ours is written, Pinot's never, and each is found where it is."""

from __future__ import annotations

import threading

import pytest

from segments.domain.formats.znrecord import ZNRecord, encode
from segments.errors import Conflict, Forbidden, Unavailable
from segments.store import paths
from segments.store.base import Create, Delete, Replace, Store
from segments.store.memory import MemoryStore
from segments.store.on_pinot.overlay import OverlayStore
from tests.waiting import wait_until

TABLE = "flights_OFFLINE"


@pytest.fixture
def overlay() -> OverlayStore:
    pinot = MemoryStore()
    pinot.put_raw(paths.lineage(TABLE), encode(ZNRecord(TABLE)))
    own = MemoryStore()
    return OverlayStore(lambda: own, "prod", pinot)


def own_of(overlay: OverlayStore) -> Store:
    return overlay._own()


def test_what_is_ours_lies_in_our_own_zookeeper(overlay: OverlayStore) -> None:
    job = paths.job("1")
    overlay.create(job, ZNRecord("1", {"state": "OPEN"}))
    assert own_of(overlay).exists("/PINOTADMIN/CLUSTERS/prod/JOBS/1") == 0
    assert overlay.children(paths.JOBS) == ["1"]
    overlay.replace(job, ZNRecord("1", {"state": "DONE"}), 0)
    with pytest.raises(Conflict):
        overlay.replace(job, ZNRecord("1"), 0)
    ours, theirs, neither = overlay.get_many([job, paths.lineage(TABLE), paths.lineage("none_OFFLINE")])
    assert ours is not None
    assert theirs is not None
    assert ours.version == 1
    assert neither is None
    overlay.transaction([Delete(job, 1), Create(paths.job("2"), ZNRecord("2"))])
    assert overlay.children(paths.JOBS) == ["2"]
    overlay.delete_tree(paths.JOBS)
    assert overlay.exists(paths.JOBS) is None


def test_two_clusters_share_nothing(overlay: OverlayStore) -> None:
    other = OverlayStore(overlay._own, "test", MemoryStore())
    overlay.create(paths.job("1"), ZNRecord("1"))
    assert other.get(paths.job("1")) is None


def test_what_is_pinots_is_read_and_never_written(overlay: OverlayStore) -> None:
    path = paths.lineage(TABLE)
    assert overlay.exists(path) == 0
    for write in (
        lambda: overlay.create(paths.lineage("x_OFFLINE"), ZNRecord("x")),
        lambda: overlay.replace(path, ZNRecord(TABLE), 0),
        lambda: overlay.delete(path),
        lambda: overlay.delete_tree("/"),
        lambda: overlay.transaction([Create(paths.job("1"), ZNRecord("1")), Replace(path, ZNRecord(TABLE), 0)]),
        lambda: overlay.create("/PINOTADMINX", None),
    ):
        with pytest.raises(Forbidden):
            write()
    assert overlay.exists(path) == 0
    assert overlay.exists(paths.job("1")) is None


def test_watches_of_the_overlay_report_paths_as_they_are_asked_for(overlay: OverlayStore) -> None:
    told: list[str | None] = []
    done = threading.Event()

    def note(path: str | None) -> None:
        told.append(path)
        if path == paths.job("1"):
            done.set()

    watch = overlay.watch("/", note)
    wait_until(lambda: told == [None, None], 30.0)
    overlay.create(paths.job("1"), ZNRecord("1"))
    assert done.wait(30)
    watch.close()


def test_pinots_state_is_read_while_our_own_zookeeper_is_unreachable() -> None:
    pinot = MemoryStore()
    pinot.put_raw(paths.lineage(TABLE), encode(ZNRecord(TABLE)))

    def away() -> Store:
        raise Unavailable("ZooKeeper is away.")

    overlay = OverlayStore(away, "prod", pinot)
    assert overlay.exists(paths.lineage(TABLE)) == 0
    with pytest.raises(Unavailable):
        overlay.get(paths.job("1"))
