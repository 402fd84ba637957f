"""A commit that starts before its file is built, and ends when it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.commit.end import Built, end_commit
from segments.domain.realtime.commit.start import (
    CommitPlan,
    CommitStart,
    RealtimeTable,
    consuming_record,
    consuming_row,
    start_commit,
)
from segments.domain.realtime.flush_threshold import Committed
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.streams.stream_config import FlushThresholds
from segments.domain.segments.ideal_state import new_ideal_state, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata, from_record
from segments.errors import StateConflict

NOW = 1_700_000_000_000
NAME = LLCName("t", 0, 0, NOW)
TUNED = FlushThresholds(rows=0, segment_bytes=200 << 20)
BUILT = Built(crc=7, total_docs=9, index_version="v3", size_bytes=900, start_ms=1, end_ms=2)


def consuming(*, flush_rows: int = 100_000) -> SegmentMetadata:
    return from_record(consuming_record(NAME, start_offset="0", replicas=2, flush_rows=flush_rows, now_ms=NOW))


def ideal_state() -> ZNRecord:
    return with_rows(new_ideal_state("t_REALTIME", 2), {NAME.text: consuming_row(["a", "b"])})


def table(*, flush: FlushThresholds = TUNED, last_sized: Committed | None = None) -> RealtimeTable:
    return RealtimeTable("t_REALTIME", 2, 1, flush, ["a", "b"], last_sized=last_sized)


def started(reason: str | None = None, *, last_sized: Committed | None = None) -> CommitPlan:
    start = CommitStart(NAME, "9", rows=9, reason=reason)
    return start_commit(start, table(last_sized=last_sized), consuming(), ideal_state(), NOW + 1000)


def test_a_start_fixes_the_end_and_has_the_next_segment_consume_from_it() -> None:
    plan = started()
    fields = plan.record.simple
    assert (fields["segment.realtime.status"], fields["segment.realtime.endOffset"]) == ("COMMITTING", "9")
    assert not {"segment.crc", "segment.download.url", "segment.total.docs"} & set(fields)
    assert plan.successor is not None
    assert plan.successor.simple["segment.realtime.startOffset"] == "9"
    assert plan.ideal.maps[NAME.text] == {"a": "ONLINE", "b": "ONLINE"}
    assert plan.ideal.maps[plan.successor.id] == {"a": "CONSUMING", "b": "CONSUMING"}


def test_an_end_writes_the_facts_of_the_file_and_keeps_the_end_offset() -> None:
    committing = from_record(started().record)
    done = end_commit(committing, BUILT, "http://here/t", NOW + 5000).simple
    assert (done["segment.realtime.status"], done["segment.realtime.endOffset"]) == ("DONE", "9")
    assert (done["segment.crc"], done["segment.total.docs"], done["segment.download.url"]) == (
        "7",
        "9",
        "http://here/t",
    )


def test_only_a_commit_that_started_can_end_and_only_once() -> None:
    with pytest.raises(StateConflict):
        end_commit(consuming(), BUILT, "", NOW)
    done = from_record(end_commit(from_record(started().record), BUILT, "", NOW))
    with pytest.raises(StateConflict):
        end_commit(done, BUILT, "", NOW)


def test_a_start_of_which_only_the_record_was_written_is_continued_at_the_same_end() -> None:
    half = from_record(started().record)
    again = start_commit(CommitStart(NAME, "9"), table(), half, ideal_state(), NOW + 9000)
    assert again.successor is not None
    assert again.ideal.maps[NAME.text] == {"a": "ONLINE", "b": "ONLINE"}
    with pytest.raises(StateConflict):
        start_commit(CommitStart(NAME, "8"), table(), half, ideal_state(), NOW + 9000)


def test_a_whole_start_is_not_made_twice() -> None:
    plan = started()
    with pytest.raises(StateConflict):
        start_commit(CommitStart(NAME, "9"), table(), from_record(plan.record), plan.ideal, NOW + 9000)


def test_a_paused_partition_and_one_that_has_ended_get_no_successor() -> None:
    paused = ideal_state().with_simple_items({"pauseState": '{"paused":true}'})
    plan = start_commit(CommitStart(NAME, "9"), table(), consuming(), paused, NOW)
    last = start_commit(CommitStart(NAME, "9", is_last=True), table(), consuming(), ideal_state(), NOW)
    for found in (plan, last):
        assert found.successor is None
        assert found.ideal.maps == {NAME.text: {"a": "ONLINE", "b": "ONLINE"}}


def test_a_pause_leaves_a_successor_for_rows_that_were_read_behind_the_end() -> None:
    paused = ideal_state().with_simple_items({"pauseState": '{"paused":true}'})
    start = CommitStart(NAME, "9", has_rows_behind=True)
    assert start_commit(start, table(), consuming(), paused, NOW).successor is not None
    ended = replace(start, is_last=True)
    assert start_commit(ended, table(), consuming(), paused, NOW).successor is None


def test_a_row_limit_is_learned_from_the_last_segment_whose_size_is_known() -> None:
    plan = started(last_sized=Committed(rows=100_000, size_bytes=40 << 20, limit=100_000))
    assert plan.successor is not None
    assert plan.successor.simple["segment.flush.threshold.size"] == "150000"


def test_without_a_known_size_the_row_limit_stays_as_it_is() -> None:
    plan = started()
    assert plan.successor is not None
    assert plan.successor.simple["segment.flush.threshold.size"] == "100000"


def test_a_commit_that_was_forced_teaches_nothing_when_it_ends() -> None:
    forced = from_record(started("forceCommitMessageReceived").record)
    assert "pinotadmin.rowsPerByte" not in end_commit(forced, BUILT, "", NOW, is_tuned=True).maps["custom.map"]
    full = from_record(started("rowLimit").record)
    assert end_commit(full, BUILT, "", NOW, is_tuned=True).maps["custom.map"]["pinotadmin.rowsPerByte"] == "0.01"
