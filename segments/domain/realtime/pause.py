"""What of a realtime table is paused, why and until when: the value in the ideal state's ``pauseState``.

Pinot knows table and topic pause. Ours in the same JSON, which Pinot's readers ignore: ``pausedPartitions``, ``actor``,
``resumeAtMs``. Rule `pauses-hold`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import CONSUMING

ADMINISTRATIVE: Final = "ADMINISTRATIVE"
STORAGE_QUOTA_EXCEEDED: Final = "STORAGE_QUOTA_EXCEEDED"
RESOURCE_UTILIZATION_LIMIT_EXCEEDED: Final = "RESOURCE_UTILIZATION_LIMIT_EXCEEDED"
#: Partition id of a table with several topics = topic index * this + the stream's own partition.
PARTITIONS_PER_TOPIC: Final = 10_000
#: Our words where nobody gave a reason; Pinot's own sentences.
PAUSED_TEXT: Final = "Table is paused."
UNPAUSED_TEXT: Final = "Table is unpaused."


@dataclass(frozen=True)
class PauseState:
    """``paused``: the whole table. ``inactive_topics`` and ``partitions`` stop alone, whatever the table's flag says.

    ``time_text`` is UTC, ``yyyy-MM-dd HH:mm:ss.S``. ``resume_at_ms`` is the planned end of the table's pause, None:
    until somebody resumes.
    """

    paused: bool = False
    reason_code: str = ADMINISTRATIVE
    comment: str | None = None
    time_text: str = ""
    inactive_topics: tuple[int, ...] = ()
    partitions: tuple[int, ...] = ()
    actor: str = ""
    resume_at_ms: int | None = None

    def stops(self, partition: int, topics: int) -> bool:
        """Must this partition not consume? ``topics`` = number of stream configs of the table."""
        return self.paused or partition in self.partitions or topic_of(partition, topics) in self.inactive_topics

    def is_due(self, now_ms: int) -> bool:
        """Has the planned end of the table's pause come?"""
        return self.paused and self.resume_at_ms is not None and now_ms >= self.resume_at_ms

    def with_topics(self, indices: Iterable[int], *, is_paused: bool) -> PauseState:
        """These topics paused, or running again; time and comment stay."""
        return replace(self, inactive_topics=_changed(self.inactive_topics, indices, is_paused))

    def with_partitions(self, ids: Iterable[int], *, is_paused: bool) -> PauseState:
        """These partitions paused, or running again."""
        return replace(self, partitions=_changed(self.partitions, ids, is_paused))

    def to_json(self) -> dict[str, Any]:
        """Pinot's PauseState JSON; ours only where set. An empty list of topics is written."""
        body: dict[str, Any] = {"paused": self.paused, "reasonCode": self.reason_code}
        if self.comment is not None:
            body["comment"] = self.comment
        body |= {"timeInMillis": self.time_text, "indexOfInactiveTopics": list(self.inactive_topics)}
        if self.partitions:
            body["pausedPartitions"] = list(self.partitions)
        if self.actor:
            body["actor"] = self.actor
        if self.resume_at_ms is not None:
            body["resumeAtMs"] = self.resume_at_ms
        return body


def pause_of(ideal: ZNRecord) -> PauseState:
    """The pause state of a table's ideal state. The legacy flag counts only where the JSON is missing or unreadable."""
    return _parsed(ideal.simple.get("pauseState")) or PauseState(
        paused=ideal.simple.get("isTablePaused", "").lower() == "true"
    )


def with_pause(ideal: ZNRecord, state: PauseState, *, legacy_flag: bool = True) -> ZNRecord:
    """The ideal state with this pause state. ``legacy_flag``: also the old boolean, as table pause and resume do, topic
    pause does not.
    """
    changes: dict[str, str | None] = {"pauseState": json.dumps(state.to_json(), separators=(",", ":"))}
    if legacy_flag:
        changes["isTablePaused"] = str(state.paused).lower()
    return ideal.with_simple_items(changes)


def topic_of(partition: int, topics: int) -> int:
    """Index of the partition's topic; ids of a table with a single topic are not translated."""
    return partition // PARTITIONS_PER_TOPIC if topics > 1 else 0


def stream_partition(partition: int, topics: int) -> int:
    """The partition's number in its own topic."""
    return partition % PARTITIONS_PER_TOPIC if topics > 1 else partition


def consuming_segments(ideal: ZNRecord) -> list[str]:
    """Segments with at least one CONSUMING replica, sorted."""
    return sorted(s for s, row in ideal.maps.items() if CONSUMING in row.values())


def is_disabled(ideal: ZNRecord) -> bool:
    """Is the whole table disabled?"""
    return ideal.simple.get("HELIX_ENABLED", "true").lower() == "false"


def time_text(now_ms: int) -> str:
    """``2026-08-01 10:00:00.5``: java.sql.Timestamp's text, in UTC, without trailing zeros."""
    moment = datetime.fromtimestamp(now_ms / 1000, UTC)
    fraction = f"{now_ms % 1000:03d}".rstrip("0") or "0"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{fraction}"


def status_json(state: PauseState, consuming: Collection[str]) -> dict[str, Any]:
    """Pinot's PauseStatusDetails; ours (``pausedPartitions``, ``actor``, ``resumeAtMs``) only where
    set.
    """
    default = PAUSED_TEXT if state.paused else UNPAUSED_TEXT
    body: dict[str, Any] = {
        "pauseFlag": state.paused,
        "consumingSegments": sorted(consuming),
        "reasonCode": state.reason_code,
        "comment": state.comment if state.comment is not None else default,
        "timestamp": state.time_text,
    }
    if state.inactive_topics:
        body["indexOfInactiveTopics"] = list(state.inactive_topics)
    extra = state.to_json()
    return body | {k: extra[k] for k in ("pausedPartitions", "actor", "resumeAtMs") if k in extra}


def _parsed(text: str | None) -> PauseState | None:
    if text is None:
        return None
    try:
        body = json.loads(text)
        resume_at = body.get("resumeAtMs")
        return PauseState(
            paused=body["paused"] is True,
            reason_code=str(body.get("reasonCode") or ADMINISTRATIVE),
            comment=body.get("comment"),
            time_text=str(body.get("timeInMillis") or ""),
            inactive_topics=tuple(sorted({int(i) for i in body.get("indexOfInactiveTopics") or ()})),
            partitions=tuple(sorted({int(i) for i in body.get("pausedPartitions") or ()})),
            actor=str(body.get("actor") or ""),
            resume_at_ms=int(resume_at) if resume_at is not None else None,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _changed(before: Collection[int], given: Iterable[int], is_paused: bool) -> tuple[int, ...]:
    after = set(before) | set(given) if is_paused else set(before) - set(given)
    return tuple(sorted(after))
