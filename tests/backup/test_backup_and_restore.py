"""A backup restores what was there, elsewhere and under other names, or nothing at all."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, Permission, User

from segments.errors import InvalidInput, NotFound, OutcomeUnknown, PayloadTooLarge, StateConflict
from segments.models import AuditEvent, Cluster, Grant, Push, Segment, Snapshot
from segments.services.backup import backup_file
from segments.services.backup.backup import make_backup
from segments.services.backup.backup_file import BackupReader
from segments.services.backup.restore import Wanted, restore
from segments.services.core.context import Context
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.records.cluster_setup import ensure_cluster
from segments.store.records.restore_under_way import is_restore_under_way, refuse_half_restored
from tests.factories import make_event, make_push, make_segments, make_snapshot, make_table, make_user
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db

HEADER = b'{"format":"pinotadmin-backup","version":1}\n'
LONG_AGO = datetime(2020, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two segments with files, a user with rights, a push and an audit record; no server runs."""
    world = World(tmp_path / "store").upload("t_0", "t_1")
    ensure_cluster(world.memory, "test")
    world.memory.delete(paths.live_instance("Server_a_1"))
    world.memory.create(f"{paths.INSTANCES}/Server_a_1/MESSAGES/m", None)
    for name in ("t_0", "t_1"):
        node = world.memory.get(paths.segment(TABLE.typed, name))
        record = node.record.with_simple_items({"segment.download.url": f"store:///segments/t/{name}"})
        world.memory.replace(paths.segment(TABLE.typed, name), record, node.version)
        world.ctx.deep_store.write(f"t/{name}", b"bytes of " + name.encode())
    return world


def rows() -> None:
    cluster, _ = Cluster.objects.get_or_create(name="test")
    group = Group.objects.create(name="operators")
    group.permissions.add(Permission.objects.get(codename="view_table"))
    user = make_user("zoe")
    user.groups.add(group)
    Grant.objects.create(user=user, cluster="test", tables="t*")
    event = make_event(cluster="test", actor="zoe", reason="two\u2028lines\x0b\x85")
    AuditEvent.objects.filter(pk=event.pk).update(at=LONG_AGO)
    make_push(table_name="t", cluster="test")
    table = make_table("t_OFFLINE", cluster=cluster)
    make_segments(table, "t_0")
    make_snapshot(1, "t_OFFLINE", "t_0", cluster=cluster)


def elsewhere(world: World, folder: Path, cluster: str = "other") -> Context:
    """An empty cluster of another name on the same deep store."""
    store = MemoryStore()
    ensure_cluster(store, cluster)
    return replace(world.ctx, cluster=cluster, store=store)


def made(world: World, tmp_path: Path) -> Path:
    rows()
    make_backup(world.ctx, tmp_path / "backup.gz", ANN, "0.2.0")
    return tmp_path / "backup.gz"


def tree(store: MemoryStore) -> dict[str, object]:
    return {path: (node := store.get(path)) and node.record for path in sorted(store.tree.nodes)}


def test_a_restore_elsewhere_brings_records_and_rows_under_the_new_names(world: World, tmp_path: Path) -> None:
    path = made(world, tmp_path)
    target = elsewhere(world, tmp_path)
    make_event(cluster="other", action="of the target")
    done = restore(target, path, Wanted(replace=True, servers={"Server_a_1": "Server_b_8098"}), ANN)
    assert target.store.get(paths.segment(TABLE.typed, "t_1")).record == (
        world.memory.get(paths.segment(TABLE.typed, "t_1")).record
    )
    assert target.store.get(paths.ideal_state(TABLE.typed)).record.maps == {
        "t_0": {"Server_b_8098": "ONLINE"},
        "t_1": {"Server_b_8098": "ONLINE"},
    }
    assert target.store.children(f"{paths.INSTANCES}/Server_b_8098") == []
    assert target.store.children(paths.CLUSTER_CONFIGS) == ["other"]
    assert target.store.get(f"{paths.CLUSTER_CONFIGS}/other").record.id == "other"
    assert (done.missing, is_restore_under_way(target.store)) == ((), False)

    zoe = User.objects.get(username="zoe")
    assert zoe.groups.get().permissions.get().codename == "view_table"
    assert Grant.objects.get(user=zoe).cluster == "other"
    assert Push.objects.get().cluster == "other"
    assert Snapshot.objects.get().cluster.name == "other"
    assert not Segment.objects.exists(), "mirrors are filled from ZooKeeper"
    assert not AuditEvent.objects.filter(action="of the target").exists()
    assert AuditEvent.objects.get(actor="zoe").at == LONG_AGO
    assert AuditEvent.objects.get(actor="zoe").reason == "two\u2028lines\x0b\x85"
    assert AuditEvent.objects.first().action == "restore"


def test_keys_of_new_rows_follow_those_that_were_restored(world: World, tmp_path: Path) -> None:
    path = made(world, tmp_path)
    last = AuditEvent.objects.order_by("-pk").values_list("pk", flat=True)[0]
    restore(elsewhere(world, tmp_path), path, Wanted(replace=True), ANN)
    assert make_event().pk > last
    assert make_user("new").pk > User.objects.get(username="zoe").pk


def test_a_backup_is_for_its_owner_alone_and_readable_by_any_tool(world: World, tmp_path: Path) -> None:
    path = made(world, tmp_path)
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert path.stat().st_mode & 0o777 == 0o600
    assert {k: lines[0][k] for k in ("format", "version", "program", "cluster", "servers")} == {
        "format": "pinotadmin-backup", "version": 1, "program": "0.2.0", "cluster": "test", "servers": ["Server_a_1"],
    }  # fmt: skip
    assert {"file": "t/t_0", "size": 12, "crc": 1} in lines
    assert "sha256" in lines[-1]
    assert not [line for line in lines if "Server_a_1/MESSAGES" in line.get("znode", "")]
    assert AuditEvent.objects.first().action == "backup"


def test_a_target_that_is_used_is_refused_before_anything_is_written(world: World, tmp_path: Path) -> None:
    path = made(world, tmp_path)
    before = tree(world.memory)
    with pytest.raises(StateConflict, match="not empty: ZooKeeper has records below /PROPERTYSTORE"):
        restore(world.ctx, path, Wanted(), ANN)
    with pytest.raises(StateConflict, match="not empty: the database holds records"):
        restore(elsewhere(world, tmp_path), path, Wanted(), ANN)
    assert tree(world.memory) == before


def test_a_target_with_running_parts_is_refused_even_to_be_replaced(world: World, tmp_path: Path) -> None:
    path, target = made(world, tmp_path), elsewhere(world, tmp_path)
    target.store.create(paths.live_instance("Broker_x_9000"), None)
    world.memory.create(paths.live_instance("Broker_x_9000"), world.memory.get(paths.BROKER_RESOURCE).record)
    with pytest.raises(StateConflict, match="Broker_x_9000 runs"):
        restore(world.ctx, path, Wanted(replace=True), ANN)


def test_missing_and_changed_files_are_named_and_nothing_is_restored(world: World, tmp_path: Path) -> None:
    path, target = made(world, tmp_path), elsewhere(world, tmp_path)
    world.ctx.deep_store.delete("t/t_0")
    world.ctx.deep_store.write("t/t_1", b"less")
    with pytest.raises(StateConflict, match=r"2 of 2 files .* t/t_0 is missing; t/t_1 has 4 bytes instead of 12"):
        restore(target, path, Wanted(replace=True), ANN)
    assert target.store.children(paths.SEGMENTS) == []
    done = restore(target, path, Wanted(replace=True, without_missing=True), ANN)
    assert len(done.missing) == 2
    assert target.store.children(paths.segments(TABLE.typed)) == ["t_0", "t_1"]


def test_a_dry_run_says_the_same_and_writes_nothing(world: World, tmp_path: Path) -> None:
    path, target = made(world, tmp_path), elsewhere(world, tmp_path)
    before, events = tree(target.store), AuditEvent.objects.count()
    done = restore(target, path, Wanted(replace=True, dry_run=True), ANN)
    assert (done.znodes > 20, done.rows > 5, done.files) == (True, True, 2)
    assert (tree(target.store), AuditEvent.objects.count()) == (before, events)


def test_a_cut_restore_keeps_all_parts_away_until_it_was_done_again(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = made(world, tmp_path), elsewhere(world, tmp_path)

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("segments.services.backup.database_rows.load", cut)
        with pytest.raises(KeyboardInterrupt):
            restore(target, path, Wanted(replace=True), ANN)
    with pytest.raises(StateConflict, match="restore of this cluster is under way"):
        refuse_half_restored(target.store)
    target.store.create(paths.segment(TABLE.typed, "of_the_first_try"), None)
    restore(target, path, Wanted(), ANN)
    refuse_half_restored(target.store)
    assert target.store.children(paths.segments(TABLE.typed)) == ["t_0", "t_1"]


def test_a_row_that_does_not_fit_leaves_everything_as_it_was(world: World, tmp_path: Path) -> None:
    path, target = made(world, tmp_path), elsewhere(world, tmp_path)
    lines = [line for line in gzip.decompress(path.read_bytes()).splitlines() if line.startswith(b'{"row"')]
    forged = tmp_path / "forged.gz"
    with backup_file.written(forged) as writer:
        writer.header(cluster="test", id="x", servers=[])
        for line in lines:
            writer.add("row", line.replace(b'"reason"', b'"no_such_column"'))
    target.store.create(paths.segment(TABLE.typed, "of_before"), None)
    events, before = AuditEvent.objects.count(), tree(target.store)
    with pytest.raises(InvalidInput, match="does not fit the database"):
        restore(target, forged, Wanted(replace=True), ANN)
    assert (AuditEvent.objects.count(), tree(target.store)) == (events, before)


@pytest.mark.parametrize(
    "line", [b'{"znode":"/LIVEINSTANCES/x","record":null}', b'{"znode":"/a","record":{"id":"a","mapFields":[1]}}']
)
def test_a_foreign_file_brings_only_what_a_backup_may_hold(world: World, tmp_path: Path, line: bytes) -> None:
    target = elsewhere(world, tmp_path)
    target.store.create(paths.segment(TABLE.typed, "of_before"), None)
    before = tree(target.store)
    forged = tmp_path / "forged.gz"
    with backup_file.written(forged) as writer:
        writer.header(cluster="test", id="x", servers=[])
        writer.add("znode", line)
    with pytest.raises(InvalidInput):
        restore(target, forged, Wanted(replace=True), ANN)
    assert tree(target.store) == before


def test_files_that_are_no_whole_backup_are_refused(world: World, tmp_path: Path) -> None:
    path = made(world, tmp_path)
    whole = gzip.decompress(path.read_bytes())
    cases = {
        "cut": (whole[:-100], "its end is missing"),
        "changed": (whole.replace(b"t_1", b"t_7", 1), "its checksum differs"),
        "newer": (whole.replace(b'"version":1', b'"version":2', 1), "this program knows 1"),
        "other": (b'{"a":1}\n' * 3, "is not a backup of pinotadmin"),
        "text": (b"hello\n" * 3, "is not a backup of pinotadmin"),
        "empty": (b"", "its end is missing"),
    }
    for name, (content, words) in cases.items():
        (tmp_path / name).write_bytes(gzip.compress(content))
        with pytest.raises(InvalidInput, match=words):
            BackupReader(tmp_path / name)
    (tmp_path / "plain").write_bytes(b"hello")
    with pytest.raises(InvalidInput, match="cannot be read"):
        BackupReader(tmp_path / "plain")
    with pytest.raises(NotFound):
        BackupReader(tmp_path / "nothing")


def test_a_file_that_unpacks_beyond_measure_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_file, "_ALWAYS", 1 << 20)
    (tmp_path / "bomb").write_bytes(gzip.compress(HEADER + (b'{"znode":1}' + b" " * 989 + b"\n") * 100_000))
    with pytest.raises(PayloadTooLarge):
        BackupReader(tmp_path / "bomb")
    monkeypatch.setattr(backup_file, "LONGEST_LINE", 1 << 16)
    (tmp_path / "line").write_bytes(gzip.compress(HEADER + os.urandom(1 << 17).replace(b"\n", b"")))
    with pytest.raises(PayloadTooLarge):
        BackupReader(tmp_path / "line")


def test_two_servers_cannot_become_one_and_an_unknown_one_is_named(world: World, tmp_path: Path) -> None:
    path = made(world, tmp_path)
    with pytest.raises(InvalidInput, match="has no server Server_z_1"):
        restore(elsewhere(world, tmp_path), path, Wanted(replace=True, servers={"Server_z_1": "Server_b_1"}), ANN)
    with pytest.raises(InvalidInput, match="one name"):
        world.memory.create(f"{paths.INSTANCES}/Server_b_1", None)
        make_backup(world.ctx, path, ANN, "0.2.0")
        restore(elsewhere(world, tmp_path), path, Wanted(replace=True, servers={"Server_a_1": "Server_b_1"}), ANN)


def test_a_lost_answer_is_read_and_not_sent_blindly_again(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = made(world, tmp_path), elsewhere(world, tmp_path)
    transaction, calls = target.store.transaction, [0]

    def loses_the_answer(writes: object) -> None:
        transaction(writes)
        calls[0] += 1
        if calls[0] == 1:
            raise OutcomeUnknown("The connection was lost.")

    monkeypatch.setattr(target.store, "transaction", loses_the_answer)
    restore(target, path, Wanted(replace=True), ANN)
    assert target.store.children(paths.segments(TABLE.typed)) == ["t_0", "t_1"]
    assert calls[0] == 2
