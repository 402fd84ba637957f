"""Traces inside of one process: what is a part of what, what is never written into them, and what happens without a
collector.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pinotadmin.configuration.setting_texts import WrongText, as_header_list, as_http_address, as_share
from segments import traces
from segments.errors import Rejected
from segments.request_ids import current_request, request_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def kept() -> Iterator[InMemorySpanExporter]:
    """What is sent; complete after ``traces.end``."""
    exporter = InMemorySpanExporter()
    traces.begin_with("web", exporter)
    yield exporter
    traces.end()


def names(exporter: InMemorySpanExporter) -> list[str]:
    traces.end()
    return [s.name for s in exporter.get_finished_spans()]


def test_nothing_is_traced_and_nothing_sent_along_without_a_collector() -> None:
    traces.begin("web", traces.Destination())
    with traces.span("query", table="t"), traces.received("task", PARENT, may_begin=True):
        assert traces.sent() == {}
        assert traces.trace_id() == ""
    assert not traces.is_on()


def test_a_step_of_nothing_begins_no_trace(kept: InMemorySpanExporter) -> None:
    with traces.step("segmentConsumed"), traces.received("task pass", None, may_begin=False):
        assert traces.sent() == {}
    assert names(kept) == []


def test_the_trace_of_another_process_goes_on_also_in_threads_of_a_pool(kept: InMemorySpanExporter) -> None:
    def part() -> str:
        with traces.step("ask server"):
            assert traces.trace_id() == "0af7651916cd43dd8448eb211c80319c"
            return current_request()

    with (
        ThreadPoolExecutor(1) as pool,
        request_of(None) as request,
        traces.received("POST api", PARENT, may_begin=True),
    ):
        traces.rename("POST", "query/sql")
        assert pool.submit(traces.carried(part)).result() == request
        assert traces.sent()["traceparent"].split("-")[1] == PARENT.split("-")[1]
    assert names(kept) == ["ask server", "POST /query/sql"]


def test_a_header_that_is_no_trace_begins_one_of_our_own(kept: InMemorySpanExporter) -> None:
    with traces.received("GET api", "x" * 5000, may_begin=True):
        assert len(traces.trace_id()) == 32
    assert names(kept) == ["GET api"]


def test_no_client_decides_that_its_requests_are_traced() -> None:
    exporter = InMemorySpanExporter()
    traces.begin_with("web", exporter, share=0.0)
    with traces.received("GET api", PARENT, may_begin=True), traces.span("query"):
        pass
    assert names(exporter) == []


def test_an_error_stands_in_its_span_without_secrets(kept: InMemorySpanExporter) -> None:
    with pytest.raises(Rejected), traces.span("upload"):
        raise Rejected("no answer from http://ann:hidden@store/", url="x")
    traces.end()
    (found,) = kept.get_finished_spans()
    assert not found.status.is_ok
    assert "no answer from" in (found.status.description or "")
    assert "hidden" not in found.to_json()


def test_settings_of_traces_are_read_or_refused_without_showing_a_secret() -> None:
    assert as_header_list("authorization=Bearer%20abc, x-tenant=7") == {"authorization": "Bearer abc", "x-tenant": "7"}
    assert as_http_address("https://collector.example:4318/otlp") == "https://collector.example:4318/otlp"
    assert as_http_address("") == ""
    assert (as_share("0.25"), as_share("1")) == (0.25, 1.0)
    for read, text in (
        (as_header_list, "secret-token"), (as_http_address, "collector:4318"), (as_http_address, "http://u:p@c"),
        (as_share, "2"), (as_share, "nan"),
    ):  # fmt: skip
        with pytest.raises(WrongText) as refused:
            read(text)
        assert "secret-token" not in str(refused.value)
