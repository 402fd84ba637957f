"""Pause state: which flag counts, what it stops, what readers get."""

from __future__ import annotations

import json

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.pause import (
    RESOURCE_UTILIZATION_LIMIT_EXCEEDED,
    STORAGE_QUOTA_EXCEEDED,
    PauseState,
    pause_of,
    status_json,
    stream_partition,
    time_text,
    topic_of,
    with_pause,
)
from segments.domain.realtime.pressure import Level, Pressure, Verdict, decide, utilization_of
from segments.domain.segments.ideal_state import new_ideal_state


def ideal(**simple: str) -> ZNRecord:
    return new_ideal_state("t_REALTIME", 1).with_simple(**simple)


@pytest.mark.parametrize(
    ("state", "legacy", "paused"),
    [
        ('{"paused":false,"reasonCode":"ADMINISTRATIVE","timeInMillis":"2026-01-01 00:00:00.0"}', "true", False),
        ('{"paused":true,"reasonCode":"ADMINISTRATIVE","timeInMillis":"x"}', "false", True),
        ("{bad", "true", True),
        ("{bad", "false", False),
        ("[]", "true", True),
        ('{"paused":true,"indexOfInactiveTopics":["a"]}', "false", False),
        (None, "true", True),
        (None, "false", False),
        (None, None, False),
    ],
)
def test_the_new_flag_wins_and_the_old_one_counts_where_it_is_missing_or_unreadable(
    state: str | None, legacy: str | None, paused: bool
) -> None:
    given = {k: v for k, v in (("pauseState", state), ("isTablePaused", legacy)) if v is not None}
    assert pause_of(ideal(**given)).paused is paused


def test_what_is_written_is_read_back_and_has_pinots_keys() -> None:
    state = PauseState(True, STORAGE_QUOTA_EXCEEDED, "full", "2026-01-01 00:00:00.0", (1,), (3, 10001), "ann", 5)
    record = with_pause(ideal(), state)
    assert pause_of(record) == state
    assert record.simple["isTablePaused"] == "true"
    body = json.loads(record.simple["pauseState"])
    assert {k: body[k] for k in ("paused", "reasonCode", "comment", "timeInMillis", "indexOfInactiveTopics")} == {
        "paused": True,
        "reasonCode": "STORAGE_QUOTA_EXCEEDED",
        "comment": "full",
        "timeInMillis": "2026-01-01 00:00:00.0",
        "indexOfInactiveTopics": [1],
    }


def test_keys_of_a_foreign_writer_are_ignored_and_null_is_missing() -> None:
    text = '{"paused":true,"reasonCode":null,"comment":null,"timeInMillis":null,"indexOfInactiveTopics":null,"more":1}'
    assert pause_of(ideal(pauseState=text)) == PauseState(paused=True)


def test_topic_pause_leaves_the_old_flag_alone() -> None:
    record = with_pause(ideal(isTablePaused="true"), PauseState().with_topics([0], is_paused=True), legacy_flag=False)
    assert record.simple["isTablePaused"] == "true"
    assert pause_of(record).paused is False


@pytest.mark.parametrize(
    ("state", "partition", "topics", "stopped"),
    [
        (PauseState(), 0, 1, False),
        (PauseState(paused=True), 7, 1, True),
        (PauseState(inactive_topics=(0,)), 7, 1, True),
        (PauseState(inactive_topics=(0,)), 10_007, 1, True),
        (PauseState(inactive_topics=(1,)), 3, 2, False),
        (PauseState(inactive_topics=(1,)), 10_003, 2, True),
        (PauseState(partitions=(3,)), 3, 1, True),
        (PauseState(partitions=(3,)), 10_003, 2, False),
    ],
)
def test_a_partition_runs_only_where_table_topic_and_partition_do(
    state: PauseState, partition: int, topics: int, stopped: bool
) -> None:
    assert state.stops(partition, topics) is stopped


def test_partition_ids_of_one_topic_are_not_translated() -> None:
    assert (topic_of(10_001, 1), stream_partition(10_001, 1)) == (0, 10_001)
    assert (topic_of(10_001, 2), stream_partition(10_001, 2)) == (1, 1)


def test_topics_and_partitions_are_added_and_taken_out_once() -> None:
    state = PauseState().with_topics([2, 0], is_paused=True).with_topics([0, 1], is_paused=True)
    assert state.inactive_topics == (0, 1, 2)
    assert state.with_topics([1, 5], is_paused=False).inactive_topics == (0, 2)
    assert state.with_partitions([4, 4], is_paused=True).partitions == (4,)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01 00:00:00.0"),
        (1_700_000_000_120, "2023-11-14 22:13:20.12"),
        (1_700_000_000_005, "2023-11-14 22:13:20.005"),
    ],
)
def test_times_are_written_as_java_writes_them(ms: int, text: str) -> None:
    assert time_text(ms) == text


def test_status_of_a_table_never_paused() -> None:
    assert status_json(pause_of(ideal()), ["b", "a"]) == {
        "pauseFlag": False,
        "consumingSegments": ["a", "b"],
        "reasonCode": "ADMINISTRATIVE",
        "comment": "Table is unpaused.",
        "timestamp": "",
    }


def test_status_reports_topics_and_ours_only_where_there_are_some() -> None:
    body = status_json(PauseState(paused=True, inactive_topics=(1,), partitions=(2,), actor="ann", resume_at_ms=9), [])
    assert body["indexOfInactiveTopics"] == [1]
    assert (body["pausedPartitions"], body["actor"], body["resumeAtMs"]) == ([2], "ann", 9)
    assert body["comment"] == "Table is paused."


# -- automatic pause

DISK = RESOURCE_UTILIZATION_LIMIT_EXCEEDED
QUOTA = STORAGE_QUOTA_EXCEEDED


def disk(share: float | None) -> Pressure:
    return Pressure.of_shares({} if share is None else {"s1": share, "s2": 0.1}, high=0.95, low=0.9, reason=DISK)


def quota(share: float) -> Pressure:
    return Pressure.of_shares({"Quota": share}, high=1.0, low=0.95, reason=QUOTA)


@pytest.mark.parametrize(
    ("state", "on_disk", "of_quota", "expected"),
    [
        (PauseState(), 0.96, 0.1, (DISK, False)),
        (PauseState(), 0.95, 0.1, (None, False)),
        (PauseState(), None, 0.1, (None, False)),
        (PauseState(), 0.5, 1.1, (QUOTA, False)),
        (PauseState(paused=True, reason_code=DISK), 0.99, 0.1, (None, False)),
        (PauseState(paused=True, reason_code=DISK), 0.93, 0.1, (None, False)),
        (PauseState(paused=True, reason_code=DISK), None, 0.1, (None, False)),
        (PauseState(paused=True, reason_code=DISK), 0.9, 0.1, (None, True)),
        (PauseState(paused=True, reason_code=DISK), 0.5, 1.1, (QUOTA, False)),
        (PauseState(paused=True, reason_code=QUOTA), 0.96, 0.1, (DISK, False)),
        (PauseState(paused=True, reason_code=QUOTA), 0.5, 0.97, (None, False)),
        (PauseState(paused=True, reason_code=QUOTA), 0.5, 0.9, (None, True)),
        (PauseState(paused=True), 0.99, 1.1, (None, False)),
        (PauseState(paused=True), 0.1, 0.1, (None, False)),
    ],
)
def test_a_table_is_paused_at_the_high_mark_and_goes_on_below_the_low_one(
    state: PauseState, on_disk: float | None, of_quota: float, expected: tuple[str | None, bool]
) -> None:
    verdict = decide(state, disk=disk(on_disk), quota=quota(of_quota))
    assert (verdict.pause_reason, verdict.resumes) == expected
    assert (verdict == Verdict()) is (expected == (None, False))
    assert bool(verdict.comment) is (expected != (None, False))


def test_a_quota_that_was_removed_lets_the_table_go_on() -> None:
    assert decide(PauseState(paused=True, reason_code=QUOTA), disk=disk(0.1), quota=Pressure.none(QUOTA)).resumes


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ({"totalSpaceBytes": 100, "usedSpaceBytes": 40}, 0.4),
        ({"totalSpaceBytes": 4 * 1024**4, "usedSpaceBytes": 4 * 1024**4 - 10 * 1024**3}, 0.0),
        ({"totalSpaceBytes": 0, "usedSpaceBytes": 0}, None),
        ({"totalSpaceBytes": "x", "usedSpaceBytes": 1}, None),
        ({"usedSpaceBytes": -1, "totalSpaceBytes": 5}, None),
        ({}, None),
    ],
)
def test_an_answer_that_makes_no_sense_is_unknown(answer: dict[str, object], share: float | None) -> None:
    assert utilization_of(answer) == share


def test_where_a_threshold_is_set_the_share_of_a_disk_counts_however_much_is_free() -> None:
    half = 2 * 1024**4
    assert utilization_of({"totalSpaceBytes": 2 * half, "usedSpaceBytes": half}, 0) == 0.5


@pytest.mark.parametrize("share", [0.4, None])
def test_a_share_below_the_mark_or_none_is_no_reason_to_pause(share: float | None) -> None:
    assert disk(share).level is (Level.UNKNOWN if share is None else Level.ROOM)
