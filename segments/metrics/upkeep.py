"""Periodic passes, deletions, and every change that people or passes make."""

from __future__ import annotations

from typing import Final

from segments.metrics.metric_kinds import OF_TABLE, WEB, WORKER, Counter, Histogram

_BY: Final = (WEB, WORKER)

PASS_RUNS: Final = Counter(
    "controller_periodic_task_run", "Runs of periodic passes, over all tables or one.", ("task",),
    ("controllerPeriodicTaskRun",), _BY,
)  # fmt: skip
PASS_ERRORS: Final = Counter(
    "periodic_task_error", "Tables on which a pass failed.", (*OF_TABLE, "task"),
    ("periodicTaskError", "controllerPeriodicTaskError", "retentionManagerError"), _BY,
)  # fmt: skip
PASS_TABLES: Final = Counter(
    "periodic_task_tables_processed", "Tables that passes went over.", ("task",), ("periodicTaskNumTablesProcessed",),
    _BY,
)  # fmt: skip
PASS_SECONDS: Final = Histogram("periodic_task_seconds", "Time of a pass over one table.", ("task",), shown_by=_BY)
STRANDED_FILES: Final = Counter(
    "deleted_tmp_segment_count", "Files in the deep store that no record names and a pass removed: uploads that were"
    " interrupted or that no commit took.", OF_TABLE, ("deletedTmpSegmentCount", "untrackedSegmentsCount"), _BY,
)  # fmt: skip
REBALANCES: Final = Counter(
    "rebalances", "Rebalances of embedded clusters, by what became of them: begun, done, failed or stopped.",
    (*OF_TABLE, "outcome"),
)  # fmt: skip
CHANGES: Final = Counter(
    "changes", "Changes on record (audit), by action and outcome: done, refused or failed.", ("action", "outcome")
)
