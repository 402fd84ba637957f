"""What every Store promises: versions, conditional writes, transactions, ephemeral nodes, sessions."""

from __future__ import annotations

import threading
import time

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, InvalidInput, RecordCorrupt, Unavailable
from segments.store.base import Check, Create, Delete, Replace, Store
from segments.store.update import RetryPolicy, update_record
from tests.contract.conftest import World
from tests.waiting import wait_until

A, B, C = ZNRecord("a", {"k": "1"}), ZNRecord("b", {"k": "2"}, {"m": {"x": "y"}}, {"l": ["1", "2"]}), ZNRecord("c")


def test_a_created_znode_has_version_0_and_each_write_adds_one(store: Store):
    created = store.create("/t", A)
    replaced = store.replace("/t", B, 0)
    assert (created.record, created.version, replaced.record, replaced.version) == (A, 0, B, 1)
    assert store.get("/t") == replaced
    assert store.exists("/t") == 1


def test_a_read_reports_when_and_in_which_order_things_were_written(store: Store):
    first, second = store.create("/t1", A), store.create("/t2", A)
    assert abs(first.modified_ms - time.time() * 1000) < 60_000
    assert first.mzxid < second.mzxid < store.replace("/t1", B, 0).mzxid
    assert first.owner == 0


def test_a_missing_znode_is_none_and_has_no_children(store: Store):
    assert (store.get("/no"), store.exists("/no"), store.children("/no")) == (None, None, [])


def test_parents_are_made_as_empty_znodes(store: Store):
    store.create("/a/b/c", A)
    parent = store.get("/a/b")
    assert parent is not None
    assert (parent.record, parent.version) == (None, 0)
    assert (store.children("/"), store.children("/a"), store.children("/a/b")) == (["a"], ["b"], ["c"])


def test_children_come_sorted(store: Store):
    for name in ("b", "a", "c_2", "c_10"):
        store.create(f"/p/{name}", None)
    assert store.children("/p") == ["a", "b", "c_10", "c_2"]


def test_children_of_several_znodes_come_in_the_order_of_their_paths(store: Store):
    for path in ("/q/b", "/q/a", "/p/c"):
        store.create(path, None)
    assert store.children_many(["/q", "/no", "/p"]) == [["a", "b"], [], ["c"]]


def test_create_conflicts_with_an_existing_znode_even_an_empty_one(store: Store):
    store.create("/p/x", None)
    for path in ("/p", "/p/x"):
        with pytest.raises(Conflict, match="exists already"):
            store.create(path, A)


def test_replace_wants_exactly_the_version_and_an_existing_znode(store: Store):
    store.create("/t", A)
    store.replace("/t", B, 0)
    for path, version in (("/t", 0), ("/t", 2), ("/no", 0)):
        with pytest.raises(Conflict, match=path):
            store.replace(path, C, version)
    assert store.get("/t").record == B
    assert store.exists("/no") is None


def test_version_minus_one_does_not_mean_any(store: Store):
    store.create("/t", A)
    for write in (
        lambda: store.replace("/t", B, -1),
        lambda: store.delete("/t", -1),
        lambda: store.transaction([Replace("/t", B, -1)]),
    ):
        with pytest.raises(InvalidInput):
            write()
    assert store.exists("/t") == 0


def test_delete_reports_whether_it_was_there_and_conflicts_on_another_version(store: Store):
    store.create("/p/t", A)
    with pytest.raises(Conflict):
        store.delete("/p/t", 1)
    with pytest.raises(Conflict, match="children"):
        store.delete("/p")
    assert store.delete("/p/t", 0) is True
    assert store.delete("/p/t", 0) is False
    assert store.delete("/p") is True


def test_a_tree_is_deleted_with_all_below_it_and_nothing_else(store: Store):
    for path in ("/p/a/b/c", "/p/a/d", "/p2/a"):
        store.create(path, A)
    store.delete_tree("/p")
    store.delete_tree("/p")
    assert store.children("/") == ["p2"]


def test_many_znodes_are_read_in_the_order_asked(store: Store):
    store.create("/a", A)
    store.create("/b", B)
    found = store.get_many(["/b", "/no", "/a"] * 400)
    assert [v and v.record for v in found] == [B, None, A] * 400
    assert store.get_many([]) == []


def test_corrupt_bytes_are_not_taken_for_missing(world: World, store: Store):
    world.put_raw("/bad", b"no json")
    for read in (lambda: store.get("/bad"), lambda: store.get_many(["/bad"])):
        with pytest.raises(RecordCorrupt):
            read()
    assert store.exists("/bad") == 0


def test_a_long_record_goes_there_and_back_compressed(store: Store):
    long = ZNRecord("long", maps={f"segment_{i}": {"Server_a_8098": "ONLINE"} for i in range(30_000)})
    store.create("/long", long)
    assert store.get("/long").record == long


def test_a_record_that_was_read_can_be_changed_without_changing_the_store(store: Store):
    store.create("/t", B)
    store.get("/t").record.simple["k"] = "changed"
    assert store.get("/t").record == B


@pytest.mark.parametrize("path", ["", "t", "/t/", "//t", "/a//b"])
def test_what_is_no_path_is_refused_with_a_reason(store: Store, path: str):
    for call in (lambda: store.get(path), lambda: store.create(path, A), lambda: store.delete(path)):
        with pytest.raises(InvalidInput, match="not a znode path"):
            call()


def test_a_transaction_does_all_its_writes(store: Store):
    for name in ("replaced", "deleted", "checked"):
        store.create(f"/{name}", A)
    store.transaction(
        [
            Create("/new/deep/x", B),
            Replace("/replaced", C, 0),
            Delete("/deleted", 0),
            Check("/checked", 0),
            Create("/new/y", None),
        ]
    )
    assert (store.get("/new/deep/x").record, store.get("/replaced").record) == (B, C)
    assert (store.exists("/deleted"), store.exists("/checked"), store.exists("/new/y")) == (None, 0, 0)
    store.transaction([])


@pytest.mark.parametrize(
    "misfit",
    [
        Create("/t", None),
        Replace("/t", C, 1),
        Replace("/no", C, 0),
        Delete("/t", 1),
        Delete("/no"),
        Delete("/p"),
        Check("/t", 1),
        Check("/no", 0),
    ],
    ids=str,
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_transaction_with_one_misfit_writes_nothing_and_names_it(store: Store, misfit, place: int):
    store.create("/t", A)
    store.create("/v", A)
    store.create("/p/child", A)
    writes = [Create("/new", B), Replace("/v", B, 0)]
    writes.insert(place, misfit)
    with pytest.raises(Conflict, match=misfit.path):
        store.transaction(writes)
    assert (store.exists("/new"), store.exists("/t"), store.exists("/v"), store.exists("/p")) == (None, 0, 0, 0)


def test_later_writes_of_a_transaction_see_the_earlier_ones(store: Store):
    store.transaction([Create("/p", A), Create("/p/x", B), Replace("/p", C, 0)])
    store.transaction([Delete("/p/x"), Delete("/p", 1)])
    assert store.children("/") == []


def test_an_ephemeral_znode_lives_as_long_as_its_client(world: World, store: Store):
    other = world.client()
    created = other.create("/live/x", A, ephemeral=True)
    assert format(created.owner, "x") == other.session_id() != store.session_id()
    assert store.get("/live/x").owner == created.owner
    with pytest.raises(InvalidInput, match="ephemeral"):
        store.create("/live/x/below", A)
    other.close()
    assert (store.exists("/live/x"), store.exists("/live")) == (None, 0)


def test_a_lost_session_takes_the_ephemeral_znodes_and_calls_for_new_ones(world: World, store: Store):
    other = world.client()
    old, calls, renewed = other.session_id(), [], threading.Event()

    def make_again() -> None:
        calls.append(threading.current_thread().name)
        other.create("/live/x", A, ephemeral=True)
        renewed.set()

    other.create("/live/x", A, ephemeral=True)
    other.on_session(make_again)
    world.expire(other)
    assert renewed.wait(15.0)
    assert other.session_id() != old
    assert format(store.get("/live/x").owner, "x") == other.session_id()
    assert len(calls) == 1
    assert calls != [threading.main_thread().name]


def test_a_closed_store_says_so(world: World):
    store = world.client()
    store.create("/t", A)
    store.close()
    for call in (lambda: store.get("/t"), lambda: store.replace("/t", B, 0), lambda: store.watch("/t", print)):
        with pytest.raises(Unavailable, match="closed"):
            call()


def test_nothing_is_lost_when_many_threads_of_two_clients_update_one_znode(world: World):
    clients = [world.client(), world.client()]

    def add(number: int) -> None:
        for step in range(5):
            update_record(
                clients[number % 2],
                "/list",
                lambda found, entry=f"{number}-{step}": ZNRecord(
                    "list", lists={"all": [*(found.record.lists["all"] if found else []), entry]}
                ),
                policy=RetryPolicy(attempts=200),
            )

    threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    found = clients[0].get("/list")
    assert sorted(found.record.lists["all"]) == sorted(f"{n}-{s}" for n in range(8) for s in range(5))
    assert found.version == 39


class ClusterFollower:
    """Records what a watch reports."""

    def __init__(self, store: Store, prefix: str) -> None:
        self.seen: list[str | None] = []
        self.watch = store.watch(prefix, self.seen.append)
        wait_until(lambda: self.seen == [None], what="the first call")

    def sees(self, *paths: str | None) -> None:
        """Wait for exactly these calls after the first, then forget them."""
        wait_until(lambda: len(self.seen) > len(paths), what=f"{paths} (seen: {self.seen})")
        assert self.seen[1:] == list(paths)
        del self.seen[1:]


def test_a_watch_reports_creation_writes_and_deletion_at_and_below_its_prefix_in_order(world: World, store: Store):
    follower, other = ClusterFollower(store, "/tables/t"), world.client()
    other.create("/tables/t", A)
    other.create("/tables/t/s1", A)
    other.create("/tables/t2", A)
    other.create("/tables/t2/s1", A)
    other.replace("/tables/t/s1", B, 0)
    store.delete("/tables/t/s1")
    store.delete("/tables/t")
    follower.sees("/tables/t", "/tables/t/s1", "/tables/t/s1", "/tables/t/s1", "/tables/t")


def test_a_watch_reports_what_a_transaction_wrote_and_nothing_of_one_that_failed(store: Store):
    store.create("/w/a", A)
    follower = ClusterFollower(store, "/w")
    with pytest.raises(Conflict):
        store.transaction([Create("/w/b", A), Check("/w/a", 5)])
    store.transaction([Create("/w/c", A), Check("/w/a", 0), Replace("/w/a", B, 0)])
    follower.sees("/w/c", "/w/a")


def test_a_watch_on_the_root_sees_all(store: Store):
    store.create("/first", A)  # makes the cluster's own znode in ZooKeeper
    follower = ClusterFollower(store, "/")
    store.create("/x/y", A)
    follower.sees("/x", "/x/y")


def test_a_watch_sees_an_ephemeral_znode_go_with_its_client(world: World, store: Store):
    other = world.client()
    other.create("/live/x", A, ephemeral=True)
    follower = ClusterFollower(store, "/live")
    other.close()
    follower.sees("/live/x")


def test_watches_on_one_prefix_are_independent(store: Store):
    store.create("/first", A)
    first, second, above = ClusterFollower(store, "/w"), ClusterFollower(store, "/w"), ClusterFollower(store, "/")
    first.watch.close()
    first.watch.close()
    store.create("/w", A)
    second.sees("/w")
    above.sees("/w")
    second.watch.close()
    store.create("/w/x", A)
    above.sees("/w/x")
    assert first.seen == second.seen == [None]
    ClusterFollower(store, "/w").watch.close()
    again = ClusterFollower(store, "/w")
    store.create("/w/y", A)
    again.sees("/w/y")


def test_a_callback_that_raises_is_called_again(store: Store, caplog: pytest.LogCaptureFixture):
    calls = []

    def fail(path: str | None) -> None:
        calls.append(path)
        raise ValueError("a fault of the follower")

    store.watch("/w", fail)
    store.create("/w", A)
    wait_until(lambda: calls == [None, "/w"], what="both calls")
    assert "a fault of the follower" in caplog.text


def test_a_watch_outlives_a_lost_session_and_says_that_anything_may_have_changed(world: World, store: Store):
    follower = ClusterFollower(store, "/w")
    world.expire(store)
    follower.sees(None)
    world.client().create("/w/x", A)
    follower.sees("/w", "/w/x")
