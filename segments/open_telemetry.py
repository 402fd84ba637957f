"""The spans of this process, made and sent with OpenTelemetry's packages. Only ``traces`` imports it, and only where an
address for traces is set: an installation without traces neither has nor loads these packages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Status, StatusCode, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from segments.request_ids import current_request
from segments.secret_texts import mask_text

#: What a span has besides its name: values by their names without our prefix.
Attributes = Mapping[str, str | int]
#: Milliseconds that a process which ends waits for what is not sent yet.
_FLUSH_MS: Final = 2_000
#: Letters of an error in a span.
_LONGEST: Final = 500


def otlp_exporter(endpoint: str, headers: Mapping[str, str]) -> SpanExporter:
    """Sends to an OTLP receiver over HTTP, ``endpoint`` is its base address."""
    return OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", headers=dict(headers))


class Tracing:
    """What ``traces`` does once traces are sent; see there. ``role`` names the service, ``share`` of all traces is
    sent.
    """

    def __init__(self, role: str, exporter: SpanExporter, share: float) -> None:
        # By the trace's id, so that all processes decide the same, and no client decides for them.
        ratio = TraceIdRatioBased(share)
        sampler = ParentBased(ratio, remote_parent_sampled=ratio, remote_parent_not_sampled=ratio)
        resource = Resource.create({"service.name": f"pinotadmin-{role}"})
        self._provider = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("pinotadmin")
        self._propagator = TraceContextTextMapPropagator()

    def end(self) -> None:
        """Send what is left, for two seconds at most, and stop."""
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()

    @contextmanager
    def span(self, name: str, attributes: Attributes, context: Context | None = None) -> Iterator[Any]:
        """A span around the block, in this thread's trace or that of ``context``."""
        given = _named(attributes)
        if request := current_request():
            given |= _named({"request_id": request})
        with self._tracer.start_as_current_span(
            name, context=context, attributes=given, record_exception=False, set_status_on_exception=False
        ) as begun:
            try:
                yield begun
            except Exception as error:
                begun.set_status(Status(StatusCode.ERROR, mask_text(f"{type(error).__name__}: {error}")[:_LONGEST]))
                raise

    def context_of(self, carrier: Mapping[str, str]) -> Context:
        """That of another process' headers; an empty one where they name no trace."""
        return self._propagator.extract(carrier, context=Context())

    def headers(self) -> dict[str, str]:
        """Those that take this thread's trace along; none where nothing is traced."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        carrier.pop("tracestate", None)
        return carrier

    @staticmethod
    def rename(name: str) -> None:
        """Of the span that this thread is in."""
        get_current_span().update_name(name)

    @staticmethod
    def note(attributes: Attributes) -> None:
        """For the span that this thread is in."""
        get_current_span().set_attributes(_named(attributes))

    @staticmethod
    def trace_id() -> str:
        """Of the trace that this thread is in; empty: it is in none."""
        found = get_current_span().get_span_context()
        return f"{found.trace_id:032x}" if found.is_valid else ""


def _named(attributes: Attributes) -> dict[str, str | int]:
    return {f"pinotadmin.{key}": value for key, value in attributes.items()}
