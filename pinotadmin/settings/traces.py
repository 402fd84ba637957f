"""Where OpenTelemetry traces are sent, and how many; the names are OpenTelemetry's own where it has one."""

from __future__ import annotations

from importlib.util import find_spec

from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import as_header_list, as_http_address, as_share
from segments.traces import Destination

_ENDPOINT = given.value(
    "OTEL_EXPORTER_OTLP_ENDPOINT", "", "base address of an OpenTelemetry collector over HTTP; none: no traces",
    as_http_address,
)  # fmt: skip
_HEADERS = given.value(
    "OTEL_EXPORTER_OTLP_HEADERS", "", "headers for it, such as a token: name=value,name=value", as_header_list,
    secret=True,
)  # fmt: skip
_SHARE = given.value("PINOTADMIN_TRACE_SHARE", "1", "which share of all traces is sent, from 0 to 1", as_share)


def _is_installed() -> bool:
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # of a package above it
        return False


if _ENDPOINT and not _is_installed():
    given.refuse(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT needs packages that are not installed: make install EXTRAS=traces, or"
        " pip install 'pinotadmin[traces]'.",
    )

TRACES = Destination(_ENDPOINT, _HEADERS, _SHARE)
