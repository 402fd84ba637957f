"""One set of secrets, one process at a time with a role: what processes agree on in ZooKeeper."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest

from segments.errors import StateConflict
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.records.elected import Elected
from segments.store.records.shared_secrets import agree_on_secrets, forget_secrets, secrets_on_record

ONE, OTHER = {"A": "first secret", "B": "second secret"}, {"A": "first secret", "B": "another"}


def test_the_first_process_sets_the_secrets_and_others_are_compared() -> None:
    store = MemoryStore()
    agree_on_secrets(store, ONE)
    agree_on_secrets(store, ONE)
    with pytest.raises(StateConflict, match="B of this process is not that of the cluster"):
        agree_on_secrets(store, OTHER)
    assert secrets_on_record(store) == ["A", "B"]


def test_a_secret_that_is_not_given_is_neither_compared_nor_set() -> None:
    store = MemoryStore()
    agree_on_secrets(store, {"A": "first secret", "B": ""})
    assert secrets_on_record(store) == ["A"]
    agree_on_secrets(store, OTHER)  # who has B sets it
    with pytest.raises(StateConflict):
        agree_on_secrets(store, ONE)
    agree_on_secrets(MemoryStore(), {"A": ""})


def test_no_secret_and_no_plain_hash_of_one_is_on_record() -> None:
    first, second = MemoryStore(), MemoryStore()
    kept = []
    for store in (first, second):
        agree_on_secrets(store, ONE)
        node = store.get(paths.SHARED_SECRETS)
        assert node is not None
        assert node.record is not None
        kept.append(node.record.simple)
    assert "first secret" not in str(kept)
    assert kept[0]["A"] != kept[1]["A"]  # salted


def test_secrets_can_be_changed_when_they_are_forgotten() -> None:
    store = MemoryStore()
    assert not forget_secrets(store)
    agree_on_secrets(store, ONE)
    assert forget_secrets(store)
    agree_on_secrets(store, OTHER)


def test_of_several_one_has_a_role_and_another_gets_it_when_it_leaves() -> None:
    store = MemoryStore()
    one = Elected(store, "beat", "1@a")
    assert [one.is_mine(), one.is_mine(), one.holder()] == [True, True, "1@a"]
    node = store.get(paths.elected("beat"))
    assert node is not None
    one.leave()
    other = Elected(store, "beat", "2@b")
    assert (other.holder(), other.is_mine(), other.holder()) == ("", True, "2@b")


def test_a_role_of_another_session_is_not_ones_own() -> None:
    store = MemoryStore()
    mine = Elected(store, "mirror", "1@a")
    assert mine.is_mine()
    node = store.get(paths.elected("mirror"))
    assert node is not None
    assert node.record is not None
    another = {"SESSION_ID": "f00", "PROCESS": "2@b"}
    store.replace(paths.elected("mirror"), node.record.with_simple_items(another), node.version)
    assert not mine.is_mine()
    mine.leave()
    assert store.exists(paths.elected("mirror")) is not None


def test_a_role_that_was_taken_while_the_session_ended_is_taken_again() -> None:
    """The znode was made in the new session and names the old one: the process would wait for itself for ever."""
    store = MemoryStore()
    mine = Elected(store, "mirror", "1@a")
    assert mine.is_mine()
    node = store.get(paths.elected("mirror"))
    assert node is not None
    assert node.record is not None
    store.replace(paths.elected("mirror"), node.record.with_simple_items({"SESSION_ID": "f00"}), node.version)
    assert [mine.is_mine(), mine.is_mine(), mine.holder()] == [True, True, "1@a"]
    taken = store.get(paths.elected("mirror"))
    assert taken is not None
    assert taken.record is not None
    assert taken.record.simple["SESSION_ID"] == store.session_id()


def test_on_the_same_host_the_role_of_a_dead_process_is_taken_at_once() -> None:
    store, host = MemoryStore(), socket.gethostname()
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert Elected(store, "mirror", f"{gone.pid}@{host}").is_mine()
    path, mine = paths.elected("mirror"), Elected(store, "mirror", f"{os.getpid()}@{host}")
    for process, namespace, is_taken in (
        (f"{os.getppid()}@{host}", None, False),  # it lives
        (f"{gone.pid}@elsewhere", None, False),
        (f"{gone.pid}@{host}", "pid:[1]", False),  # of another container
        (f"{gone.pid}@{host}", None, True),
    ):
        node = store.get(path)
        assert node is not None
        assert node.record is not None
        fields = {"SESSION_ID": "f00", "PROCESS": process, **({"NAMESPACE": namespace} if namespace else {})}
        kept = node.record.simple["NAMESPACE"]
        store.replace(path, node.record.with_simple_items(fields), node.version)
        assert mine.is_mine() is is_taken, process
        if not is_taken:
            node = store.get(path)
            assert node is not None
            assert node.record is not None
            store.replace(path, node.record.with_simple_items({"NAMESPACE": kept}), node.version)
