"""Replay: what fits after a change of the schema becomes rows once, whatever ends in between; what does not stays set
aside.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.realtime import raw_columns
from segments.domain.set_aside import Message, Report
from segments.domain.tables import schema as schemas
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, OutcomeUnknown, StateConflict
from segments.models import AuditEvent, Finding, SetAsideMessage, SetAsideReplay
from segments.names import REALTIME, TableName
from segments.services.realtime import realtime_validation
from segments.services.segments import uploads
from segments.services.set_aside import decoding, keeping, replay
from segments.services.set_aside.listing import Which
from segments.store import paths
from tests.dataplane.consuming.test_consuming import force
from tests.dataplane.consuming_world import RT, ConsumingWorld
from tests.dataplane.world import poll
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.set_aside.test_server import wrong

pytestmark = pytest.mark.django_db
ALL = Which()
KINDS = {
    "memory": ("7", {"streamType": "memory", "stream.memory.topic.name": "a"}),
    "redis": (
        "1700000000000-3",
        {"streamType": "redis", "stream.redis.topic.name": "a", "stream.redis.decoder.class.name": "json"},
    ),
    "kafka": ("7", {"streamType": "kafka", "stream.kafka.topic.name": "a", "stream.kafka.decoder.class.name": "json"}),
}


@pytest.fixture
def world(tmp_path: Path) -> RealtimeWorld:
    return RealtimeWorld(tmp_path)


def set_schema(world: Any, raw: str, **types: str) -> None:
    """Dimensions by name and type, and the time column."""
    times = [{"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}]
    fields = [{"name": name, "dataType": kind} for name, kind in types.items()]
    made = parse_schema({"schemaName": raw, "dimensionFieldSpecs": fields, "dateTimeFieldSpecs": times})
    node = world.ctx.store.get(paths.schema(raw))
    assert node is not None
    assert schemas.from_record(node.record) != made
    world.ctx.store.replace(paths.schema(raw), made.to_record(), node.version)


def set_stream(world: RealtimeWorld, stream: dict[str, str], **ingestion: Any) -> None:
    """The table reads another kind of stream, with this besides in its ``ingestionConfig``."""
    node = world.ctx.store.get(paths.table_config(TABLE.typed))
    assert node is not None
    body = {
        "tableName": "t",
        "tableType": "REALTIME",
        "segmentsConfig": {"timeColumnName": "ts", "replication": "2"},
        "tenants": {},
        "tableIndexConfig": {},
        "metadata": {},
        "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [stream]}, **ingestion},
    }
    world.ctx.store.replace(paths.table_config(TABLE.typed), parse_table_config(body).to_record(), node.version)


def report(world: RealtimeWorld, *payloads: bytes, offset: str = "", segment: str = "gone", size: int = 0) -> None:
    """Set messages aside as a server does."""
    messages = [
        Message("a", 0, offset or str(n), segment, 1, 1, "n", "Column 'n': wrong", size or len(p), p)
        for n, p in enumerate(payloads)
    ]
    keeping.keep_report(world.ctx, TABLE, Report(f"r{payloads}{segment}", "Server_1", messages, []))


def row(number: int, value: object) -> bytes:
    return json.dumps({"id": f"i{number}", "n": value, "ts": 1_700_000_000_000 + number}).encode()


def replayed_segments(world: RealtimeWorld) -> list[str]:
    return [s for s in world.ctx.store.children(paths.segments(TABLE.typed)) if "replayed" in s]


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_schema_change_what_fits_becomes_one_segment_and_the_rest_stays(
    world: RealtimeWorld, kind: str
) -> None:
    offset, stream = KINDS[kind]
    set_stream(world, {**stream, f"stream.{kind}.consumer.prop.auto.offset.reset": "smallest"})
    set_schema(world, "t", id="STRING", n="INT")
    report(world, row(1, "x"), offset=offset)
    report(world, b"no json", row(3, "y"))
    report(world, row(4, "z"), offset="99", size=50_000)
    before = replay.preview_replay(world.ctx, TABLE, ALL)
    set_schema(world, "t", id="STRING", n="STRING")
    preview = replay.preview_replay(world.ctx, TABLE, ALL)
    assert (preview["messages"], preview["decode"], preview["rows"], preview["fail"]) == (4, 2, 2, 2)
    assert {f["reason"][:12] for f in preview["failing"]} == {"The message ", "Only the fir"}
    assert (before["decode"], before["rows"]) == (0, 0)
    done = replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    assert (done["rows"], done["fail"], replayed_segments(world)) == (2, 2, [done["segment"]])
    record = world.ctx.store.get(paths.segment(TABLE.typed, done["segment"])).record  # type: ignore[union-attr]
    assert (record.simple["segment.total.docs"], record.simple["segment.realtime.status"]) == ("2", "UPLOADED")
    assert SetAsideMessage.objects.filter(replay=None).count() == 2
    event = AuditEvent.objects.get(action="replaySetAside")
    assert (event.actor, event.reason, event.detail["messages"]) == ("ann", "because", 2)
    assert "2 messages of the stream" in Finding.objects.get(code="messages-set-aside", closed_at=None).message
    with pytest.raises(StateConflict, match="None of these messages"):
        replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)


def test_a_replay_makes_so_many_bytes_of_rows_and_leaves_the_other_messages_to_the_next(
    world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_columns, "MOST_ROWS_AT_ONCE", 10)
    monkeypatch.setattr(decoding, "_MOST_BYTES", 1_000)
    set_stream(world, KINDS["memory"][1], complexTypeConfig={"fieldsToUnnest": ["list"]})
    set_schema(world, "t", **{"id": "STRING", "list.text": "STRING"})
    for number in range(3):
        many = [{"text": f"{each:0100}"} for each in range(8)]
        report(
            world, json.dumps({"id": f"i{number}", "list": many, "ts": 1_700_000_000_000}).encode(), offset=str(number)
        )
    preview = replay.preview_replay(world.ctx, TABLE, ALL)
    assert (preview["decode"], preview["rows"], preview["fail"]) == (2, 16, 1), "800 bytes are less, two messages more"
    assert "left to another replay" in preview["failing"][0]["reason"]
    first = replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    second = replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    assert [(one["rows"], one["fail"]) for one in (first, second)] == [(16, 1), (8, 0)]
    assert sorted(replayed_segments(world)) == sorted([first["segment"], second["segment"]])


def test_messages_of_a_segment_that_is_being_consumed_wait_for_its_commit(world: RealtimeWorld) -> None:
    report(world, row(1, "x"), segment=world.consuming[0])
    preview = replay.preview_replay(world.ctx, TABLE, ALL)
    (failing,) = preview["failing"]
    assert "force a commit first" in failing["reason"]
    assert preview["remedy"] == "Force a commit of the table's consuming segments, then replay these messages."
    with pytest.raises(StateConflict, match="still being consumed") as refused:
        replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    assert refused.value.remedy == preview["remedy"], "the schema is not to blame"


def test_a_replay_that_gives_no_row_says_what_helps_with_each_reason(world: RealtimeWorld) -> None:
    def remedy(*payloads: bytes, **more: Any) -> str:
        SetAsideMessage.objects.all().delete()
        report(world, *payloads, **more)
        with pytest.raises(StateConflict, match="None of these messages") as refused:
            replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
        return refused.value.remedy

    assert remedy(b"no json").startswith("Change the schema")
    assert "kept only in part" in remedy(row(1, "x"), size=50_000)
    assert "List the messages again" in remedy()
    set_stream(world, KINDS["memory"][1], filterConfig={"filterFunction": "id = 'i1'"})
    assert "filter drops" in remedy(row(1, "x"))
    set_stream(world, {**KINDS["memory"][1], "streamType": "odd"})
    assert "stream config" in remedy(row(2, "x"))


def test_a_replay_whose_process_ended_before_the_upload_is_finished_by_the_pass(
    world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(world, row(1, "x"), row(2, "y"))
    with monkeypatch.context() as cut:
        cut.setattr(uploads, "upload_tar", _killed)
        with pytest.raises(KeyboardInterrupt):
            replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    with pytest.raises(StateConflict):
        replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    assert replay.carry_on(world.ctx, TABLE) == [], "not while it may still be going on"
    _age(world)
    realtime_validation.keep_copies(world.ctx, TABLE)
    (segment,) = replayed_segments(world)
    assert SetAsideReplay.objects.get().state == "DONE"
    assert replay.carry_on(world.ctx, TABLE) == []
    assert replayed_segments(world) == [segment]


def test_a_replay_whose_answer_was_lost_after_the_upload_makes_no_row_twice(
    world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(world, row(1, "x"))
    real, calls = uploads.upload_tar, []

    def lost(*args: Any, **more: Any) -> Any:
        calls.append(real(*args, **more))
        raise OutcomeUnknown("The answer was lost.")

    monkeypatch.setattr(uploads, "upload_tar", lost)
    with pytest.raises(OutcomeUnknown):
        replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    _age(world)
    assert "1 row in segment" in replay.carry_on(world.ctx, TABLE)[0]
    assert (len(calls), len(replayed_segments(world)), SetAsideReplay.objects.get().rows) == (1, 1, 1)


def test_what_an_upload_refuses_for_good_waits_again(world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    report(world, row(1, "x"))

    def refuse(*_: Any, **__: Any) -> None:
        raise InvalidInput("The table is full.")

    monkeypatch.setattr(uploads, "upload_tar", refuse)
    with pytest.raises(InvalidInput, match="full"):
        replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    assert SetAsideMessage.objects.get().replay is None
    assert AuditEvent.objects.get(outcome="failed").detail["error"] == "The table is full."


def test_a_message_that_somebody_else_took_in_between_is_not_replayed_twice(
    world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(world, row(1, "x"))
    real = replay._take

    def after_somebody_else(*args: Any) -> Any:
        monkeypatch.setattr(replay, "_take", real)
        replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
        return real(*args)

    monkeypatch.setattr(replay, "_take", after_somebody_else)
    with pytest.raises(StateConflict, match="somebody else"):
        replay.replay_messages(world.ctx, TABLE, ALL, actor=ANN)
    assert len(replayed_segments(world)) == 1


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[ConsumingWorld]:
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def test_queries_see_the_rows_of_a_replay_once_with_two_replicas_that_both_reported_the_messages(
    servers: ConsumingWorld,
) -> None:
    table = TableName("r", REALTIME)
    segment = servers.create_realtime(servers=(1, 2))
    for number in (1, 2):
        servers.start_server(number)
    servers.stream.send("topic", 0, [wrong(0), wrong(1)], 1)
    servers.send(3)
    servers.exact(1, 2)
    broker = servers.start_broker()
    for number in (1, 2):
        force(servers, segment, number=number)
    poll(lambda: servers.reports.settled and len(servers.reports.messages) == 4, what="both replicas and the commit")
    for told in servers.reports.taken:
        keeping.keep_report(servers.ctx, table, told)
    assert SetAsideMessage.objects.count() == 2
    set_schema(servers, "r", id="STRING", n="STRING")
    assert replay.replay_messages(servers.ctx, table, ALL, actor=ANN)["rows"] == 2
    poll(
        lambda: broker.query(f"select count(*) from {RT}")["resultTable"]["rows"] == [[5]],
        20.0,
        "three rows and two replayed ones",
    )
    assert broker.query(f"select id from {RT} where id like 'bad%' order by id")["resultTable"]["rows"] == [
        ["bad0"],
        ["bad1"],
    ]


def _killed(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def _age(world: RealtimeWorld) -> None:
    """Long enough ago that its process must be gone."""
    one = SetAsideReplay.objects.get(state="RUNNING")
    SetAsideReplay.objects.update(started_at=one.started_at - timedelta(days=400_000 if world.now < 0 else 1))
    world.now = max(world.now, int(one.started_at.timestamp() * 1000))
