"""Which segments may be read again, by which server, what their records say, and the life of a job."""

from __future__ import annotations

import json

import pytest

from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.realtime.reingestion.job import Job, State, cancelled, from_json, taken
from segments.domain.realtime.reingestion.rules import (
    check_reingested,
    choose_server,
    is_lost,
    offsets_of,
    range_of,
    reopened,
)
from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE, ONLINE
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import InvalidInput, StateConflict

NAME = "t__0__1__20260101T0000Z"
OFFSETS = {"segment.realtime.startOffset": "5", "segment.realtime.endOffset": "9"}


def metadata(status: str = "COMMITTING", **fields: str) -> SegmentMetadata:
    return SegmentMetadata(NAME, {"segment.realtime.status": status, **OFFSETS, **fields})


def job(**more: object) -> Job:
    return Job("j", "t_REALTIME", NAME, "Server_a_1", 1, "5", "9", "5", **more)  # type: ignore[arg-type]


def test_a_segment_with_an_address_also_the_empty_one_is_not_read_again() -> None:
    assert (range_of(metadata()).start, range_of(metadata()).end) == ("5", "9")
    for url in ("http://c/segments/t/x", ""):
        with pytest.raises(InvalidInput, match="download address"):
            range_of(metadata(**{"segment.download.url": url}))


@pytest.mark.parametrize("key", OFFSETS)
def test_without_both_offsets_there_is_no_range(key: str) -> None:
    fields = {k: v for k, v in OFFSETS.items() if k != key}
    with pytest.raises(StateConflict, match="offset"):
        offsets_of(SegmentMetadata(NAME, {"segment.realtime.status": "IN_PROGRESS", **fields}))


@pytest.mark.parametrize(
    ("row", "view", "expected"),
    [
        ({"a": ONLINE, "b": ONLINE}, {"a": ERROR, "b": ERROR}, True),
        ({"a": ONLINE, "b": ONLINE}, {"a": ERROR}, True),
        ({"a": ONLINE, "b": OFFLINE}, {"a": ERROR, "b": ONLINE}, True),
        ({"a": ONLINE, "b": ONLINE}, {"a": ERROR, "b": ONLINE}, False),
        ({"a": ONLINE, "b": ONLINE}, {"a": ERROR, "b": OFFLINE}, False),
        ({"a": CONSUMING}, {"a": CONSUMING}, False),
        ({"a": ONLINE}, {}, False),
    ],
)
def test_a_segment_is_lost_when_all_that_report_it_are_in_error(
    row: dict[str, str], view: dict[str, str], expected: bool
) -> None:
    assert is_lost(row, view) is expected


def test_the_live_replica_with_the_fewest_jobs_is_chosen() -> None:
    row = {"a": ONLINE, "b": ONLINE, "c": ONLINE, "d": OFFLINE}
    assert choose_server(row, {"a", "b", "d"}, {"a": 2, "b": 1}) == "b"
    assert choose_server(row, {"a", "b", "c"}, {}) == "a"
    with pytest.raises(StateConflict, match="a, b, c, d"):
        choose_server(row, {"d", "e"}, {})


def test_a_committed_segment_without_a_file_is_as_before_its_end_was_written() -> None:
    done = metadata("DONE", **{"segment.crc": "7", "segment.download.url": "x", "segment.total.docs": "4", "own": "k"})
    assert dict(reopened(done).fields) == {"segment.realtime.status": "COMMITTING", **OFFSETS, "own": "k"}
    with pytest.raises(StateConflict):
        reopened(metadata("IN_PROGRESS"))


def test_only_exactly_the_range_on_record_is_taken() -> None:
    name = parse_llc_name(NAME)
    check_reingested(name, metadata(), "5", "9")
    for start, end in (("4", "9"), ("5", "8")):
        with pytest.raises(InvalidInput, match="offset"):
            check_reingested(name, metadata(), start, end)
    with pytest.raises(StateConflict, match="DONE"):
        check_reingested(name, metadata("DONE"), "5", "9")


def test_a_job_is_the_same_after_it_was_written_and_read() -> None:
    for found in (job(), job(state=State.FAILED, missing=("5", "7"), lost=(("5", "6"),), rows=3, error="x")):
        assert from_json(NAME, json.loads(json.dumps(found.to_json()))) == found


def test_a_job_of_a_live_server_keeps_every_other_one_away() -> None:
    fresh = job()
    with pytest.raises(StateConflict, match="already"):
        taken(job(state=State.READING), fresh, is_owner_live=True)
    assert taken(job(state=State.READING), fresh, is_owner_live=False) is fresh
    assert taken(job(state=State.FAILED), fresh, is_owner_live=True) is fresh
    assert taken(None, fresh, is_owner_live=False) is fresh


def test_what_is_not_under_way_cannot_be_cancelled() -> None:
    done = cancelled(job(state=State.UPLOADING), NAME, 9, "ada")
    assert (done.state, done.updated_ms, done.error) == (State.CANCELLED, 9, "Cancelled by ada.")
    for before in (None, done, job(state=State.DONE)):
        with pytest.raises(StateConflict):
            cancelled(before, NAME, 9, "ada")
