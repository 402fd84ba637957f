"""A receiver of OpenTelemetry traces (OTLP over HTTP) that keeps what it gets."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """One span as it came in; ids in hexadecimal digits, ``parent`` empty for the first of its trace."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, str]
    is_failed: bool


class Collector:
    """Listens while the block runs. ``headers`` are those of the last call."""

    def __init__(self) -> None:
        self._found: list[Span] = []
        self.headers: dict[str, str] = {}
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.headers = {name.lower(): value for name, value in self.headers.items()}
                if self.path == "/v1/traces":
                    collector._found += _spans(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Collector:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def spans(self) -> list[Span]:
        """All so far."""
        return list(self._found)

    def trace_of(self, name: str, **attributes: str) -> list[Span]:
        """All spans of the trace which has a span of this name and these attributes; none while there is none."""
        known = self.spans()
        traces = {s.trace for s in known if s.name == name and attributes.items() <= s.attributes.items()}
        return [s for s in known if s.trace in traces]


def _spans(request: ExportTraceServiceRequest) -> list[Span]:
    found = []
    for of_service in request.resource_spans:
        service = next(a.value.string_value for a in of_service.resource.attributes if a.key == "service.name")
        for scope in of_service.scope_spans:
            for s in scope.spans:
                attributes = {
                    a.key.removeprefix("pinotadmin."): a.value.string_value or str(a.value.int_value)
                    for a in s.attributes
                }
                found.append(
                    Span(
                        *(service, s.name, s.trace_id.hex(), s.span_id.hex(), s.parent_span_id.hex(), attributes),
                        is_failed=s.status.code == s.status.STATUS_CODE_ERROR,
                    )
                )
    return found
