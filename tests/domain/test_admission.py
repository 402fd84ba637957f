"""The upload's rules, each on its own."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.segments.admission import (
    Conditions,
    check_comes_from_stream,
    check_existing,
    check_name_form,
    check_quota,
    check_time,
    parse_size,
)
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.segments.upload import UploadedSegment, new_metadata, parse_modifier, refreshed_metadata
from segments.domain.tables.table_config import parse_table_config
from segments.errors import Forbidden, Gone, InvalidInput, PinotAdminError, PreconditionFailed, StateConflict

CONFIG = parse_table_config(
    {"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": {"timeColumnName": "day"}, "quota": {"storage": "1K"}}
)


def uploaded(**more: Any) -> UploadedSegment:
    values: dict[str, Any] = {
        "name": "s",
        "crc": 7,
        "total_docs": 3,
        "index_version": "v3",
        "creation_ms": 5,
        "download_url": "http://x/s",
    }
    return UploadedSegment(**{**values, "start_ms": 10**12, "end_ms": 10**12, **more})


@pytest.mark.parametrize(
    ("text", "size"), [("1K", 1024), ("2.5 GB", 2_684_354_560), ("10", 10), ("10B", 10), ("much", None), (None, None)]
)
def test_sizes_are_read_as_pinot_writes_them(text: str | None, size: int | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(("start", "end"), [(None, None), (-5, 10**12), (10**12, 4 * 10**12), (2 * 10**12, 10**12)])
def test_times_outside_1971_to_2071_are_forbidden(start: int | None, end: int | None) -> None:
    with pytest.raises(Forbidden):
        check_time(CONFIG, uploaded(start_ms=start, end_ms=end))


def test_an_empty_segment_has_no_time_to_check() -> None:
    check_time(CONFIG, uploaded(start_ms=None, end_ms=None, total_docs=0))


def test_rows_of_keyed_tables_come_from_their_stream_only() -> None:
    check_comes_from_stream(CONFIG, uploaded())
    keyed = parse_table_config({"tableName": "t", "tableType": "REALTIME", "upsertConfig": {"mode": "FULL"}})
    with pytest.raises(InvalidInput, match="cannot be added to upsert or dedup table"):
        check_comes_from_stream(keyed, uploaded())


def test_the_name_of_an_uploaded_realtime_segment_is_refused() -> None:
    with pytest.raises(InvalidInput):
        check_name_form(CONFIG, "a__b__c__d__e")


def test_the_quota_counts_what_stays_next_to_the_incoming() -> None:
    check_quota(CONFIG, 1000, 24)
    with pytest.raises(Forbidden, match="1024"):
        check_quota(CONFIG, 1000, 25)


@pytest.mark.parametrize(
    ("old", "wanted", "error"),
    [
        (None, Conditions(refresh_only=True), Gone),
        ({}, Conditions(allow_refresh=False), StateConflict),
        ({"segment.crc": "7"}, Conditions(if_match="8"), PreconditionFailed),
        ({"segment.realtime.status": "IN_PROGRESS"}, Conditions(), StateConflict),
        ({"segment.upload.start.time": "1000"}, Conditions(is_protected=True), StateConflict),
    ],
)
def test_conditions_that_do_not_hold(
    old: dict[str, str] | None, wanted: Conditions, error: type[PinotAdminError]
) -> None:
    record = None if old is None else SegmentMetadata("s", old)
    with pytest.raises(error):
        check_existing("t_OFFLINE", "s", record, wanted, now_ms=2000, lock_ms=5000)


def test_conditions_that_hold() -> None:
    locked = SegmentMetadata("s", {"segment.upload.start.time": "1000", "segment.crc": "7"})
    check_existing("t_OFFLINE", "s", locked, Conditions(if_match='"7"'), now_ms=2000, lock_ms=5000)
    check_existing("t_OFFLINE", "s", locked, Conditions(is_protected=True), now_ms=9000, lock_ms=5000)
    check_existing("t_OFFLINE", "s", None, Conditions(allow_refresh=False, if_match="1"), now_ms=0, lock_ms=0)


def test_the_same_crc_keeps_what_describes_the_file() -> None:
    old = SegmentMetadata(
        "s", {"segment.crc": "7", "segment.size.in.bytes": "9", "segment.crypter": "c", "segment.push.time": "1"}
    )
    same = refreshed_metadata(old, uploaded(size_bytes=100), None, 50)
    assert (same.size_bytes, same.fields["segment.crypter"], same.push_ms, same.refresh_ms) == (9, "c", 1, 50)
    other = refreshed_metadata(old, uploaded(crc=8, size_bytes=100), None, 50)
    assert (other.size_bytes, other.fields.get("segment.crypter"), other.push_ms, other.crc) == (100, None, 1, 8)


def test_foreign_fields_survive_a_refresh() -> None:
    old = SegmentMetadata("s", {"segment.crc": "1", "segment.tier": "cold"})
    assert refreshed_metadata(old, uploaded(), None, 50).fields["segment.tier"] == "cold"


def test_custom_maps_are_replaced_or_updated() -> None:
    old = new_metadata(uploaded(custom={"a": "1"}), None, 1)
    update = parse_modifier('{"mapModifyMode":"UPDATE","map":{"b":"2"}}')
    replace = parse_modifier('{"mapModifyMode":"REPLACE","map":{"b":"2"}}')
    assert refreshed_metadata(old, uploaded(crc=9), update, 2).custom == {"a": "1", "b": "2"}
    assert refreshed_metadata(old, uploaded(crc=9), replace, 2).custom == {"b": "2"}
    assert refreshed_metadata(old, uploaded(crc=9, custom={"c": "3"}), None, 2).custom == {"c": "3"}
    with pytest.raises(InvalidInput):
        parse_modifier('{"mapModifyMode":"DROP"}')
