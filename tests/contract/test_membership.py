"""Cluster set-up, instances and messages, on both stores."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import StateConflict
from segments.store import paths
from segments.store.base import Store
from segments.store.records import instances, messages
from segments.store.records.cluster_setup import ensure_cluster
from tests.contract.conftest import World
from tests.waiting import wait_until

SERVER = "Server_127.0.0.1_8098"


def join(store: Store, **changes) -> instances.Membership:
    return instances.join(
        store,
        SERVER,
        "127.0.0.1",
        8098,
        ["DefaultTenant_OFFLINE"],
        **{"adminPort": "8097", "patience_s": 0.3, **changes},
    )


def test_a_cluster_is_set_up_once_and_a_second_run_changes_nothing(store: Store):
    ensure_cluster(store, "c")
    settings = store.get("/CONFIGS/CLUSTER/c")
    store.replace("/CONFIGS/CLUSTER/c", settings.record.with_simple_items({"default.hyperloglog.log2m": "12"}), 0)
    ensure_cluster(store, "c")
    assert store.get("/CONFIGS/CLUSTER/c").version == 1
    assert store.get("/CONFIGS/CLUSTER/c").record.simple["default.hyperloglog.log2m"] == "12"
    model = store.get(f"{paths.STATE_MODELS}/SegmentOnlineOfflineStateModel")
    assert (model.version, model.record.simple) == (0, {"INITIAL_STATE": "OFFLINE"})
    assert store.get(paths.BROKER_RESOURCE).version == 0
    assert {"CONFIGS", "EXTERNALVIEW", "IDEALSTATES", "INSTANCES", "LIVEINSTANCES", "PROPERTYSTORE"} <= set(
        store.children("/")
    )


def test_the_record_says_whether_an_instance_speaks_tls_for_as_long_as_it_does(store: Store):
    assert [_urls(store, **changes) for changes in ({}, {"adminHttpsPort": "8097"}, {"TLS_PORT": "8443"})] == [
        ("http://127.0.0.1:8097", "http://127.0.0.1:8098", False),
        ("https://127.0.0.1:8097", "http://127.0.0.1:8098", True),
        ("https://127.0.0.1:8097", "https://127.0.0.1:8443", True),
    ]
    assert _urls(store, adminHttpsPort=None, TLS_PORT=None) == ("http://127.0.0.1:8097", "http://127.0.0.1:8098", False)


def _urls(store: Store, **changes: str | None) -> tuple[str, str, bool]:
    join(store, **changes).leave()
    config = instances.instance_configs(store)[SERVER]
    return config.admin_url, config.web_url, config.has_tls


def test_an_instance_joins_with_config_folders_and_a_live_node_of_its_session(store: Store):
    join(store)
    live = instances.live_instances(store)[SERVER]
    assert (live.session, live.process) == (store.session_id(), f"{os.getpid()}@127.0.0.1")
    config = instances.instance_configs(store)[SERVER]
    assert (config.admin_url, config.port, config.tags, config.is_enabled) == (
        "http://127.0.0.1:8097",
        8098,
        ("DefaultTenant_OFFLINE",),
        True,
    )
    assert "MESSAGES" in store.children(f"/INSTANCES/{SERVER}")
    assert store.get(paths.live_instance(SERVER)).owner > 0


def test_joining_again_keeps_what_others_wrote_into_the_config(store: Store):
    join(store).leave()
    record = store.get(paths.participant(SERVER)).record
    store.replace(paths.participant(SERVER), record.with_simple(HELIX_ENABLED="false", HELIX_PORT="1"), 0)
    join(store)
    config = instances.instance_configs(store)[SERVER]
    assert (config.is_enabled, config.port) == (False, 8098)


def test_leaving_removes_the_live_node_only(store: Store):
    join(store).leave()
    assert instances.live_instances(store) == {}
    assert SERVER in instances.instance_configs(store)


def test_an_instance_is_live_again_in_a_new_session_until_it_leaves(world: World, store: Store):
    member, old = join(store), store.session_id()
    world.expire(store)
    wait_until(
        lambda: SERVER in (live := instances.live_instances(store)) and live[SERVER].session != old,
        what="the new live node",
    )
    assert instances.live_instances(store)[SERVER].session == store.session_id()
    member.leave()
    before = store.session_id()
    world.expire(store)
    wait_until(lambda: store.session_id() != before, what="the third session")
    assert instances.live_instances(store) == {}


def test_a_name_that_another_live_process_holds_is_refused(world: World, store: Store):
    join(world.client(), process="1@elsewhere")
    with pytest.raises(StateConflict, match=f"{SERVER} is alive in another process"):
        join(store)
    assert instances.live_instances(store)[SERVER].process == "1@elsewhere"


def test_a_node_left_by_a_dead_process_of_this_host_is_replaced_at_once(world: World, store: Store):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    join(world.client(), process=f"{dead.pid}@127.0.0.1")
    join(store)
    assert instances.live_instances(store)[SERVER].session == store.session_id()


def test_a_node_left_by_an_older_session_of_this_process_is_replaced_at_once(world: World, store: Store):
    join(world.client())
    join(store)
    assert instances.live_instances(store)[SERVER].session == store.session_id()


def operation(name: str) -> str:
    return f'{{"OPERATION":"{name}","SOURCE":"USER","REASON":"","TIMESTAMP":"1"}}'


@pytest.mark.parametrize(
    ("simple", "operations", "enabled"),
    [
        ({}, [], True),
        ({"HELIX_ENABLED": "false"}, [], False),
        ({}, [operation("DISABLE")], False),
        ({}, [operation("DISABLE"), operation("ENABLE")], True),
        ({}, [operation("ENABLE"), operation("EVACUATE")], False),
        ({"HELIX_ENABLED": "true"}, [operation("DISABLE")], True),
        ({"HELIX_ENABLED": "false"}, [operation("ENABLE")], False),
    ],
)
def test_an_instance_is_enabled_by_flag_and_last_operation(simple, operations, enabled):
    record = ZNRecord(SERVER, simple, lists={"HELIX_INSTANCE_OPERATIONS": operations} if operations else {})
    assert instances.parse_config(record).is_enabled is enabled


def test_a_config_without_admin_port_means_the_default():
    assert instances.parse_config(ZNRecord("Server_h_1", {"HELIX_HOST": "h"})).admin_url == "http://h:8097"


def send(store: Store, **changes) -> str:
    ids = itertools.count(1)
    given = {"resource": "t_REALTIME", "session": "abc", "new_id": lambda: f"id{next(ids)}", "now_ms": 5, **changes}
    return messages.send(store, SERVER, messages.FORCE_COMMIT, **given)


def test_a_message_is_read_as_it_was_sent_and_is_gone_after_delete(store: Store):
    send(store, fields={"tableName": "t_REALTIME", "segmentNames": "a,b"}, lists={"segmentNames": ["a"]}, cluster="c")
    (message,) = messages.read(store, SERVER)
    assert (message.id, message.type, message.subtype, message.resource) == (
        "id1",
        "USER_DEFINE_MSG",
        "FORCE_COMMIT",
        "t_REALTIME",
    )
    assert (message.partition, message.created_ms, message.lists) == ("", 5, {"segmentNames": ["a"]})
    assert message.simple["segmentNames"] == "a,b"
    assert (
        message.simple | {"MSG_ID": "id1", "MSG_STATE": "NEW", "TGT_NAME": SERVER, "SRC_CLUSTER": "c"} == message.simple
    )
    assert messages.delete(store, message) is True
    assert messages.delete(store, message) is False
    assert messages.read(store, SERVER) == []


def test_messages_come_oldest_first_and_only_for_their_session(store: Store):
    send(store, now_ms=20, new_id=lambda: "a")
    send(store, now_ms=3, new_id=lambda: "b", session=messages.ANY_SESSION)
    old, new = messages.read(store, SERVER)
    assert (old.id, new.id) == ("b", "a")
    assert [m.is_for("abc") for m in (old, new)] == [True, True]
    assert [m.is_for("def") for m in (old, new)] == [True, False]


def test_a_message_nobody_can_read_does_not_block_the_queue(world: World, store: Store):
    send(store)
    world.put_raw(f"{paths.messages(SERVER)}/bad", b"no json")
    assert [m.id for m in messages.read(store, SERVER)] == ["id1"]
    assert store.children(paths.messages(SERVER)) == ["id1"]
