"""OpenTelemetry traces: what a request, a push or a commit took, through all processes that had a part in it. Without
an address to send them to, everything here does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from segments.request_ids import current_request
from segments.secret_texts import mask_text

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

_P = ParamSpec("_P")
_T = TypeVar("_T")
#: The header that a trace goes on with (W3C Trace Context).
HEADER: Final = "traceparent"
_NOTHING: Final = nullcontext()
#: Seconds that a process which ends waits for what is not sent yet.
_FLUSH_MS: Final = 2_000
#: Letters of an error in a span.
_LONGEST: Final = 500


@dataclass(frozen=True)
class Destination:
    """Where traces go: ``endpoint`` is the base address of an OTLP receiver over HTTP (``/v1/traces`` is added; empty:
    nowhere), ``headers`` go along with each call, ``share`` of all traces is sent, between 0 and 1.
    """

    endpoint: str = ""
    headers: Mapping[str, str] | None = None
    share: float = 1.0


@dataclass(frozen=True)
class _Tracing:
    provider: TracerProvider
    tracer: Tracer


_tracing: _Tracing | None = None


def begin(role: str, destination: Destination) -> None:
    """From now on spans of this process are sent, as those of the service ``pinotadmin-ROLE``. A process that was
    forked begins again: the thread that sends is left behind. ImportError without the packages of the extra ``traces``.
    """
    if destination.endpoint:
        # Only here: an installation without traces neither has nor loads these packages.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        address = f"{destination.endpoint.rstrip('/')}/v1/traces"
        begin_with(role, OTLPSpanExporter(address, headers=dict(destination.headers or {})), destination.share)


def begin_with(role: str, exporter: SpanExporter, share: float = 1.0) -> None:
    """The same with an exporter of the caller's."""
    global _tracing
    from opentelemetry.sdk.resources import Resource  # as above
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    # By the trace's id, so that all processes decide the same, and no client decides for them.
    ratio = TraceIdRatioBased(share)
    sampler = ParentBased(ratio, remote_parent_sampled=ratio, remote_parent_not_sampled=ratio)
    resource = Resource.create({"service.name": f"pinotadmin-{role}"})
    provider = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _tracing = _Tracing(provider, provider.get_tracer("pinotadmin"))


def end() -> None:
    """Send what is left, for two seconds at most, and stop."""
    global _tracing
    ended, _tracing = _tracing, None
    if ended is not None:
        ended.provider.force_flush(_FLUSH_MS)
        ended.provider.shutdown()


def span(name: str, **attributes: str | int) -> AbstractContextManager[Any]:
    """A step of whatever this thread is in, or the first of a new trace; it fails with what the block raises."""
    return _NOTHING if _tracing is None else _span(_tracing, name, attributes)


def step(name: str, **attributes: str | int) -> AbstractContextManager[Any]:
    """The same where something is traced already; what a thread does all the time begins no trace."""
    return _NOTHING if _tracing is None or not _is_traced() else _span(_tracing, name, attributes)


def received(name: str, parent: str | None, *, may_begin: bool, **attributes: str | int) -> AbstractContextManager[Any]:
    """What another process asked for: a part of the trace that its ``traceparent`` header names, else the first span of
    a new one if it ``may_begin`` one.
    """
    if _tracing is None or not (parent or may_begin):
        return _NOTHING
    return _span(_tracing, name, attributes, context=_context_of(parent))


def sent() -> dict[str, str]:
    """The headers that take the trace along to another process; none where nothing is traced."""
    headers: dict[str, str] = {}
    if _tracing is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # as above

        TraceContextTextMapPropagator().inject(headers)
        headers.pop("tracestate", None)
    return headers


def rename(name: str) -> None:
    """The span that this thread is in gets another name: which route a request takes is known later than that it
    came.
    """
    if _tracing is not None:
        from opentelemetry.trace import get_current_span  # as above

        get_current_span().update_name(name)


def note(**attributes: str | int) -> None:
    """More about the span that this thread is in."""
    if _tracing is not None:
        from opentelemetry.trace import get_current_span  # as above

        get_current_span().set_attributes(_named(attributes))


def is_on() -> bool:
    """Are traces sent?"""
    return _tracing is not None


def trace_id() -> str:
    """32 hexadecimal digits; empty where nothing is traced."""
    if _tracing is None:
        return ""
    from opentelemetry.trace import get_current_span  # as above

    found = get_current_span().get_span_context()
    return f"{found.trace_id:032x}" if found.is_valid else ""


def carried(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The same function for a thread of a pool: what it does is done for the request, and in the trace, of this
    thread. To be called once.
    """
    return partial(copy_context().run, function)


@contextmanager
def _span(
    tracing: _Tracing, name: str, attributes: Mapping[str, str | int], context: Context | None = None
) -> Iterator[Any]:
    given = _named(attributes)
    if request := current_request():
        given["pinotadmin.request_id"] = request
    from opentelemetry.trace import Status, StatusCode  # as in begin

    with tracing.tracer.start_as_current_span(
        name, context=context, attributes=given, record_exception=False, set_status_on_exception=False
    ) as begun:
        try:
            yield begun
        except Exception as error:
            begun.set_status(Status(StatusCode.ERROR, mask_text(f"{type(error).__name__}: {error}")[:_LONGEST]))
            raise


def _named(attributes: Mapping[str, str | int]) -> dict[str, str | int]:
    return {f"pinotadmin.{key}": value for key, value in attributes.items()}


def _is_traced() -> bool:
    from opentelemetry.trace import get_current_span  # as in begin

    return get_current_span().get_span_context().is_valid


def _context_of(parent: str | None) -> Context:
    from opentelemetry.context import Context  # as in begin
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({HEADER: parent or ""}, context=Context())
