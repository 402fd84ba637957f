"""OpenTelemetry traces: what a request, a push or a commit took, through all processes that had a part in it. Without
an address to send them to, everything here does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from segments.open_telemetry import Tracing

_P = ParamSpec("_P")
_T = TypeVar("_T")
#: The header that a trace goes on with (W3C Trace Context).
HEADER: Final = "traceparent"
_NOTHING: Final = nullcontext()
_tracing: Tracing | None = None


@dataclass(frozen=True)
class Destination:
    """Where traces go: ``endpoint`` is the base address of an OTLP receiver over HTTP (``/v1/traces`` is added; empty:
    nowhere), ``headers`` go along with each call, ``share`` of all traces is sent, between 0 and 1.
    """

    endpoint: str = ""
    headers: Mapping[str, str] | None = None
    share: float = 1.0


def begin(role: str, destination: Destination) -> None:
    """From now on spans of this process are sent, as those of the service ``pinotadmin-ROLE``. A process that was
    forked begins again: the thread that sends is left behind. ImportError without the packages of the extra ``traces``.
    """
    if destination.endpoint:
        from segments.open_telemetry import otlp_exporter  # only where traces are sent are its packages there

        begin_with(role, otlp_exporter(destination.endpoint, destination.headers or {}), destination.share)


def begin_with(role: str, exporter: SpanExporter, share: float = 1.0) -> None:
    """The same with an exporter of the caller's."""
    global _tracing
    from segments.open_telemetry import Tracing  # as above

    _tracing = Tracing(role, exporter, share)


def end() -> None:
    """Send what is left, for two seconds at most, and stop."""
    global _tracing
    ended, _tracing = _tracing, None
    if ended is not None:
        ended.end()


def span(name: str, **attributes: str | int) -> AbstractContextManager[Any]:
    """A step of whatever this thread is in, or the first of a new trace; it fails with what the block raises."""
    return _NOTHING if _tracing is None else _tracing.span(name, attributes)


def step(name: str, **attributes: str | int) -> AbstractContextManager[Any]:
    """The same where something is traced already; what a thread does all the time begins no trace."""
    return _tracing.span(name, attributes) if _tracing is not None and _tracing.trace_id() else _NOTHING


def received(name: str, parent: str | None, *, may_begin: bool, **attributes: str | int) -> AbstractContextManager[Any]:
    """What another process asked for: a part of the trace that its ``traceparent`` header names, else the first span of
    a new one if it ``may_begin`` one.
    """
    if _tracing is None or not (parent or may_begin):
        return _NOTHING
    return _tracing.span(name, attributes, _tracing.context_of({HEADER: parent or ""}))


def sent() -> dict[str, str]:
    """The headers that take the trace along to another process; none where nothing is traced."""
    return {} if _tracing is None else _tracing.headers()


def rename(method: str, route: str) -> None:
    """The span that this thread is in is one of this route, which is known later than that a request came."""
    if _tracing is not None:
        _tracing.rename(f"{method} /{route}")


def note(**attributes: str | int) -> None:
    """More about the span that this thread is in."""
    if _tracing is not None:
        _tracing.note(attributes)


def is_on() -> bool:
    """Are traces sent?"""
    return _tracing is not None


def trace_id() -> str:
    """32 hexadecimal digits; empty where nothing is traced."""
    return "" if _tracing is None else _tracing.trace_id()


def carried(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The same function for a thread of a pool: what it does is done for the request, and in the trace, of this
    thread. To be called once.
    """
    return partial(copy_context().run, function)
