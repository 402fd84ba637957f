"""Messages of a stream are read by people: the last ones, from an offset or a time on, filtered, secrets masked."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from segments import wiring
from segments.gateways.streams.memory import MemoryBroker, MemoryConsumer
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Grant
from tests.console.conftest import logged_in
from tests.factories import CLUSTER, PASSWORD
from tests.services.realtime_world import TABLE, RealtimeWorld

PAGE = f"/console/tables/{TABLE.typed}/consumption/stream/messages/"
REST = f"/api/v1/tables/{TABLE.typed}/stream/0/messages"
T0 = 1_700_000_000_000


@pytest.fixture
def stream() -> MemoryBroker:
    """120 messages, one a second; number 7 is no row, number 9 holds a password."""
    found = MemoryBroker()
    found.create("a", 2)
    for i in range(120):
        row: dict[str, Any] = {"id": f"flight {i}", "ts": T0 + i}
        row |= {"password": "sesame"} if i == 9 else {}
        found.send("a", 0, [b'{"id": 7' if i == 7 else json.dumps(row).encode()], T0 + 1000 * i)
    return found


@pytest.fixture
def world(tmp_path: Path, stream: MemoryBroker, db: None) -> Iterator[RealtimeWorld]:
    made = RealtimeWorld(tmp_path)
    made.ctx = replace(made.ctx, cluster=CLUSTER, streams=stream.open)
    ClusterFollower(made.memory, Cluster.objects.get_or_create(name=CLUSTER)[0]).sync_all()
    with wiring.use(made.ctx, None):
        yield made


@pytest.fixture
def operator(world: RealtimeWorld) -> Client:
    return logged_in("olga", "operate")


def rest(name: str, query: dict[str, Any], address: str = REST) -> Any:
    """The answer over REST to somebody's password: a browser's session does not reach it."""
    login = base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()
    return Client().get(address, query, headers={"authorization": f"Basic {login}"})


def offsets(client: Client, **query: str) -> list[int]:
    answer = client.get(PAGE, query)
    assert answer.status_code == 200
    return [
        int(o)
        for o in re.findall(
            r'<th scope="row" class="mono small nowrap" data-label="Offset">(\d+)', answer.content.decode()
        )
    ]


def read(**query: Any) -> dict[str, Any]:
    answer = rest("olga", query)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_the_last_messages_are_shown_first_of_all(operator: Client) -> None:
    assert offsets(operator) == list(range(70, 120))


@pytest.mark.parametrize(
    ("query", "first", "count"),
    [
        ({"place": "earliest"}, 0, 50),
        ({"offset": "100"}, 100, 20),
        ({"since": "2023-11-14T22:14:50"}, 90, 30),
        ({"contains": "FLIGHT 11"}, 11, 11),
    ],
)
def test_it_begins_where_one_says(operator: Client, query: dict[str, str], first: int, count: int) -> None:
    found = offsets(operator, **query)
    assert (found[0], len(found)) == (first, count)


@pytest.mark.parametrize(
    ("query", "is_said"),
    [
        ({"since": "2023-11-14T22:13:00"}, True),
        ({"since": "2023-11-14T22:13:00", "contains": "no such text"}, True),
        ({"since": "2023-11-14T22:13:20"}, False),
        ({"since": "2023-11-14T22:14:50"}, False),
        ({"place": "earliest"}, False),
        ({"offset": "0"}, False),
    ],
)
def test_it_says_when_the_stream_begins_later_than_one_asked(
    operator: Client, query: dict[str, str], is_said: bool
) -> None:
    text = operator.get(PAGE, query).content.decode()
    assert ("not at the time asked for" in text) is is_said
    assert not is_said or "2023-11-14 22:13" in text


def test_it_says_when_an_offset_has_left_the_stream(operator: Client, stream: MemoryBroker) -> None:
    stream.expire("a", 0, 20)
    assert offsets(operator, offset="5")[0] == 20
    assert "not at the offset asked for" in operator.get(PAGE, {"offset": "5"}).content.decode()
    assert [read(offset=offset)["isLater"] for offset in ("19", "20", "200")] == [True, False, False]


def test_one_reads_on_page_by_page_to_the_end(operator: Client) -> None:
    seen, query = [], {"place": "earliest"}
    for _ in range(3):
        text = operator.get(PAGE, query).content.decode()
        seen += re.findall(r'<th scope="row" class="mono small nowrap" data-label="Offset">(\d+)', text)
        more = re.search(r'id="next" href="\?([^"]*)"', text)
        query = dict(part.split("=") for part in unescape(more[1]).split("&")) if more else {}
    assert [int(o) for o in seen] == list(range(120))
    assert query == {}


def test_a_secret_is_masked_and_what_is_no_row_says_why(operator: Client) -> None:
    found = {m["offset"]: m for m in read(offset="7", limit="3")["messages"]}
    assert "not" not in (found["8"]["fault"] or "")
    assert found["7"]["fault"]
    assert ("sesame" in found["9"]["text"], found["9"]["isMasked"]) == (False, True)
    assert b"sesame" not in operator.get(PAGE, {"offset": "5"}).content
    assert read(contains="sesame")["messages"] == []


def test_rest_pages_by_offset_and_time(operator: Client) -> None:
    found = read(**{"from": "earliest", "limit": "10"})
    assert (found["first"], found["end"], found["next"], found["isEnd"]) == ("0", "120", "10", False)
    assert read(since=str(T0 + 118_500))["start"] == "119"
    assert read(offset="500")["messages"] == []
    for wrong in ({"limit": "0"}, {"from": "middle"}, {"since": "soon"}, {"offset": "x"}):
        assert rest("olga", wrong).status_code == 400
    assert rest("olga", {}, REST.replace("/0/", "/7/")).status_code == 400


def test_a_page_that_is_followed_renews_itself(operator: Client) -> None:
    text = operator.get(PAGE, {"follow": "1"}).content.decode()
    assert 'hx-trigger="every 3s"' in text
    assert "Stop following" in text
    assert "hx-trigger" not in operator.get(PAGE, {"follow": "1", "offset": "3"}).content.decode().split("<main")[1]


def test_only_who_may_query_and_operate_sees_messages(world: RealtimeWorld, stream: MemoryBroker) -> None:
    reader = logged_in("rita")
    page = reader.get(PAGE)
    assert (page.status_code, b"flight 1" in page.content) == (200, False)
    assert b"Messages are not shown to you" in page.content
    assert rest("rita", {}).status_code == 403
    other = logged_in("otto")
    Grant.objects.create(user_id=other.session["_auth_user_id"], cluster=CLUSTER, tables="others*", right="operate")
    assert rest("otto", {}).status_code == 403
    assert b"flight 1" not in other.get(PAGE).content


def test_a_stream_that_does_not_answer_is_named(operator: Client, stream: MemoryBroker) -> None:
    stream.is_down = True
    page = operator.get(PAGE)
    assert page.status_code == 200
    assert "the broker is down" in page.content.decode()
    assert rest("olga", {}).status_code == 503


def test_a_partition_without_messages_says_so(operator: Client) -> None:
    assert "The stream keeps none at the moment." in operator.get(PAGE, {"partition": "1"}).content.decode()


def test_the_last_messages_are_the_last_ones_also_where_they_are_large(
    operator: Client, stream: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty of them are more than is read at once: fewer are shown, up to the end."""
    monkeypatch.setattr("segments.services.realtime.messages.browsing._BYTES", 20_000)
    fetch = MemoryConsumer.fetch
    monkeypatch.setattr(MemoryConsumer, "fetch", lambda *a, **kw: fetch(*a, **{**kw, "max_messages": 1}))
    for i in range(40):
        stream.send("a", 0, [json.dumps({"id": f"large {i}", "fill": "x" * 1_000}).encode()])
    found = offsets(operator)
    assert found[-1] == 159
    assert 2 <= len(found) < 20
    assert "there are more" not in operator.get(PAGE).content.decode()
