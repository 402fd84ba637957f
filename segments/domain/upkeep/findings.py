"""Diagnose a table: compare what should be with what is, and say each difference in one plain sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import Lineage, State
from segments.domain.segments.ideal_state import ERROR, SERVING
from segments.domain.tables.table_config import TableConfig

#: Codes that begin so are of others than the validation pass: whoever finds them opens and closes them. Consumption;
#: alerts' own sources (pushes, sessions, pauses, passes and workers); the mirror.
OF_OTHERS = ("consumption-", "mirror-", "stream-", "push-", "session-", "pause-", "pass-", "worker-", "task-")
NO_FILE = "no-file"
NOT_SERVED = "not-served"
#: An unfinished replacement older than this is worth a word.
STALE_PUSH_MS = 3_600_000


@dataclass(frozen=True)
class Found:
    """``code`` and ``subject`` identify a finding from pass to pass."""

    code: str
    subject: str
    severity: Literal["error", "warning"]
    message: str


def is_of_validation(code: str) -> bool:
    """Is a finding with this code one of the validation pass, to open and to close?"""
    return not code.startswith(OF_OTHERS)


@dataclass(frozen=True)
class Observation:
    """Everything a diagnosis reads: rows of ideal state and external view, live instances, names with a record, with
    a file.
    """

    ideal: Mapping[str, Mapping[str, str]]
    view: Mapping[str, Mapping[str, str]]
    live: Collection[str]
    records: Collection[str]
    pending: Collection[str]
    missing_files: Collection[str]
    lineage: Lineage


def diagnose(seen: Observation, config: TableConfig, now_ms: int) -> list[Found]:
    """All findings of a table, most serious first."""
    found = [*_segments(seen), *_records(seen), *_lineage(seen, now_ms)]
    copies = config.replication
    if len([i for i in seen.live if i.startswith("Server_")]) < copies:
        found.append(
            Found("few-servers", "", "warning", f"The table wants {counted(copies, 'server')}, but fewer are alive.")
        )
    return sorted(found, key=lambda f: (f.severity != "error", f.code, f.subject))


def _segments(seen: Observation) -> list[Found]:
    found = []
    visible = set(seen.lineage.visible(seen.ideal))
    for segment, wanted in sorted(seen.ideal.items()):
        states = seen.view.get(segment, {})
        serving = [i for i in wanted if i in seen.live and states.get(i) in SERVING]
        broken = sorted(i for i in wanted if states.get(i) == ERROR)
        if not serving and segment in visible:
            found.append(Found(NOT_SERVED, segment, "error", f"No server serves segment {segment}: queries fail."))
        elif broken:
            found.append(
                Found(
                    "replica-error",
                    segment,
                    "warning",
                    f"Segment {segment} could not be loaded by {', '.join(broken)}.",
                )
            )
        elif len(serving) < len(wanted):
            found.append(
                Found(
                    "replica-missing",
                    segment,
                    "warning",
                    f"Segment {segment} has {len(serving)} of {len(wanted)} replicas.",
                )
            )
    return found


def _records(seen: Observation) -> list[Found]:
    found = []
    for segment in sorted(set(seen.ideal) - set(seen.records)):
        found.append(
            Found(
                "no-record", segment, "error", f"Segment {segment} is assigned but has no record: a restart loses it."
            )
        )
    for segment in sorted(set(seen.records) - set(seen.ideal) - set(seen.pending)):
        found.append(
            Found(
                "orphan-record",
                segment,
                "warning",
                f"Segment {segment} has a record but no server: an upload did not finish.",
            )
        )
    for segment in sorted(seen.missing_files):
        found.append(
            Found(
                NO_FILE,
                segment,
                "error",
                f"The deep store has no file of segment {segment}: a server without a copy cannot load it.",
            )
        )
    return found


def _lineage(seen: Observation, now_ms: int) -> list[Found]:
    return [
        Found(
            "stale-push",
            e.id,
            "warning",
            f"Replacement {e.id} is unfinished for {(now_ms - e.timestamp_ms) // 60_000} minutes.",
        )
        for e in seen.lineage.in_order()
        if e.state is State.IN_PROGRESS and now_ms - e.timestamp_ms > STALE_PUSH_MS
    ]
