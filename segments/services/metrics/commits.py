"""Counts the messages of servers about ending segments, and the commits among them."""

from __future__ import annotations

from typing import Final

from segments.domain.realtime.completion import Answer, Kind, Status
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.metrics import consumption as metrics
from segments.names import REALTIME, TableName
from segments.services.engine.commits import Received

_COMMITTING: Final = frozenset({Kind.COMMIT_START, Kind.COMMIT_END})


def count_message(cluster: str, kind: Kind, answer: Answer, received: Received | None) -> None:
    """One message and what it was answered. ``received`` None: it lacked a parameter."""
    metrics.COMPLETION_MESSAGES.add(kind.value, answer.status.value)
    if received is None or not is_llc_name(received.segment):
        return
    table = TableName(parse_llc_name(received.segment).raw, REALTIME).typed
    if answer.status is Status.COMMIT_SUCCESS:
        metrics.SEGMENTS_COMMITTED.add(cluster, table)
        if received.location.lower().startswith("peer://"):
            metrics.MISSING_DEEP_STORE_LINK.add(cluster, table)
    elif answer.status is Status.NOT_LEADER:
        metrics.FETCH_FAILURES.add(cluster, table)
    elif answer.status is Status.FAILED and kind in _COMMITTING:
        metrics.COMMITS_REFUSED.add(cluster, table)
