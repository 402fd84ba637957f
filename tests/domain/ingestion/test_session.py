"""Sessions and files as they are written down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from segments.domain.formats.znrecord import decode, encode
from segments.domain.ingestion.session import (
    FileCounts,
    FileRecord,
    FileState,
    Fingerprint,
    IngestionSession,
    Run,
    SessionState,
    count,
    error_of_file,
    failure,
    file_from_json,
    from_record,
    run_from_text,
    to_record,
)

SESSION = IngestionSession(
    "cp_1700000000000_00ff00ff", SessionState.IN_PROGRESS, "SYNC", False, True, 1_700_000_000_000, "c0ffee", "/in",
    "Ann", 2, 3, 1_700_000_000_500, None, "", "task-1", "", "host:1", 1_700_000_020_000, FileCounts(5, 2, 3, 0, 1),
    "file:///m.gz", 7, (), (), 30, 1000, "one file failed", False,
    (Run(0, "task-0", 1_700_000_000_000, 2, 3, 1_700_000_000_400), Run(1, "task-1", 1_700_000_000_450)),
    4, "http://127.0.0.1:4040",
)  # fmt: skip


def test_a_session_survives_its_znode() -> None:
    again = decode(encode(to_record(SESSION)))
    assert again is not None
    assert from_record(again) == SESSION


def test_runs_without_an_end_are_read_as_they_were_written() -> None:
    assert run_from_text("0|task-0|1700000000000|2/3") == Run(0, "task-0", 1_700_000_000_000, 2, 3)


def test_state_and_retries_stand_where_they_are_documented() -> None:
    record = to_record(SESSION)
    assert record.simple["state"] == "IN_PROGRESS"
    assert record.simple["retryCount"] == "2"


def test_the_znode_stays_small_with_20_000_files_and_segments() -> None:
    names = tuple(f"orders_cp_1700000000000_00ff00ff_{n:012x}_0" for n in range(20_000))
    large = replace(SESSION, segments_from=names, segments_to=names, runs=SESSION.runs * 500)
    assert len(encode(to_record(large))) < 100_000


def test_a_file_survives_the_manifest() -> None:
    file = FileRecord(
        "s3://b/f.csv", Fingerprint(5, 7, "e"), FileState.FAILED, ("s",), (3,), 9, 8, 2, "line 4: no number", 4, 1,
        (1_700_000_000_000,),
    )  # fmt: skip
    assert file_from_json(file.to_json()) == file
    bare = FileRecord("/in/f", Fingerprint(1, 2))
    assert file_from_json(bare.to_json()) == bare


def test_dropped_files_are_counted_apart() -> None:
    file = FileRecord("/in/f", Fingerprint(1, 2))
    states = (FileState.BUILT, FileState.DONE, FileState.FAILED, FileState.RUNNING, FileState.DROPPED)
    assert count(replace(file, state=s) for s in states) == FileCounts(4, 2, 1, 1, 1)


@pytest.mark.parametrize(
    ("mine", "its", "same"),
    [
        (("e1", ""), ("e1", ""), True),
        (("e1", "c1"), ("e2", "c1"), True),
        (("e1", "c1"), ("e1", ""), True),
        (("e1", "c1"), ("e2", "c2"), False),
        (("e1", ""), ("", "e1"), False),
        (("", ""), ("", ""), False),
    ],
)
def test_one_mark_that_both_have_proves_that_bytes_are_the_same(
    mine: tuple[str, str], its: tuple[str, str], same: bool
) -> None:
    assert Fingerprint(1, 5, *mine).has_bytes_of(Fingerprint(2, 5, *its)) is same
    assert not Fingerprint(1, 5, *mine).has_bytes_of(Fingerprint(2, 6, *its))
    assert Fingerprint(1, 5, *mine) == Fingerprint(1, 5, *its), "a listing has no marks"


def test_marks_of_a_file_stand_in_the_manifest() -> None:
    file = FileRecord("/in/a", Fingerprint(1, 5, "e", "c"))
    assert file_from_json(file.to_json()).fingerprint.marks == {"etag": "e", "checksum": "c"}


@pytest.mark.parametrize(
    ("error", "line", "shown"),
    [
        ("Input file '/in/a': 3 rows do not fit. First: Input file '/in/a' line 6: bad.", 6,
         "3 rows do not fit. First: line 6: bad."),
        ("Input file '/in/a' line 6: bad.", 6, "Line 6: bad."),
        ("'x' is no INT, see line 61.", 6, "Line 6: 'x' is no INT, see line 61."),
        ("bad.", 1204, "Line 1,204: bad."),
        ("Input file '/in/a' is gone.", None, "It is gone."),
        ("", None, ""),
    ],
)  # fmt: skip
def test_an_error_of_a_file_names_its_line_once_and_not_the_file(error: str, line: int | None, shown: str) -> None:
    assert error_of_file(error, "/in/a", line) == shown


def test_a_session_names_the_first_file_that_failed_once() -> None:
    files = [FileRecord("/in/a", Fingerprint(1, 5), FileState.FAILED, error="Input file '/in/a' line 6: bad.", line=6)]
    assert failure(files) == "1 of 1 files failed, first '/in/a': Line 6: bad."
