"""What counts as ingested after a session."""

from __future__ import annotations

from segments.domain.ingestion.packing import files_per_segment
from segments.domain.ingestion.registry import (
    Ingested,
    IngestedFiles,
    from_json,
    ingested_from_json,
    ingested_to_json,
    registry_after,
    to_json,
)
from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint
from tests.domain.ingestion.model_table import task

OLD, NEW = Fingerprint(1, 10), Fingerprint(2, 11)


def test_only_files_whose_rows_are_visible_count() -> None:
    files = [FileRecord(state.value, NEW, state, (f"s_{state}",)) for state in FileState]
    after = registry_after({"DROPPED": Ingested(OLD, ("s",))}, files, ())
    assert after.keys() == {"BUILT", "DONE", "DROPPED"}
    assert after["DROPPED"].fingerprint == OLD


def test_a_file_counts_as_long_as_any_of_its_rows_are_there_and_one_without_rows_always() -> None:
    before = {
        "whole": Ingested(OLD, ("a", "b"), {"a": 1, "b": 2}),
        "half": Ingested(OLD, ("c", "d"), {"c": 3, "d": 4}),
        "gone": Ingested(OLD, ("e",), {"e": 5}),
        "split": Ingested(OLD, ("f",), {"f": 6}),
        "empty": Ingested(OLD, ()),
    }
    after = registry_after(before, (), ("c", "e", "f"), kept={"f": "f2"})
    assert after == {
        "whole": before["whole"],
        "half": Ingested(OLD, ("d",), {"d": 4}),
        "split": Ingested(OLD, ("f2",), {"f2": 6}),
        "empty": before["empty"],
    }


def test_in_a_swap_files_share_segments_also_where_the_table_would_follow_its_folder() -> None:
    files = [FileRecord(f"F{n}", Fingerprint(1, 10)) for n in range(4)]
    keys = {"ingestionMode": "SYNC", "taskMaxNumFiles": 3}
    assert files_per_segment(task(consistentPushSwapEnabled="true", **keys), files) == 3
    assert files_per_segment(task(consistentPushEnabled="true", **keys), files) == 1


def test_marks_are_written_down_and_lists_without_them_are_still_read() -> None:
    known = {"/in/a": Ingested(Fingerprint(1, 5, "e", "c"), ("s",), {"s": 9})}
    assert from_json(to_json(known)) == known
    assert from_json(to_json(known))["/in/a"].fingerprint.marks == {"etag": "e", "checksum": "c"}
    for older in ([1, 5, "e", ["s"]], [1, 5, "e", ["s"], [9]]):
        assert from_json({"/in/a": older})["/in/a"].fingerprint.marks == {"etag": "e"}


def test_rows_of_an_earlier_version_that_queries_see_again_are_the_files() -> None:
    first = IngestedFiles({"F": Ingested(OLD, ("a",), {"a": 1}), "G": Ingested(OLD, ("g",))})
    after = first.after({"F": Ingested(NEW, ("b",)), "H": Ingested(NEW, ("h",))})
    assert after.shown({"b", "h"}) == after.files, "nothing came back"
    assert after.shown({"a", "g"}) == {
        "F": Ingested(NEW, ("b", "a"), {"a": 1}),
        "G": Ingested(OLD, ("g",)),
        "H": Ingested(NEW, ("h",)),
    }
    assert ingested_from_json(ingested_to_json(after)) == after
    assert ingested_from_json(to_json(first.files)) == first, "as it was written before"
    assert after.after(after.files) == after, "nothing was replaced"
