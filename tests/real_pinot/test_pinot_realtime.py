"""Consumption of a real Pinot from a real Kafka, driven through this installation; and our own servers on the same
Kafka.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from tests.integration.running import Client
from tests.real_pinot.test_pinot_cluster import expect_on_page, shoot
from tests.streams.kafka_broker import KafkaBroker
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
_numbers = itertools.count(1)
#: Pinot 0.11.0 carries this client of Kafka; our own servers take any Kafka factory for their own.
_FACTORY = "org.apache.pinot.plugin.stream.kafka20.KafkaConsumerFactory"
_DECODER = "org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder"


def schema_of(name: str) -> dict[str, Any]:
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}, {"name": "v", "dataType": "STRING"}],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
        ],
    }


def config_of(name: str, kafka: KafkaBroker, rows: int) -> dict[str, Any]:
    stream = {
        "streamType": "kafka", "stream.kafka.consumer.type": "lowlevel", "stream.kafka.topic.name": name,
        "stream.kafka.broker.list": kafka.bootstrap, "stream.kafka.consumer.factory.class.name": _FACTORY,
        "stream.kafka.decoder.class.name": _DECODER, "stream.kafka.consumer.prop.auto.offset.reset": "smallest",
        "stream.kafka.fetch.timeout.millis": "500", "realtime.segment.flush.threshold.rows": str(rows),
        "realtime.segment.flush.threshold.time": "6h",
    }  # fmt: skip
    return {
        "tableName": name, "tableType": "REALTIME", "tenants": {}, "metadata": {},
        "segmentsConfig": {"timeColumnName": "ts", "replication": "2", "replicasPerPartition": "2", "schemaName": name},
        "tableIndexConfig": {"loadMode": "MMAP", "streamConfigs": stream},
    }  # fmt: skip


class Topic:
    """A topic of two partitions and the table that reads it; every row has an ``id`` of its own."""

    def __init__(self, client: Client, kafka: KafkaBroker, prefix: str, rows: int = 100_000) -> None:
        self.client, self.kafka, self.name, self.sent, self.rows = client, kafka, f"{prefix}_{next(_numbers)}", 0, rows
        self.topic = self.name
        kafka.create(self.topic, 2)
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap})
        client.call("POST", "/schemas", json=schema_of(self.name))
        client.call("POST", "/tables", json=config_of(self.name, kafka, rows))

    def send(self, count: int) -> None:
        """So many rows more, in turn to both partitions."""
        for number in range(self.sent, self.sent + count):
            row = {"id": number, "v": "x", "ts": 1_700_000_000_000 + number}
            self._producer.produce(self.topic, json.dumps(row).encode(), partition=number % 2)
        self._producer.flush(30)
        self.sent += count

    def move_to(self, other: str, gone: int) -> None:
        """The table's config names another topic, whose partitions had so many messages that are gone."""
        self.kafka.create(other, 2)
        for partition in (0, 1):
            for _ in range(gone):
                self._producer.produce(other, b"{}", partition=partition)
        self._producer.flush(30)
        if gone:
            self.kafka.delete_before(other, {0: gone, 1: gone})
        config = config_of(self.name, self.kafka, self.rows)
        config["tableIndexConfig"]["streamConfigs"]["stream.kafka.topic.name"] = self.topic = other
        self.client.call("PUT", f"/tables/{self.name}", json=config)

    def seen(self) -> list[Any]:
        """[rows, distinct ids]: alike when nothing is doubled."""
        return self.client.sql(f"select count(*), distinctcount(id) from {self.name}")[0]

    def shows_all(self) -> None:
        poll(lambda: self.seen() == [self.sent, self.sent], 90, f"{self.sent} rows of {self.name}, each once")

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.call("GET", f"/tables/{self.name}/pauseStatus").json()
        return found


def test_a_pause_of_a_real_table_holds_and_a_resume_goes_on_where_it_stopped(each: Client, kafka: KafkaBroker) -> None:
    topic = Topic(each, kafka, "events")
    topic.send(200)
    topic.shows_all()
    consuming = each.call("GET", f"/tables/{topic.name}/consumingSegmentsInfo").json()["_segmentToConsumingInfoMap"]
    assert len(consuming) == 2
    each.call("POST", f"/tables/{topic.name}/pauseConsumption", params={"comment": "stream is moved"})
    poll(lambda: not topic.status()["consumingSegments"], 90, "nothing consumes")
    assert topic.status()["pauseFlag"] is True
    before = topic.seen()
    topic.send(100)
    assert topic.seen() == before == [200, 200]
    each.call("POST", f"/tables/{topic.name}/resumeConsumption")
    topic.shows_all()
    assert topic.status()["pauseFlag"] is False
    each.call("POST", f"/tables/{topic.name}/forceCommit")
    poll(
        lambda: sum(s.split("__")[2] == "2" for s in segments_of(each, topic.name)) == 2,
        90,
        "the next segments of both partitions",
    )
    topic.shows_all()
    each.call("DELETE", f"/tables/{topic.name}")


def segments_of(client: Client, table: str) -> list[str]:
    found = client.call("GET", f"/segments/{table}").json()
    return [s for part in found for s in part.get("REALTIME", [])]


def test_a_pause_with_a_reason_is_a_click_in_the_console(real: Client, kafka: KafkaBroker, page: Page) -> None:
    topic = Topic(real, kafka, "clicks")
    topic.send(50)
    topic.shows_all()
    at = f"/console/c/real/tables/{topic.name}_REALTIME/consumption/"
    expect_on_page(page, at, r"(?i)consuming")
    shoot(page, "pinot-consumption")
    page.get_by_role("link", name="Pause…").first.click()
    page.get_by_label("Reason").fill("the producer repeats itself")
    page.get_by_role("button", name="Pause").first.click()
    poll(lambda: topic.status()["pauseFlag"] and not topic.status()["consumingSegments"], 90, "paused")
    expect_on_page(page, at, r"(?i)paused")
    expect(page.locator("body")).to_contain_text("the producer repeats itself")
    real.call("DELETE", f"/tables/{topic.name}")


def test_our_own_servers_read_the_same_kafka_through_kills_and_commits(client: Client, kafka: KafkaBroker) -> None:
    """No row is lost or doubled while segments are committed and the broker of the stream is killed and
    started again.
    """
    topic = Topic(client, kafka, "own", rows=300)
    topic.send(1_000)
    topic.shows_all()
    kafka.kill()
    assert topic.seen() == [1_000, 1_000]  # what is there answers on
    kafka.start()
    topic.send(1_000)
    topic.shows_all()
    client.call("POST", f"/tables/{topic.name}/pauseConsumption")
    poll(lambda: not topic.status()["consumingSegments"], 60, "nothing consumes")
    topic.send(100)
    assert topic.seen() == [2_000, 2_000]
    client.call("POST", f"/tables/{topic.name}/resumeConsumption")
    topic.shows_all()
    client.call("DELETE", f"/tables/{topic.name}")


def test_a_table_of_our_own_servers_goes_over_to_another_topic_with_other_offsets(
    client: Client, kafka: KafkaBroker
) -> None:
    """First to one whose offsets lie behind where the table stopped, its beginning gone; then to one that is shorter
    than that.
    """
    topic = Topic(client, kafka, "moves")  # no commit is under way at a pause: what has been seen is all committed
    at = f"/api/v1/tables/{topic.name}"
    topic.send(120)
    topic.shows_all()
    for name, gone, count in ((f"{topic.name}_b", 250, 80), (f"{topic.name}_c", 0, 20)):
        client.call("POST", f"/tables/{topic.name}/pauseConsumption")
        poll(lambda: not topic.status()["consumingSegments"], 60, "nothing consumes")
        topic.move_to(name, gone)
        topic.send(count)
        refusal = client.call("POST", f"{at}/resumeConsumption", status=409, json={})
        assert "stopped in kafka topic" in refusal.text
        wish = {"consumeFrom": "smallest", "comment": "the topic moved"}
        planned = client.call("POST", f"{at}/resumeConsumption", json=wish).json()["partitions"]
        starts = {p["partition"]: (p["startOffset"], p["skippedRows"], p["repeatedRows"]) for p in planned}
        assert starts == dict.fromkeys((0, 1), (str(gone), None, None))
        assert "another stream" in planned[0]["note"]
        client.call("POST", f"{at}/resumeConsumption", json={**wish, "dryRun": False})
        topic.shows_all()
    assert client.call("GET", f"{at}/dataLosses").json() == {"losses": []}
    client.call("DELETE", f"/tables/{topic.name}")
