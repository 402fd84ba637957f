"""Calls of the client against a cluster in memory: typed answers, typed errors, credentials, time-outs."""

from __future__ import annotations

import traceback
from typing import Any

import httpx
import pytest

from pinotadmin_client import (
    ApiError,
    Client,
    Conflict,
    Invalid,
    NoAnswer,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ServerFault,
    TimedOut,
    UnexpectedAnswer,
)
from pinotadmin_client.credentials import of_token, of_user
from segments import wiring
from segments.clusters.embedded.replacement import switch_back
from segments.models import AuditEvent
from tests.api.cluster import ApiCluster, config_of, schema_of
from tests.api.replacement.test_lineage import replaced
from tests.api.replacement.test_lineage import table as table
from tests.client.conftest import PASSWORD, URL, Connect
from tests.services.realtime_world import RealtimeWorld


def answering(status: int, text: str = "", content_type: str = "application/json") -> Client:
    """A client of a server that always answers this."""
    answer = httpx.Response(status, text=text, headers={"Content-Type": content_type})
    return Client(URL, token="pinotadmin_s3cret", http=httpx.Client(transport=httpx.MockTransport(lambda _: answer)))


def failing(error: Exception) -> Client:
    """A client whose every request raises this."""

    def raise_it(_: httpx.Request) -> httpx.Response:
        raise error

    return Client(URL, token="pinotadmin_s3cret", http=httpx.Client(transport=httpx.MockTransport(raise_it)))


def test_tables_are_made_listed_read_changed_and_deleted(client: Client) -> None:
    assert client.schemas.create(schema_of())
    made = client.tables.create(config_of(), reason="new table")
    assert (made.status, made.warnings) == ("Table t_OFFLINE successfully added", [])
    assert client.tables.names().tables == ["t"]
    assert client.tables.names(type_="OFFLINE").tables == ["t_OFFLINE"]
    assert client.tables.get("t")["OFFLINE"]["tableName"] == "t_OFFLINE"
    assert client.tables.set_state("t", type_="OFFLINE", state="disable").status
    assert client.tables.state("t").state == "disabled"
    assert "deleted" in client.tables.delete("t", reason="a test").status
    with pytest.raises(NotFound) as caught:
        client.tables.get("t")
    assert caught.value.status == 404


def test_a_rollback_is_previewed_done_and_undone_with_its_reason_on_record(
    table: ApiCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = switch_back.wait_until_online
    monkeypatch.setattr(switch_back, "wait_until_online", lambda *a, **more: (table.serve(), wait(*a, **more)))
    entry = replaced(table, ["a"], ["b"])
    assert client.entries("t", type_="OFFLINE").keys() == {entry}
    [found] = client.entries("t").values()
    assert (found.state, found.segments_from, found.segments_to) == ("COMPLETED", ["a"], ["b"])
    preview = client.lineage.preview_rollback("t", to=entry)
    assert (preview.allowed, preview.before.rows, [s.entry_id for s in preview.steps]) == (True, 3, [entry])
    done = client.lineage.roll_back("t", to=entry, reason="wrong prices, Zürich")
    assert (done.table, done.reverted) == ("t_OFFLINE", [entry])
    assert client.lineage.preview_undo("t", entry).undoes == [entry]
    [event] = [e for e in client.audit.events(limit=50).events if "Zürich" in e.reason]
    assert (event.reason, event.target, event.actor) == ("wrong prices, Zürich", "t_OFFLINE", "root (token tests)")
    assert AuditEvent.objects.filter(reason="wrong prices, Zürich").exists()
    with pytest.raises(Conflict) as caught:
        client.lineage.roll_back("t", to=entry)
    assert caught.value.message
    undone = client.lineage.undo("t", entry, reason="they were right")
    assert (undone.undone, undone.returned_segments, undone.hidden_segments) == ([entry], ["b"], ["a"])


def test_consumption_is_paused_and_resumed(cluster: ApiCluster, client: Client, tmp_path: Any) -> None:
    world = RealtimeWorld(tmp_path / "realtime", partitions=2)
    with wiring.use(world.ctx, cluster.broker):
        assert client.consumption.pause("t", comment="upgrade").pause_flag is True
        status = client.consumption.pause_status("t")
        assert (status.pause_flag, status.comment) == (True, "upgrade")
        assert client.consumption.resume("t").pause_flag is False


def test_queries_pass_their_options(client: Client) -> None:
    assert client.query("select 1", timeoutMs=5).exceptions == []
    assert client.call("POST", "/query/sql", body={"sql": "select 1", "queryOptions": "a=b"})["options"] == {"a": "b"}


def test_users_sign_in_with_a_password_and_are_refused_by_kind(cluster: ApiCluster, connect: Connect) -> None:
    cluster.create()
    cluster.as_user("reader")
    reader = connect(user="reader", password=PASSWORD)
    assert reader.tables.names().tables == ["t"]
    with pytest.raises(NotAllowed):
        reader.tables.delete("t")
    with pytest.raises(NotSignedIn):
        connect(token="pinotadmin_wrong").tables.names()
    with pytest.raises(Invalid) as caught:
        reader.call("GET", "/segments/t/lineage")
    assert (caught.value.status, caught.value.remedy) == (400, "Add type=...")


def test_names_are_quoted_and_cannot_leave_their_place_in_the_path() -> None:
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.raw_path)
        return httpx.Response(200, json={})

    client = Client(URL, token="x", http=httpx.Client(transport=httpx.MockTransport(answer)))
    for name in ("../tokens", "t?type=x", "a/b#c", "%2e%2e"):
        client.tables.schema(name)
    assert [path.count(b"/") for path in sent] == [3] * 4
    assert b"?" not in b"".join(sent)
    with pytest.raises(ValueError, match="slash"):
        client.call("GET", "@elsewhere.example/")


@pytest.mark.parametrize(
    ("status", "kind"), [(409, Conflict), (412, Conflict), (413, Invalid), (500, ServerFault), (302, ApiError)]
)
def test_a_status_is_an_error_of_its_kind_also_without_json(status: int, kind: type[ApiError]) -> None:
    with pytest.raises(kind) as caught:
        answering(status, "<html>proxy</html>", "text/html").tables.names()
    assert (caught.value.status, caught.value.message) == (status, "<html>proxy</html>")


def test_an_answer_of_another_shape_is_reported_as_such() -> None:
    for text in ("<html>", '{"tables": 3}', "{}"):
        with pytest.raises(UnexpectedAnswer):
            answering(200, text).tables.names()


def test_no_answer_is_no_refusal_and_the_time_out_is_named() -> None:
    with pytest.raises(TimedOut, match="within 60 s"):
        failing(httpx.ReadTimeout("slow")).tables.names()
    with pytest.raises(NoAnswer):
        failing(httpx.ConnectError("refused")).tables.names()


def test_a_push_is_waited_for_over_a_restart_and_no_longer_than_asked(client: Client) -> None:
    with pytest.raises(NotFound):
        client.wait_for_push("00000000-0000-4000-8000-000000000000", timeout_s=5)
    with pytest.raises(NoAnswer):
        failing(httpx.ConnectError("refused")).wait_for_push("x", timeout_s=0.02, poll_s=0.01)


def test_the_time_out_of_the_client_is_that_of_its_requests() -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(200, json={"tables": []})

    Client(URL, token="x", timeout_s=7, http=httpx.Client(transport=httpx.MockTransport(answer))).tables.names()
    assert set(seen[0].values()) == {7}


def test_secrets_are_in_no_repr_and_no_traceback() -> None:
    client = failing(httpx.ConnectError("refused"))
    shown = [repr(client), repr(client._transport), str(of_token(URL, "s3cret")), repr(of_user(URL, "u", "s3cret"))]
    try:
        client.tables.names()
    except NoAnswer as error:
        shown.append("".join(traceback.format_exception(error)))
    assert [text for text in shown if "s3cret" in text] == []


@pytest.mark.parametrize("url", ["ftp://x", "http://user:password@x", "x:9000", "http://"])
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        Client(url, token="x")
    assert "password@" not in str(caught.value)
