"""The installation itself: clusters it drives, workers, findings, alerts."""

from __future__ import annotations

from typing import Final

from segments.metrics.metric_kinds import CLUSTER, MIRROR, WEB, Counter, Gauge, Histogram

_BY: Final = (WEB,)

CLUSTER_UP: Final = Gauge(
    "cluster_up", "1 when the controller of a Pinot answers as it should.", (CLUSTER,), shown_by=_BY
)
MIRROR_AGE: Final = Gauge(
    "cluster_mirror_age_seconds", "Age of what is shown of a Pinot cluster.", (CLUSTER,), shown_by=_BY
)
MIRROR_CALLS: Final = Gauge(
    "cluster_mirror_calls", "Requests of the mirror to its controller a minute.", (CLUSTER,), shown_by=_BY
)
MIRROR_ERRORS: Final = Counter("mirror_errors", "Rounds of the mirror that failed.", (CLUSTER,), shown_by=(MIRROR,))
MIRROR_SECONDS: Final = Histogram(
    "mirror_round_seconds", "Time to bring the database up to date with what changed.", (CLUSTER,), shown_by=(MIRROR,)
)
WORKER_UP: Final = Gauge("worker_up", "1 when the pool of workers does its work.", ("pool",))
WORKER_BUSY: Final = Gauge("worker_busy_slots", "Tasks that the pool is at.", ("pool",))
QUEUE_LENGTH: Final = Gauge("queued_tasks", "Tasks that wait for a worker of the pool.", ("pool",), shown_by=_BY)
QUEUE_WAIT: Final = Gauge(
    "queued_task_oldest_seconds", "Time for which the oldest of them waits; 0 when none does.", ("pool",), shown_by=_BY
)
BEAT_SILENT: Final = Gauge(
    "beat_last_tick_seconds", "Time since beat noted that it checks schedules, which it does every 5 s.",
    (), shown_by=_BY,
)  # fmt: skip
REQUESTS: Final = Histogram(
    "http_request_seconds", "Time from a request's head to the end of its answer, by what was asked (query, completion,"
    " api, page, static) and the class of its status (2xx); aborted: its client left.", ("asked", "status"),
    shown_by=_BY, buckets=(0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0),
)  # fmt: skip
FINDINGS: Final = Gauge("findings", "Open findings.", (CLUSTER, "kind", "severity"), shown_by=_BY)
ALERTS_WAITING: Final = Gauge(
    "alerts_waiting", "Messages that a receiver has not taken yet.", ("receiver",), shown_by=_BY
)
