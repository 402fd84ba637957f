"""Where Pinot's protocol loses data, reports nothing or shows both sides, this one does not, each
as a test.

Leases are in ``test_entry_lease.py``, several steps back in ``test_rollback.py``, fenced uploads in
``test_uploads.py``.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import external_view, with_rows
from segments.errors import InvalidInput, PinotAdminError, PreconditionFailed, StateConflict
from segments.models import AuditEvent
from segments.names import TableName
from segments.services.core.context import Context, Limits
from segments.services.replacement import protocol as replacement
from segments.services.segments import online
from segments.services.tables.tables import update_table
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.update import update_record
from tests.faults.controllers import BOB, SERVER, Controller, pushed, step
from tests.faults.faulty import Fault, FaultyStore, Plan
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db
BROKER = "Broker_a_1"


@pytest.fixture
def table(tmp_path: Path) -> Controller:
    return Controller(MemoryStore(), tmp_path, now=1_700_000_000_000).create()


def keeping(tmp_path: Path, kept: str | None, **segments_config: str) -> Controller:
    custom = {"pinotadmin.replacement.snapshotsKept": kept} if kept is not None else None
    return Controller(MemoryStore(), tmp_path, now=1_700_000_000_000).create(custom=custom, **segments_config)


def push(table: Controller, *segments: str) -> None:
    """One forced push of the whole table after another."""
    for segment in segments:
        assert table.now is not None
        table.now += 1000
        assert (
            table.act(pushed(segment, next(iter(table.visible), None), entry=f"to-{segment}", force=True))[-1] == "ok"
        )


def acknowledge(table: Controller) -> None:
    node, path = table.store.get(paths.lineage(table.table.typed)), paths.routing_ack(table.table.typed, BROKER)
    record, old = ZNRecord(BROKER, {"lineageZxid": str(node.mzxid if node else 0)}), table.store.get(path)
    table.store.create(path, record) if old is None else table.store.replace(path, record, old.version)


# Rule `conditional-writes`: writes that nobody checks


def test_pinots_very_first_entry_overwrites_that_of_another_controller(table: Controller) -> None:
    faulty = FaultyStore(table.store, Plan(before={1: lambda: table.start([], ["theirs"], entry="theirs")}))
    table.on(faulty).start([], ["mine"], entry="mine")
    assert set(table.look().lineage.entries) == {"mine", "theirs"}


def test_pinot_deletes_what_an_attempt_decided_that_was_never_written(table: Controller) -> None:
    table.act([step("upload", "a"), *pushed("b", "a", force=True)])
    faulty = FaultyStore(table.store, Plan(before={1: lambda: table.revert("e1")}))
    with pytest.raises(PinotAdminError):
        table.on(faulty).start(["b"], ["c"], force=True, entry="e2")
    assert (table.visible, set(table.look().ideal.maps)) == ({"a"}, {"a"})


@pytest.mark.parametrize("fault", [Fault.LOST_AFTER, Fault.LOST_BEFORE, Fault.CONFLICT])
def test_a_reply_that_is_lost_starts_nothing_twice(table: Controller, fault: Fault) -> None:
    table.on(FaultyStore(table.store, Plan({1: fault}))).start([], ["n"], entry="e1")
    node = table.store.get(paths.lineage(table.table.typed))
    assert (node and node.version, list(table.look().lineage.entries)) == (0, ["e1"])


# Rule `no-mutual-hiding`: entries that hide everything, or cannot be read back


def test_pinot_lets_two_snapshots_swap_until_both_are_hidden(table: Controller) -> None:
    table.act([step("upload", "a"), *pushed("b", "a")])
    with pytest.raises(StateConflict, match="old side of lineage entry 'e1'"):
        table.start(["b"], ["a"])
    assert table.visible == {"b"}


@pytest.mark.parametrize("new", [["b,c"], ["b", "b"], ["a"], [""]])
def test_pinot_takes_names_with_commas_doubles_and_segments_that_replace_themselves(
    table: Controller, new: list[str]
) -> None:
    table.upload("a")
    with pytest.raises(InvalidInput):
        table.start(["a"], new)
    assert table.store.get(paths.lineage(table.table.typed)) is None


# Rule `refusals-are-4xx`: every refusal is a 500 without a cause, which clients repeat for minutes


@pytest.mark.parametrize(
    ("call", "status", "said"),
    [
        (step("start", ["nope"], ["n"]), 404, "'nope'"),
        (step("start", ["b"], ["n"]), 409, "'open'"),
        (step("end", "open"), 412, "'late'"),
        (step("end", "open", ["strange"]), 400, "'strange'"),
        (step("end", "unknown"), 404, "'unknown'"),
        (step("revert", "e1"), 409, "'open'"),
        (step("revert", "taken"), 409, "already"),
    ],
)
def test_pinot_answers_500_where_cause_entry_and_remedy_are_known(
    table: Controller, call: tuple, status: int, said: str
) -> None:
    before = [step("upload", "a"), *pushed("b", "a"), step("start", ["b"], ["late"], entry="open")]
    assert table.act([*before, step("start", [], ["x"], entry="taken"), step("revert", "taken")])[-1] == "ok"
    name, given = call
    with pytest.raises(PinotAdminError, match=said) as caught:
        getattr(table, name)(*given["args"])
    assert (caught.value.status, AuditEvent.objects.filter(outcome="refused").count()) == (status, 1)
    assert caught.value.remedy or caught.value.data


# Rule `previous-snapshots-kept`: the rollback target goes before its successor is proven, and only one is kept


def test_pinot_deletes_the_rollback_target_when_the_third_push_starts(table: Controller) -> None:
    push(table, "p1", "p2")
    table.start(["p2"], ["p3"], force=True, entry="e3")
    assert set(table.look().ideal.maps) == {"p1", "p2"}
    table.revert("e3")
    table.revert("to-p2")
    assert table.visible == {"p1"}


@pytest.mark.parametrize(
    ("kept", "left"), [(None, "p3 p4"), ("0", "p4"), ("1", "p3 p4"), ("2", "p2 p3 p4"), ("9", "p1 p2 p3 p4")]
)
def test_pinot_keeps_one_snapshot_however_many_the_table_needs(tmp_path: Path, kept: str | None, left: str) -> None:
    table = keeping(tmp_path, kept)
    push(table, "p1", "p2", "p3", "p4")
    assert sorted(table.look().ideal.maps) == left.split()


@pytest.mark.parametrize(("kept", "left"), [(None, "p3"), ("1", "p2 p3"), ("2", "p1 p2 p3")])
def test_snapshots_that_the_table_asks_for_outlive_the_retention_of_replaced_ones(
    tmp_path: Path, kept: str | None, left: str
) -> None:
    table = keeping(tmp_path, kept, replacedSegmentsRetentionPeriod="0s")
    for new, old in (("p1", None), ("p2", "p1"), ("p3", "p2")):
        table.act(pushed(new, old, entry=f"to-{new}"))
    assert table.now is not None
    table.now += 10 * 24 * 3_600_000
    for _ in range(3):
        table.serve()
        table.retain()
    assert sorted(table.look().ideal.maps) == left.split()


def test_a_setting_that_is_no_number_is_refused_with_the_table(table: Controller) -> None:
    body = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "metadata": {"customConfigs": {"pinotadmin.replacement.snapshotsKept": "many"}},
    }
    table.store.create(paths.schema("t"), ZNRecord("t", {"schemaJSON": '{"schemaName": "t"}'}))
    with pytest.raises(InvalidInput, match=r"snapshotsKept.*from 0 to 100"):
        update_table(table.ctx, "t", body, actor=BOB)


# Rule `all-replicas-first`: one replica is enough, and the answer comes before any broker switched


def with_replicas(table: Controller, online: str) -> None:
    """Segment b on two live servers, served by ``online``."""
    table.store.create(paths.live_instance("Server_b_1"), ZNRecord("Server_b_1"))
    seen = table.look()
    ideal = with_rows(seen.ideal, {"b": dict.fromkeys((SERVER, "Server_b_1"), "ONLINE")})
    table.store.replace(paths.ideal_state(table.table.typed), ideal, seen.ideal_version)
    served = {**ideal.maps, "b": dict.fromkeys(online.split(), "ONLINE")}
    update_record(table.store, paths.external_view(table.table.typed), lambda _: external_view(ideal, served))


def half_loaded(folder: Path, custom: dict[str, str] | None = None) -> Controller:
    """Entry e1 replaces a by b, which one of two servers serves."""
    table = Controller(MemoryStore(), folder).create(custom=custom)
    table.act([step("upload", "a"), step("start", ["a"], ["b"], entry="e1"), step("upload", "b")])
    with_replicas(table, SERVER)
    return table


def test_pinot_switches_while_a_replica_is_still_loading(tmp_path: Path) -> None:
    table, told = half_loaded(tmp_path), list[tuple[int, int]]()
    with pytest.raises(PreconditionFailed, match="not online"):
        replacement.end_replace(table.ctx, table.table, "e1", actor=BOB, progress=lambda *n: told.append(n))
    assert (table.visible, told) == ({"a"}, [(1, 2)])


def test_a_table_may_ask_for_fewer_replicas(tmp_path: Path) -> None:
    table = half_loaded(tmp_path, {"pinotadmin.replacement.replicasRequired": "1"})
    table.end("e1")
    assert table.visible == {"b"}


def test_pinot_answers_before_any_broker_switched(table: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    table.act([step("upload", "a"), step("start", ["a"], ["b"], entry="e1"), step("upload", "b")])
    table.store.create(paths.live_instance(BROKER), ZNRecord(BROKER))
    acknowledge(table)
    table.ctx = dataclasses.replace(table.ctx, limits=Limits(broker_ack_s=30.0))
    monkeypatch.setattr(
        "segments.services.core.audit.record", lambda *_, **__: None
    )  # another thread has no part in this transaction
    ended = threading.Thread(target=lambda: table.end("e1"))
    ended.start()
    wait_until(lambda: table.visible == {"b"})
    ended.join(0.2)
    assert ended.is_alive()
    acknowledge(table)
    ended.join(10.0)
    assert not ended.is_alive()


# Rule `acknowledged-switch`: segments vanish under brokers that still answer from them


def test_pinot_removes_segments_while_a_broker_still_routes_to_them(table: Controller) -> None:
    table.act([step("upload", "a"), *pushed("b", "a")])
    table.store.create(paths.live_instance(BROKER), ZNRecord(BROKER))
    acknowledge(table)
    table.revert("e1")
    assert (table.visible, set(table.look().ideal.maps)) == ({"a"}, {"a", "b"})
    table.retain()
    table.start(["a"], ["c"], force=True)
    assert "b" in table.look().ideal.maps
    with pytest.raises(StateConflict, match="still answers from it"):
        table.start([], ["b"])
    acknowledge(table)
    table.retain()
    assert "b" not in table.look().ideal.maps


# Rule `dropped-segments-go`: a narrower end shows what it dropped


def test_pinot_shows_what_a_narrower_end_dropped_next_to_what_it_kept(table: Controller) -> None:
    table.act([step("upload", "a"), step("start", ["a"], ["b", "c"], entry="e1"), step("upload", "b", "c")])
    table.end("e1", ["b"])
    assert (table.visible, set(table.look().ideal.maps)) == ({"b"}, {"a", "b"})


def test_a_long_wait_reads_only_what_is_missing_and_all_of_it_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Controller(MemoryStore(), tmp_path).create()
    table.act([step("start", [], ["b", "c", "d"], entry="e1"), step("upload", "b", "c", "d")])
    with_replicas(table, SERVER)
    looked, told, look = list[tuple[str, ...]](), list[tuple[int, int]](), online.check_online

    def noting(ctx: Context, name: TableName, segments: Sequence[str], required: int | None) -> online.SegmentsSeen:
        looked.append(tuple(segments))
        if len(looked) == 3:
            table.serve()
        return look(ctx, name, segments, required)

    monkeypatch.setattr(online, "check_online", noting)
    monkeypatch.setattr(online, "_MANY", 2)
    online.wait_until_online(table.ctx, table.table, ["b", "c", "d"], progress=lambda *n: told.append(n))
    assert (looked[0], set(looked[1:-1]), looked[-1]) == (("b", "c", "d"), {("b",)}, ("b", "c", "d"))
    assert told == [(3, 4), (4, 4)]
