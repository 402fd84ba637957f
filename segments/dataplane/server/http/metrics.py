"""The server's figures in Prometheus' text format."""

from __future__ import annotations

from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.query_runner import QueryRunner


def render_metrics(slots: Slots, runner: QueryRunner) -> str:
    """Segments by state; queries, failures and the bytes of decoded columns."""
    lines = [
        "# HELP pinotadmin_server_segments Segments by state.",
        "# TYPE pinotadmin_server_segments gauge",
        *(
            f'pinotadmin_server_segments{{state="{state}"}} {count}'
            for state, count in sorted(slots.count_by_state().items())
        ),
        "# HELP pinotadmin_server_queries_total Queries taken.",
        "# TYPE pinotadmin_server_queries_total counter",
        f"pinotadmin_server_queries_total {runner.queries}",
        "# HELP pinotadmin_server_query_failures_total Queries refused or failed.",
        "# TYPE pinotadmin_server_query_failures_total counter",
        f"pinotadmin_server_query_failures_total {runner.failures}",
        "# HELP pinotadmin_server_column_cache_bytes Bytes of decoded columns.",
        "# TYPE pinotadmin_server_column_cache_bytes gauge",
        f"pinotadmin_server_column_cache_bytes {runner.cache_bytes()}",
    ]
    return "\n".join(lines) + "\n"
