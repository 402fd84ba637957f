"""Realtime tables of a whole installation: rows of Redis Streams are seen at once, committed by two servers, exact
after restarts.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
import redis

from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.integration


class Table:
    """A realtime table of one partition and two replicas on the installation's own Redis; ``peers``: the scheme by
    which servers give each other its segments; None: they do not. ``waiting``: messages that are there before it is
    made; ``stream``: more keys of its stream config.
    """

    def __init__(
        self, installation: Installation, client: Client, name: str, rows: int, *, peers: str | None = "http",
        waiting: int = 0, stream: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.client, self.name, self.sent = client, name, 0
        self.redis = redis.Redis.from_url(installation.endpoints["redis"])
        fields = [{"name": "id", "dataType": "STRING"}, {"name": "n", "dataType": "LONG"}]
        times = [{"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}]
        client.call(
            "POST", "/schemas", json={"schemaName": name, "dimensionFieldSpecs": fields, "dateTimeFieldSpecs": times}
        )
        streams = {
            "streamType": "redis",
            "stream.redis.topic.name": name,
            "stream.redis.partitions": "1",
            "stream.redis.url": installation.endpoints["redis"],
            "stream.redis.consumer.prop.auto.offset.reset": "smallest",
            "realtime.segment.flush.threshold.segment.rows": str(rows),
            **(stream or {}),
        }
        self.send(waiting)
        given = {"peerSegmentDownloadScheme": peers} if peers else {}
        client.call("POST", "/tables", json={
            "tableName": name, "tableType": "REALTIME", "tenants": {}, "tableIndexConfig": {}, "metadata": {},
            "segmentsConfig": {"timeColumnName": "ts", "replication": "2", **given},
            "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [streams]}},
        })  # fmt: skip

    def send(self, count: int) -> None:
        """New rows."""
        pipe = self.redis.pipeline(transaction=False)
        for n in range(self.sent, self.sent + count):
            pipe.xadd(f"{self.name}-0", {"value": json.dumps({"id": f"i{n}", "n": n, "ts": int(time.time() * 1000)})})
        pipe.execute()
        self.sent += count

    def counted(self) -> list[Any]:
        """[rows, different rows]"""
        return list(self.client.sql(f"select count(*), distinctcount(id) from {self.name}")[0])

    def exact(self, seconds: float = 30) -> None:
        """Every row once."""
        poll(lambda: self.counted() == [self.sent, self.sent], seconds, f"{self.sent} rows, each once")

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """(ideal state, external view)"""
        ideal = self.client.call("GET", f"/tables/{self.name}/idealstate").json()["REALTIME"] or {}
        return ideal, self.client.call("GET", f"/tables/{self.name}/externalview").json()["REALTIME"] or {}

    def is_settled(self) -> bool:
        """Does every replica do what it should?"""
        ideal, view = self.state()
        return bool(ideal) and ideal == view


def test_rows_of_a_stream_are_committed_by_two_servers_and_survive_their_restarts(
    installation: Installation, client: Client
) -> None:
    table = Table(installation, client, "rt_basic", rows=500)
    poll(table.is_settled, 30, "consuming")
    stop, backwards, seen = threading.Event(), list[tuple[int, int]](), [0]
    reader = Client(installation.endpoints)

    def watch() -> None:
        while not stop.is_set():
            rows = int(reader.sql("select count(*) from rt_basic")[0][0])
            if rows < seen[0]:
                backwards.append((seen[0], rows))
            seen[0] = rows

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(22):
        table.send(100)
        time.sleep(0.05)  # the pace of the stream
    table.exact()
    stop.set()
    watcher.join()
    assert backwards == []
    poll(lambda: len(table.state()[0]) == 5, 30, "five segments")
    poll(table.is_settled, 30, "settled")
    server = installation.endpoints["servers"][1]["instance"]
    installation.manage("server", "kill", server, "--data-dir", str(installation.folder))
    table.send(700)
    table.exact()
    installation.manage("server", "start", server, "--data-dir", str(installation.folder))
    poll(table.is_settled, 60, "the killed server is back")
    table.send(600)
    table.exact()
    poll(table.is_settled, 30, "settled")
    _require_whole_segments(client, table)
    client.call("DELETE", "/tables/rt_basic")
    client.call("DELETE", "/schemas/rt_basic")


def _require_whole_segments(client: Client, table: Table) -> None:
    """Every committed segment has the 500 rows that end it."""
    for segment in [s for s, row in table.state()[0].items() if set(row.values()) == {"ONLINE"}]:
        fields = client.call("GET", f"/segments/rt_basic_REALTIME/{segment}/metadata").json()
        assert (fields["segment.realtime.status"], fields["segment.total.docs"]) == ("DONE", "500")
