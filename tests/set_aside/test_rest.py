"""Messages that were set aside over REST: reported by servers once, seen by those who may, exported, deleted and
revealed on record.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.models import AuditEvent, Finding, Grant, SetAsideMessage
from segments.services.set_aside import keeping
from segments.services.tables import tables
from segments.services.upkeep import validation
from tests.api.cluster import basic
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld
from tests.signed import ClusterClient

pytestmark = pytest.mark.django_db
PATH = "/api/v1/tables/t/set-aside"
PASSWORD = "a long enough secret"
SECRET = "the cluster's own"


def message(
    offset: int | str, payload: bytes = b'{"id": 1', reason: str = "no JSON", partition: int = 0, **more: Any
) -> dict[str, Any]:
    return {
        "topic": "a",
        "partition": partition,
        "offset": str(offset),
        "segment": "t__0__0__x",
        "noticedMs": 1_700_000_000_000,
        "sentMs": 5,
        "column": "",
        "reason": reason,
        "size": len(payload),
        "payload": base64.b64encode(payload).decode(),
        **more,
    }


class Api:
    """A table behind HTTP, its servers, and people."""

    def __init__(self, world: RealtimeWorld) -> None:
        self.world, self.reports = world, 0
        User.objects.create_superuser("root", password=PASSWORD)
        User.objects.create_user("reader", password=PASSWORD)
        operator = User.objects.create_user("olga", password=PASSWORD)
        Grant.objects.create(user=operator, cluster="*", tables="t", right="operate")
        self.root, self.reader, self.olga = (
            Client(headers={"Authorization": basic(n, PASSWORD)}) for n in ("root", "reader", "olga")
        )
        self.server = ClusterClient(SECRET)

    def report(self, *messages: dict[str, Any], server: str = "Server_1", **more: Any) -> Any:
        self.reports += 1
        body = {
            "id": f"report-{self.reports}",
            "server": server,
            "messages": list(messages),
            "settled": [],
            "dropped": 0,
            **more,
        }
        return self.server.post(PATH, json.dumps(body), content_type="application/json")

    def listed(self, client: Client | None = None, **query: Any) -> list[dict[str, Any]]:
        answer = (client or self.root).get(PATH, query)
        assert answer.status_code == 200, answer.content
        found: list[dict[str, Any]] = answer.json()["messages"]
        return found


@pytest.fixture
def api(tmp_path: Path, settings: Any) -> Iterator[Api]:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.CLUSTER_SECRET = SECRET
    world = RealtimeWorld(tmp_path)
    with wiring.use(world.ctx):
        yield Api(world)


def test_a_message_is_kept_once_however_often_it_is_reported(api: Api) -> None:
    assert api.report(message(5), message(10), dropped=3).json() == {"status": "kept", "new": 2}
    assert api.report(message(5), message(7), server="Server_2").json()["new"] == 1
    api.reports -= 1
    assert api.report(message(99), server="Server_2", dropped=50).json()["new"] == 0, "the same report again"
    found = api.root.get(PATH).json()
    assert [m["offset"] for m in found["messages"]] == ["7", "10", "5"]
    assert (found["total"], found["next"]) == (3, None)
    assert found["totals"] == {
        "waiting": 3,
        "replayed": 0,
        "newest": "2023-11-14T22:13:20+00:00",
        "droppedByServers": 3,
        "droppedOldest": 0,
        "partitions": [0],
    }


def test_only_processes_of_the_cluster_and_administrators_report(api: Api) -> None:
    body = json.dumps({"id": "x", "server": "s", "messages": [], "settled": []})
    for client in (api.olga, api.reader, Client()):
        assert client.post(PATH, body, content_type="application/json").status_code in (401, 403)
    assert api.server.post("/api/v1/tables/gone/set-aside", body, content_type="application/json").status_code == 404
    refused = api.server.post(PATH, '{"id": 1}', content_type="application/json")
    assert (refused.status_code, "id" in refused.json()["error"]) == (400, True)


def test_payloads_are_seen_by_who_may_operate_the_table_and_secrets_are_masked(api: Api) -> None:
    secret = b'{"id": 1, "password": "hunter2", "n": "x"}'
    api.report(
        message(1, secret, "value 'hunter2' does not convert"),
        message(2, b'{"apiKey": "hunter2", "cut'),
        message(3, b"\xff\xfe\x00"),
    )
    binary, cut, whole = api.listed(api.olga)
    assert whole["payload"] == '{"id":1,"password":"*****","n":"x"}'
    assert (cut["payload"], cut["isMasked"], binary["payload"]) == ('{"apiKey": "*****", "cut', True, None)
    assert "hunter2" not in json.dumps(api.listed(api.olga))
    assert [m["payload"] for m in api.listed(api.reader)] == [None, None, None]
    made = api.olga.post(
        "/api/v1/tokens", json.dumps({"name": "x", "scopes": ["operate"]}), content_type="application/json"
    )
    bearer = Client(headers={"Authorization": f"Bearer {made.json()['token']}"})
    assert [m["payload"] for m in api.listed(bearer)] == [None, None, None], (
        "a token that may not read the data of tables"
    )


def test_a_payload_is_revealed_to_administrators_for_a_reason_on_record(api: Api) -> None:
    api.report(message(1, b'{"password": "hunter2"}'), message(2, b"\xff\xfe"))
    binary, text = api.listed()
    path = f"{PATH}/{text['id']}/reveal"
    assert api.olga.post(path, headers={"X-Reason": "curious"}).status_code == 403
    assert api.root.post(path).status_code == 400
    assert api.root.post(path, headers={"X-Reason": "the producer asks"}).json()["payload"] == '{"password": "hunter2"}'
    event = AuditEvent.objects.get(action="revealSetAside")
    assert (event.target, event.reason, event.detail["offset"]) == (TABLE.typed, "the producer asks", "1")
    assert api.root.post(f"{PATH}/{binary['id']}/reveal?reason=x").json()["payloadBase64"] == "//4="
    assert api.root.post(f"{PATH}/{'9' * 30}/reveal?reason=x").status_code == 404


def test_filters_by_partition_reason_and_number(api: Api) -> None:
    api.report(
        message(1, reason="no JSON"), message(2, reason="Column 'n': wrong", column="n"), message(1, partition=1)
    )
    assert [(m["partition"], m["offset"]) for m in api.listed(partition=0)] == [(0, "2"), (0, "1")]
    assert [m["offset"] for m in api.listed(contains="json", partition=0)] == ["1"]
    assert [m["offset"] for m in api.listed(contains="n", limit=1, offset=1)] == ["2"]
    assert api.listed(state="replayed") == []
    for odd in ("partition=-1", "partition=x", "state=odd", "ids=1,x", "limit=0", "offset=-1", f"partition={2**40}"):
        assert api.root.get(f"{PATH}?{odd}").status_code == 400, odd


def test_a_search_does_not_find_what_the_mask_hides(api: Api) -> None:
    api.report(message(1, b'{"password": "hunter2", "id": "x"}', reason="'hunter2' is not an INT"))
    assert "hunter2" not in json.dumps(api.listed(api.reader))
    assert len(api.listed(api.reader, contains="is not an INT")) == 1
    for client in (api.reader, api.olga, api.root):
        assert client.get(PATH, {"contains": "hunter"}).json()["total"] == 0
    assert "hunter2" not in SetAsideMessage.objects.get().reason


def test_exports_are_safe_for_spreadsheets_and_hold_what_the_list_holds(api: Api) -> None:
    api.report(
        message(1, b"=1+1"), message(2, b'{"password": "hunter2"}'), *(message(n, partition=2) for n in range(250))
    )
    sheet = b"".join(api.olga.get(f"{PATH}/export?kind=csv").streaming_content).decode()  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(sheet)))
    assert len(rows) == 252
    assert {"'=1+1", '{"password":"*****"}'} <= {row["payload"] for row in rows}
    lines = b"".join(api.olga.get(f"{PATH}/export?partition=0").streaming_content).splitlines()  # type: ignore[attr-defined]
    assert [json.loads(line)["offset"] for line in lines] == ["2", "1"]
    lines = b"".join(api.reader.get(f"{PATH}/export").streaming_content).splitlines()  # type: ignore[attr-defined]
    assert {json.loads(line)["payload"] for line in lines} == {None}
    assert api.olga.get(f"{PATH}/export?kind=xls").status_code == 400


def test_messages_are_deleted_for_a_reason_on_record(api: Api) -> None:
    api.report(message(1), message(2), message(1, partition=1), dropped=9)
    assert api.reader.delete(f"{PATH}?all=true&reason=x").status_code == 403
    assert api.olga.delete(f"{PATH}?all=true").status_code == 400
    assert api.olga.delete(f"{PATH}?reason=x").status_code == 400
    assert api.olga.delete(f"{PATH}?partition=1&reason=test+messages").json()["deleted"] == 1
    event = AuditEvent.objects.get(action="deleteSetAside")
    assert (event.actor, event.reason, event.detail) == ("olga", "test messages", {"messages": 1, "offsets": ["1:1"]})
    assert len(api.listed()) == 2
    assert api.olga.delete(f"{PATH}?all=true&reason=x").json()["deleted"] == 2
    assert api.root.get(PATH).json()["totals"]["droppedByServers"] == 0


def test_a_replay_is_previewed_unless_it_says_otherwise_and_takes_the_right_to_operate(api: Api) -> None:
    api.report(message(1, b'{"id": "a", "ts": 1700000000000}'), message(2, b"no json"))

    def replayed(client: Client, **body: Any) -> Any:
        return client.post(
            f"{PATH}/replay", json.dumps(body), content_type="application/json", headers={"X-Reason": "mended"}
        )

    assert replayed(api.reader).status_code == 403
    preview = replayed(api.olga).json()
    assert (preview["dryRun"], preview["chosen"], preview["rows"], preview["fail"]) == (True, 2, 1, 1)
    assert "delete that segment" in preview["notes"][0]
    assert api.olga.post(f"{PATH}/replay", '{"dryRun": false}', content_type="application/json").status_code == 400, (
        "no reason"
    )
    done = replayed(api.olga, dryRun=False).json()
    assert (done["dryRun"], done["rows"], done["decode"]) == (False, 1, 1)
    assert [(m["offset"], m["state"]) for m in api.listed(state="all")] == [("2", "waiting"), ("1", "replayed")]
    assert replayed(api.olga, dryRun=False).status_code == 409
    assert replayed(api.olga, ids="all").status_code == 400


def test_a_commit_settles_which_messages_of_its_range_gave_no_row(api: Api) -> None:
    api.report(message("5-9"), message("5-10"), message("6-0"), message("7-0"), message("5-10", partition=1))
    settled = {"topic": "a", "partition": 0, "start": "5-10", "end": "7-0", "offsets": ["6-0"]}
    api.report(settled=[settled])
    assert {(m["partition"], m["offset"]) for m in api.listed()} == {(0, "5-9"), (0, "6-0"), (0, "7-0"), (1, "5-10")}
    api.report(settled=[{**settled, "end": "9-0", "offsets": None}])
    assert len(api.listed()) == 4, "a commit that could not remember them all decides nothing"


def test_the_oldest_make_room_and_are_counted(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEPT_MESSAGES", 10)
    api.report(*(message(n) for n in range(25)))
    assert [m["offset"] for m in api.listed()] == [str(n) for n in range(24, 14, -1)]
    monkeypatch.setattr(keeping, "KEPT_BYTES", 100)
    api.report(message(99, b"x" * 95))
    assert [m["offset"] for m in api.listed()] == ["99"]
    assert api.root.get(PATH).json()["totals"]["droppedOldest"] == 25


def test_the_table_has_a_finding_until_the_messages_are_dealt_with(api: Api) -> None:
    api.report(message(1), message(2, partition=3), dropped=1)
    told = (
        "2 messages of the stream gave no row and wait to be replayed or deleted (partitions 0, 3). 1 more were too "
        "many to keep."
    )
    assert Finding.objects.get(code="messages-set-aside", closed_at=None).message == told
    assert told in validation.run(api.world.ctx, TABLE)
    api.root.delete(f"{PATH}?all=true&reason=x")
    assert not Finding.objects.filter(code="messages-set-aside", closed_at=None).exists()


def test_a_dropped_table_takes_its_messages_with_it(api: Api) -> None:
    api.report(message(1))
    tables.delete_table(api.world.ctx, TABLE, actor=ANN)
    assert not SetAsideMessage.objects.exists()


def test_tables_without_a_stream_and_tables_that_are_not_there_are_refused(api: Api) -> None:
    assert api.root.get("/api/v1/tables/gone/set-aside").status_code == 404
    assert api.root.delete("/api/v1/tables/gone/set-aside?all=true&reason=x").status_code == 404
    assert api.root.get("/api/v1/tables/gone/set-aside/export").status_code == 404
