"""A newcomer makes a table of a stream in the console: which stream, what its messages are, and it consumes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from segments import wiring
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.gateways.streams.memory import MemoryBroker, MemoryStream
from segments.models import AuditEvent, Grant
from segments.names import REALTIME, TableName
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_record import read_table_config
from segments.services.tables.tables import list_tables
from segments.store.records.instances import join
from tests.console.conftest import FakeBroker, logged_in
from tests.console.new_table.test_from_file import fields_of
from tests.factories import CLUSTER
from tests.services.world import World

pytestmark = pytest.mark.django_db
CHOOSE, COLUMNS = "/console/new-table/stream/", "/console/new-table/stream/columns/"
T0 = 1_700_000_000_000
STREAM = {"kind": "kafka", "topic": "web-clicks", "address": "", "format": "json", "detail": "", "more": ""}
TABLE = TableName("web_clicks", REALTIME)


def clicks(count: int, first: int = 0) -> list[bytes]:
    rows = ({"id": i, "user": f"u{i % 3}", "at": T0 + 1000 * i} for i in range(first, first + count))
    return [json.dumps(row).encode() for row in rows]


@pytest.fixture
def stream() -> MemoryBroker:
    """A topic of two partitions with some messages, one of which is no row."""
    found = MemoryBroker()
    found.create("web-clicks", 2)
    found.send("web-clicks", 0, [*clicks(20), b"[1]"])
    found.send("web-clicks", 1, clicks(10, 20))
    return found


@pytest.fixture
def world(tmp_path: Path, stream: MemoryBroker) -> Iterator[World]:
    """As everywhere in the console, with servers that consume the stream."""
    world = World(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER, streams=stream.open, check_stream=lambda _: None)
    join(world.memory, "Server_s_1", "s", 1, ["DefaultTenant_REALTIME"])
    with wiring.use(world.ctx, FakeBroker()):
        yield world


@pytest.fixture
def adele(world: World) -> Client:
    return logged_in("adele", "operate", "administer")


def form_of(text: str) -> dict[str, str]:
    return fields_of(text.replace(COLUMNS, "/console/new-table/columns/"))


def found(client: Client, **more: str) -> dict[str, str]:
    """The form of the second page."""
    answer = client.post(CHOOSE, {**STREAM, **more})
    assert answer.status_code == 200, answer.content.decode()
    return form_of(answer.content.decode())


def test_a_topic_that_is_not_there_is_a_mistake_of_the_form_and_an_outage_is_none(
    adele: Client, stream: MemoryBroker
) -> None:
    wrong = adele.post(CHOOSE, {**STREAM, "topic": "web-click"})
    assert (wrong.status_code, "no such topic" in wrong.content.decode()) == (400, True)
    stream.is_down = True
    down = adele.post(CHOOSE, STREAM)
    assert (down.status_code, "the broker is down" in down.content.decode()) == (503, True)


@pytest.mark.parametrize(("given", "wanted"), [("", 10_000), ("60000", 10_000), ("2000", 2_000)])
def test_nobody_waits_half_a_minute_for_an_address_that_was_mistyped(
    adele: Client, world: World, stream: MemoryBroker, given: str, wanted: int
) -> None:
    opened: list[int] = []

    def remembered(config: StreamConfig, defaults: object = None) -> MemoryStream:
        opened.append(config.connection_timeout_ms)
        return stream.open(config)

    more = f"stream.kafka.connection.timeout.millis={given}" if given else ""
    with wiring.use(replace(world.ctx, streams=remembered), FakeBroker()):
        found(adele, more=more)
    assert set(opened) == {wanted}


def test_first_messages_become_a_table_that_consumes(adele: Client, world: World) -> None:
    text = adele.post(CHOOSE, STREAM).content.decode()
    for words in ("first 30 messages of 2 partitions", "1 message of the sample cannot be read", "Create and consume"):
        assert words in text
    fields = form_of(text)
    assert (fields["name"], fields["start"], fields["keys"]) == ("web_clicks", "smallest", "")
    answer = adele.post(COLUMNS, {**fields, "retention": "7", "rows": "9000", "action": "create"})
    assert answer.status_code == 302, answer.content.decode()
    assert list(read_schema(world.ctx, "web_clicks").by_name) == ["id", "user", "at"]
    config = read_table_config(world.ctx, TABLE)
    assert (config.time_column, config.body["segmentsConfig"]["retentionTimeValue"]) == ("at", "7")
    reads = config.body["ingestionConfig"]["streamIngestionConfig"]["streamConfigMaps"][0]
    assert reads["realtime.segment.flush.threshold.rows"] == "9000"
    assert reads["stream.kafka.consumer.prop.auto.offset.reset"] == "smallest"
    assert "batchIngestionConfig" not in config.body["ingestionConfig"]


def test_the_grid_stays_as_it_is_when_other_messages_come(adele: Client, stream: MemoryBroker) -> None:
    fields = found(adele)
    stream.expire("web-clicks", 0, 21)
    stream.expire("web-clicks", 1, 10)
    stream.send("web-clicks", 0, [json.dumps({"new": 1, "at": T0, "id": 5}).encode()])
    later = form_of(adele.post(COLUMNS, {**fields, "c1_type": "JSON"}).content.decode())
    assert [later[f"c{i}_was"] for i in range(3)] == ["id", "user", "at"]
    assert later["c1_type"] == "JSON"
    assert "c3_was" not in later


def test_upsert_is_chosen_in_words_and_wants_a_key(adele: Client, world: World) -> None:
    fields = found(adele)
    refused = adele.post(COLUMNS, {**fields, "keys": "newest", "action": "create"})
    assert refused.status_code == 422
    assert "Mark the columns of the primary key first." in refused.content.decode()
    chosen = form_of(adele.post(COLUMNS, {**fields, "keys": "newest", "c0_key": "on"}).content.decode())
    config = json.loads(chosen["config"])
    assert (config["upsertConfig"], config["routing"]) == (
        {"mode": "FULL"}, {"instanceSelectorType": "strictReplicaGroup"},
    )  # fmt: skip
    config["ingestionConfig"]["streamIngestionConfig"]["streamConfigMaps"][0][
        "stream.kafka.consumer.prop.auto.offset.reset"
    ] = "largest"
    del config["upsertConfig"]
    edited = form_of(adele.post(COLUMNS, {**chosen, "config": json.dumps(config)}).content.decode())
    assert (edited["start"], edited["keys"]) == ("largest", "")


def test_a_table_without_time_column_is_refused_before_anything_is_made(adele: Client, world: World) -> None:
    answer = adele.post(COLUMNS, {**found(adele), "time": "", "action": "create"})
    assert (answer.status_code, list_tables(world.ctx)) == (422, ["t"])
    assert "need a time column" in answer.content.decode()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"topic": "no-such"}, "no such topic"),
        ({"topic": "empty"}, "has no message yet"),
        ({"format": "csv"}, "This format needs it"),
        ({"format": "avro", "detail": "nonsense"}, "is not an Avro schema"),
        ({"more": "security.protocol"}, "Write key=value."),
        ({"name": "no spaces"}, "no spaces"),
    ],
)
def test_what_is_wrong_with_a_stream_stands_in_the_form(
    adele: Client, stream: MemoryBroker, more: dict[str, str], words: str
) -> None:
    stream.create("empty")
    answer = adele.post(CHOOSE, {**STREAM, **more})
    assert 400 <= answer.status_code < 600
    assert words in answer.content.decode()
    assert "Read the first messages" in answer.content.decode()


def test_records_of_csv_messages_are_named_by_the_header(adele: Client, stream: MemoryBroker) -> None:
    stream.create("lines")
    stream.send("lines", 0, [f"{i},AA,2024-03-0{i}".encode() for i in range(1, 9)])
    fields = found(adele, topic="lines", format="csv", detail="id,carrier,day")
    assert [fields[f"c{i}_was"] for i in range(3)] == ["id", "carrier", "day"]
    assert (fields["c0_type"], fields["c2_format"]) == ("INT", "SIMPLE_DATE_FORMAT|yyyy-MM-dd")


def test_nobody_without_the_right_sees_messages_or_makes_a_table(world: World, stream: MemoryBroker) -> None:
    reader = logged_in("rita")
    assert reader.get(CHOOSE).status_code == 200
    for address in (CHOOSE, COLUMNS):
        answer = reader.post(address, {**STREAM, "stream": "{}"})
        assert (answer.status_code, b"u1" in answer.content) == (403, False)
    assert AuditEvent.objects.filter(actor="rita", outcome="refused").count() == 2


def test_a_right_for_some_tables_makes_no_other(world: World) -> None:
    grace = logged_in("grace")
    Grant.objects.create(user_id=grace.session["_auth_user_id"], cluster=CLUSTER, tables="mine*", right="administer")
    assert grace.post(CHOOSE, {**STREAM, "name": "yours"}).status_code == 403
    fields = found(grace, name="mine_1")
    assert grace.post(COLUMNS, {**fields, "name": "yours", "action": "create"}).status_code == 403
    assert grace.post(COLUMNS, {**fields, "action": "create"}).status_code == 302
    assert "yours" not in list_tables(world.ctx)


def test_rest_infers_the_same_and_wants_one_source(adele: Client, world: World) -> None:
    stream: dict[str, Any] = {
        "streamType": "kafka", "stream.kafka.topic.name": "web-clicks", "stream.kafka.decoder.class.name": "json",
    }  # fmt: skip
    answer = adele.post("/api/v1/tables/infer", {"stream": stream, "tableName": "clicks"}, "application/json")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert (body["topic"], body["sampledRows"], body["tableConfig"]["tableType"]) == ("web-clicks", 30, "REALTIME")
    assert "job" not in body
    both = adele.post("/api/v1/tables/infer", {"stream": stream, "inputDirURI": "/x"}, "application/json")
    assert both.status_code == 400
