"""A tree that is read while others write is the one of a single moment."""

from __future__ import annotations

import threading

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Unavailable
from segments.store.base import Create, Delete, Replace, Store
from segments.store.whole_tree import WholeTree
from tests.contract.conftest import World
from tests.waiting import wait_until


def read(store: Store, **patience: float) -> dict[str, str]:
    def keep(path: str, record: ZNRecord | None) -> bytes:
        return record.simple.get("n", "").encode() if record else b""

    found = WholeTree(store, lambda path: path != "/left_out", lambda path: True, keep).read(**patience)
    return {path: text.decode() for path, text in found.items()}


def number(n: int) -> ZNRecord:
    return ZNRecord("n", {"n": str(n)})


def test_all_znodes_are_read_but_those_of_processes_and_those_that_nobody_wants(world: World, store: Store) -> None:
    store.create("/a/b/c", number(7))
    store.create("/left_out", number(1))
    world.client().create("/a/mine", number(2), ephemeral=True)
    assert read(store) == {"/": "", "/a": "", "/a/b": "", "/a/b/c": "7"}


def test_what_belongs_together_is_together_while_somebody_writes(world: World, store: Store) -> None:
    """One transaction moves a number through the tree: at every moment it is in one place, and the sum is the same."""
    writer, stop, rounds = world.client(), threading.Event(), [0]
    for n in range(40):
        store.create(f"/t/{n}", number(0))
    store.create("/log/0", number(0))

    def write() -> None:
        while not stop.is_set():
            at = rounds[0]
            node = writer.get(f"/t/{at % 40}")
            writer.transaction(
                [
                    Replace(f"/t/{at % 40}", number(at + 1), node.version),
                    Delete(f"/log/{at}"),
                    Create(f"/log/{at + 1}", number(at + 1)),
                ]
            )
            rounds[0] += 1
            stop.wait(0.002)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        wait_until(lambda: rounds[0] > 45, what="the writer")
        for _ in range(5):
            found = read(store)
            newest = max(int(v) for path, v in found.items() if path.startswith("/t/"))
            assert [path for path in found if path.startswith("/log/")] == [f"/log/{newest}"]
            values = sorted(int(v) for path, v in found.items() if path.startswith("/t/"))
            assert values == list(range(newest - 39, newest + 1))
    finally:
        stop.set()
        thread.join(10.0)


def test_a_tree_that_never_stands_still_is_given_up(store: Store) -> None:
    store.create("/t", number(0))
    tree = WholeTree(store, lambda path: True, lambda path: True, lambda path, record: b"")
    read_before = tree._read_these

    def changes_again(paths: list[str], found: dict[str, bytes]) -> object:
        node = store.get("/t")
        store.replace("/t", number(1), node.version)
        return read_before(paths, found)

    tree._read_these = changes_again
    with pytest.raises(Unavailable, match="did not stand still for a moment"):
        tree.read(0.2)
