"""The page Stream: what waits in each partition while it is paused, when it expires, what a resume would read; samples
of a day as charts, a table and a REST document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from segments import wiring
from segments.domain.realtime.streams.retention import Retention
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, Finding, LagSample, Segment, Table
from segments.services.realtime import consumption
from segments.services.realtime.monitor import sampling, series
from tests.console.conftest import logged_in
from tests.factories import CLUSTER
from tests.services.embedded_engine import asking
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

PAGE = f"/console/tables/{TABLE.typed}/consumption/stream/"
HOUR = 3_600_000


class Servers:
    """Rows of partition 0's consuming segment, as its server answers them."""

    def __init__(self) -> None:
        self.segment, self.rows = "", 0

    def ask(self, url: str, method: str, path: str, *_: object) -> list[dict[str, Any]]:
        if path.endswith("/consumers"):
            return [{"segmentName": self.segment, "partition": 0, "rows": self.rows, "bytes": 1, "messages": self.rows}]
        info = {"currentOffsets": {"0": str(self.rows)}, "recordsLag": {"0": "7"}, "availabilityLagMs": {"0": "50"}}
        return [{"segmentName": self.segment, "consumerState": "CONSUMING", "partitionOffsetInfo": info}]


@pytest.fixture
def servers() -> Servers:
    return Servers()


@pytest.fixture
def world(tmp_path: Path, servers: Servers, db: None) -> Iterator[RealtimeWorld]:
    made = RealtimeWorld(tmp_path, partitions=1)
    made.ctx = asking(replace(made.ctx, cluster=CLUSTER), servers.ask)
    made.now = int(timezone.now().timestamp() * 1000)
    servers.segment = made.consuming[0]
    mirror(made)
    with wiring.use(made.ctx, None):
        yield made


@pytest.fixture
def operator(db: None) -> Client:
    return logged_in("olga", "operate")


def mirror(world: RealtimeWorld) -> None:
    ClusterFollower(world.memory, Cluster.objects.get_or_create(name=CLUSTER)[0]).sync_all()


def paused(world: RealtimeWorld, end: int, *, keeps: Retention | None = None) -> None:
    """The table stopped at offset 10 of a stream that ends at ``end``, two hours ago."""
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("10")
    mirror(world)
    world.streams.topics["a"] = {0: [0, end]}
    world.streams.keeps = keeps or Retention("forever")
    world.streams.stored_ms = world.now - 2 * HOUR


def minute_later(world: RealtimeWorld) -> LagSample:
    world.now += 60_000
    sampling.run(world.ctx, TABLE)
    return LagSample.objects.latest("at")


def shown(client: Client, address: str = PAGE) -> str:
    """The page with the spaces between its words taken together."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", client.get(address).content.decode()))


def test_rows_per_second_are_measured_between_two_samples(
    operator: Client, world: RealtimeWorld, servers: Servers
) -> None:
    servers.rows = 100
    assert minute_later(world).rows_per_s is None
    servers.rows = 12_100
    assert minute_later(world).rows_per_s == 200
    assert "Rows per second 200" in shown(operator)


def test_while_paused_the_backlog_grows_and_says_when_it_expires(operator: Client, world: RealtimeWorld) -> None:
    paused(world, 1_010, keeps=Retention("time", 5 * HOUR))
    minute_later(world)
    world.streams.topics["a"] = {0: [0, 3_010]}
    sample = minute_later(world)
    assert (sample.messages, sample.lost, sample.offset) == (3_000, 0, "10")
    assert sample.expires_at == datetime.fromtimestamp((world.streams.stored_ms + 5 * HOUR) / 1000, UTC)
    text = shown(operator)
    assert "3,000 messages, +2,000 per minute" in text
    assert "expires in 2 h" in text
    assert "The stream keeps messages for 5 h." in text


def test_unread_messages_that_will_expire_are_a_finding_until_they_are_read(world: RealtimeWorld) -> None:
    paused(world, 1_010, keeps=Retention("time", 5 * HOUR // 2))
    minute_later(world)
    found = Finding.objects.get(code="stream-expiring", closed_at=None)
    assert (found.severity, found.subject) == ("error", "0")
    assert "The first unread message of partition 0 of t_REALTIME expires in about 29 min" in found.message
    world.streams.keeps = Retention("forever")
    minute_later(world)
    assert not Finding.objects.filter(closed_at=None).exists()


def test_messages_that_left_the_stream_unread_are_counted_and_reported(operator: Client, world: RealtimeWorld) -> None:
    paused(world, 1_010)
    world.streams.topics["a"] = {0: [110, 1_010]}
    assert minute_later(world).lost == 100
    assert "100 messages left the stream before they were read." in shown(operator)
    assert Finding.objects.get(closed_at=None).code == "stream-lost"
    assert "100 had left the stream unread" in shown(operator, f"/console/tables/{TABLE.typed}/consumption/resume/")


def test_once_the_first_unread_message_has_left_the_stream_the_next_one_says_when_it_expires(
    operator: Client, world: RealtimeWorld
) -> None:
    """A trimmed stream: what was stored later than the one that is gone goes later, too."""
    paused(world, 1_010, keeps=Retention("trimmed", 3 * HOUR))
    assert minute_later(world).unread_since is not None
    world.streams.topics["a"] = {0: [110, 1_010]}
    world.streams.stored_ms += HOUR
    sample = minute_later(world)
    assert sample.expires_at == datetime.fromtimestamp((world.streams.stored_ms + 3 * HOUR) / 1000, UTC)
    assert "expires in 1 h" in shown(operator)


def test_a_value_that_the_newest_sample_lacks_is_not_called_the_present_one(
    operator: Client, world: RealtimeWorld
) -> None:
    table = Table.objects.get()
    for minutes, behind in ((3, 90_000), (1, None)):
        at = timezone.now() - timedelta(minutes=minutes)
        LagSample.objects.create(table=table, partition=0, at=at, messages=7, behind_ms=behind)
    text = shown(operator)
    assert "Seconds behind not known now, at most 90.0" in text
    assert "Messages behind 7 now, at most 7" in text


def test_a_resume_says_how_many_messages_it_reads_and_how_long_that_takes(
    operator: Client, world: RealtimeWorld
) -> None:
    paused(world, 12_010)
    table = Table.objects.get()
    LagSample.objects.create(table=table, partition=0, at=timezone.now() - timedelta(hours=3), rows_per_s=200.0)
    text = shown(operator, f"/console/tables/{TABLE.typed}/consumption/resume/")
    assert "12,000 messages about 1 min at the highest rate of the day" in text


def test_without_a_stream_that_answers_the_page_shows_what_was_last_known(
    operator: Client, world: RealtimeWorld
) -> None:
    paused(world, 1_010)
    minute_later(world)
    world.streams.is_down = True
    assert "1,000 messages" in shown(operator)
    asked = world.streams.asked
    shown(operator)
    assert world.streams.asked == asked  # the page asks no stream


def test_charts_and_the_rest_document_have_the_samples_and_the_marks(operator: Client, world: RealtimeWorld) -> None:
    table, now = Table.objects.get(), timezone.now()
    for minutes in range(200, 100, -1):
        at = now - timedelta(minutes=minutes)
        LagSample.objects.create(table=table, partition=0, at=at, messages=minutes, behind_ms=1500, rows_per_s=10.0)
    Segment.objects.create(
        table=table, name="t__0__5__x", partition=0, sequence=5, creation_ms=world.now - 150 * 60_000
    )
    event = AuditEvent.objects.create(
        cluster=CLUSTER, target=TABLE.typed, action="pauseConsumption", outcome="done", actor="ann"
    )
    AuditEvent.objects.filter(pk=event.pk).update(at=now - timedelta(minutes=140))
    page = operator.get(PAGE).content.decode()
    data = json.loads(re.search(r'<pre hidden id="stream-messages">(.*?)</pre>', page, re.S)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert data["series"][0]["values"][0] == 200
    assert len(data["x"]["values"]) == 18  # six samples a point, over a day, and the newest, which holds now
    assert data["series"][0]["values"][-1] == 101
    assert "101 now, at most 200" in page
    assert [mark["text"] for mark in data["marks"]] == ["commit", "paused"]
    assert data["x"]["zone"] == "UTC"
    body = operator.get(f"/api/v1/tables/{TABLE.typed}/stream?hours=6&partition=0").json()
    assert [p["messages"] for p in body["history"][:2]] == [200, 198]
    assert [m["what"] for m in body["marks"]] == ["commit", "paused"]
    assert operator.get(f"/api/v1/tables/{TABLE.typed}/stream?hours=7").status_code == 400
    assert operator.get("/api/v1/tables/nobody/stream").status_code == 404
    assert "No sample in this time" in shown(operator, f"{PAGE}?hours=1&partition=<b>")


def test_a_pause_between_samples_is_a_gap_in_the_line(world: RealtimeWorld) -> None:
    table, now = Table.objects.get(), timezone.now()
    for minutes in (50, 49, 20, 19):
        LagSample.objects.create(table=table, partition=0, at=now - timedelta(minutes=minutes), messages=minutes)
    points = series.of_table(table, now, 1)
    assert [p.messages for p in points] == [50, 49, None, 20, 19]
