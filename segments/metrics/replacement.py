"""Replacements: what was switched, taken back and refused, and what is under way."""

from __future__ import annotations

from typing import Final

from segments.metrics.metric_kinds import OF_TABLE, WEB, Counter, Gauge, Histogram

REPLACEMENTS: Final = Counter(
    "segment_replacements", "Steps of the replacement protocol that were done, by step: start, end or revert.",
    (*OF_TABLE, "step"),
)  # fmt: skip
START_FAILURES: Final = Counter(
    "num_start_replace_failure", "Starts of replacements that failed; refusals are not counted.", OF_TABLE,
    pinot=("numStartReplaceFailure",),
)  # fmt: skip
END_FAILURES: Final = Counter(
    "num_end_replace_failure", "Ends of replacements that failed; refusals are not counted.", OF_TABLE,
    pinot=("numEndReplaceFailure",),
)  # fmt: skip
REVERT_FAILURES: Final = Counter(
    "num_revert_replace_failure", "Reverts of replacements that failed; refusals are not counted.", OF_TABLE,
    pinot=("numRevertReplaceFailure",),
)  # fmt: skip
REFUSALS: Final = Counter(
    "segment_replacement_refusals", "Steps of the replacement protocol that the rules refused, by step.",
    (*OF_TABLE, "step"),
)  # fmt: skip
SECONDS: Final = Histogram(
    "segment_replacement_seconds", "Time of a step that was done, until all live brokers follow it, by step.",
    (*OF_TABLE, "step"),
)  # fmt: skip
BLOCKED_DELETES: Final = Counter(
    "lineage_blocked_delete_count", "Deletions of segments that a lineage entry locks.", OF_TABLE,
    pinot=("lineageBlockedDeleteCount",),
)  # fmt: skip
ENTRIES: Final = Gauge("lineage_entries", "Lineage entries by state.", (*OF_TABLE, "state"), shown_by=(WEB,))
OLDEST_IN_PROGRESS: Final = Gauge(
    "lineage_oldest_in_progress_seconds", "Age of the oldest replacement that is neither ended nor reverted.", OF_TABLE,
    shown_by=(WEB,),
)  # fmt: skip
