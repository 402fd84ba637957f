"""What a collector gets of a query, an end, a push and a commit: one trace each, through all processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.running import Client, Installation
from tests.integration.test_push import finished, push, write
from tests.integration.test_realtime_basic import Table
from tests.integration.traces.collector import Collector, Span
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """One for all tests of this file."""
    with Collector() as made:
        yield made


@pytest.fixture(scope="module")
def installation(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Sends its traces to the collector."""
    given = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=ours"}
    made = Installation(
        tmp_path_factory.mktemp("traces") / "data", settings={**given, "OTEL_BSP_SCHEDULE_DELAY": "200"}
    )
    try:
        yield made.start()
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()


@pytest.fixture
def client(installation: Installation) -> Client:
    """The administrator."""
    return Client(installation.endpoints)


def of_trace(collector: Collector, wanted: set[tuple[str, str]], name: str, **attributes: str) -> list[Span]:
    """The trace of the span of this name, once it has spans of all ``wanted`` services and names, and the one around
    each: every process sends its own when it likes.
    """

    def look() -> list[Span]:
        found = collector.trace_of(name, **attributes)
        known = {"", *(s.id for s in found)}
        is_whole = wanted <= {(s.service, s.name) for s in found} and all((s.parent or "") in known for s in found)
        return found if is_whole else []

    found: list[Span] = poll(look, 30, f"{wanted}, and the spans around them, in the trace of {name}")
    assert len({s.trace for s in found}) == 1, found
    assert len([s for s in found if not s.parent]) == 1
    return found


def parent_of(found: list[Span], name: str) -> str:
    """The name of the span around the first of this name."""
    parent = next(s.parent for s in found if s.name == name)
    return next(s.name for s in found if s.id == parent)


def test_a_query_and_an_end_are_one_trace_each_through_web_and_servers(client: Client, collector: Collector) -> None:
    client.create("traced")
    entry = client.start("traced", [], ["a", "b"])
    client.upload("traced", "a", "b")
    client.end("traced", entry)
    answer = client.call("POST", "/query/sql", json={"sql": "select count(*) from traced"})
    request = answer.headers["X-Request-Id"]
    of_query = {
        ("pinotadmin-web", "POST /query/sql"), ("pinotadmin-web", "query"), ("pinotadmin-web", "ask server"),
        ("pinotadmin-server", "POST /query"),
    }  # fmt: skip
    query = of_trace(collector, of_query, "query", request_id=request)
    assert {s.attributes.get("request_id", request) for s in query} == {request}  # of the servers' part, too
    assert parent_of(query, "POST /query") == "ask server"
    assert next(s for s in query if not s.parent).attributes["answer"] == "2xx"
    of_end = {
        ("pinotadmin-web", "end replacement"), ("pinotadmin-web", "wait for replicas"),
        ("pinotadmin-web", "wait for brokers"),
    }  # fmt: skip
    end = of_trace(collector, of_end, "end replacement", table="traced_OFFLINE")
    assert parent_of(end, "wait for brokers") == "end replacement"
    assert collector.headers["x-tenant"] == "ours"
    assert "traced" not in "".join(s.name for s in collector.spans())  # names are few; tables are attributes


def test_what_is_refused_fails_in_its_trace_with_the_reason(client: Client, collector: Collector) -> None:
    client.create("refused")
    query = {"type": "OFFLINE", "segmentLineageEntryId": "none"}
    client.call("POST", "/segments/refused/endReplaceSegments", 404, params=query)
    found = of_trace(collector, {("pinotadmin-web", "end replacement")}, "end replacement", table="refused_OFFLINE")
    assert next(s for s in found if s.name == "end replacement").is_failed


def test_a_push_is_one_trace_from_the_request_through_the_worker_to_its_end(
    installation: Installation, client: Client, collector: Collector
) -> None:
    client.create("traced_push")
    folder = installation.folder / "input" / "traced_push"
    folder.mkdir(parents=True)
    write(folder, "one.csv", 20, "one")
    number = push(client, "traced_push", folder)
    assert finished(client, number)["state"] == "DONE"
    stages = {("pinotadmin-worker", f"stage {s}") for s in ("LIST", "BUILD", "START", "UPLOAD", "END")}
    wanted = {*stages, ("pinotadmin-web", "POST /api/v1/pushes"), ("pinotadmin-worker", "end replacement")}
    found = of_trace(collector, wanted, "push", push=number)
    assert parent_of(found, "end replacement") == "stage END"


def test_a_commit_is_one_trace_from_the_server_that_builds_through_the_web_process(
    installation: Installation, client: Client, collector: Collector
) -> None:
    table = Table(installation, client, "traced_rows", rows=100)
    poll(table.is_settled, 30, "consuming")
    table.send(150)

    def committed() -> set[str]:
        """The step around a call ends after it, and is sent later."""
        return {
            s.attributes["segment"] for s in collector.trace_of("segmentCommitEndWithMetadata") if s.name == "commit"
        }

    poll(committed, 60, "a commit")
    (segment,) = committed()
    wanted = {
        ("pinotadmin-server", "build"), ("pinotadmin-server", "upload"), ("pinotadmin-server", "segmentCommitStart"),
        ("pinotadmin-web", "GET /segmentCommitStart"),
    }  # fmt: skip
    found = of_trace(collector, wanted, "commit", segment=segment)
    assert parent_of(found, "build") == "commit"
    roots = {s.name for s in collector.spans() if not s.parent}
    assert not {n for n in roots if "segmentConsumed" in n or "completion" in n or "health" in n}, roots
