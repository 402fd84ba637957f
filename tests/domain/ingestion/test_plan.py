"""Which files a session reads and which segments its switch replaces, guard by guard."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.ingestion.plan import (
    Visible,
    added_again,
    is_wanted,
    new_plan,
    replaced_segments,
    split_segments,
    touched,
    vanished,
)
from segments.domain.ingestion.reconcile import reconcile
from segments.domain.ingestion.registry import Ingested
from segments.domain.ingestion.selection import Extent
from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint
from segments.domain.ingestion.task_config import IngestionTask
from segments.errors import StateConflict
from tests.domain.ingestion.model_table import task

OLD, NEW = Fingerprint(1, 10), Fingerprint(2, 11)
KNOWN = {"F1": Ingested(OLD, ("a",))}
SEEN = Visible({"a": Extent()})
PUSH = {"consistentPushEnabled": "true"}
SLICE = {**PUSH, "replaceFrom": "100", "replaceUntil": "200"}
FILES = {**PUSH, "replaceFiles": "glob:**F1"}
MODES = {
    "append": task(**PUSH),
    "sync": task(**PUSH, ingestionMode="SYNC"),
    "swap": task(consistentPushSwapEnabled="true"),
    "slice": task(**SLICE),
}


def of(mode: str, **keys: Any) -> IngestionTask:
    given = {"sync": {**PUSH, "ingestionMode": "SYNC"}, "append": PUSH, "swap": {"consistentPushSwapEnabled": "true"}}
    return task(**given[mode], **keys)


def test_what_is_ingested_already_is_wanted_again_where_all_is_replaced() -> None:
    wanted = {mode: is_wanted(one, "F1", OLD, KNOWN, SEEN) for mode, one in MODES.items()}
    assert wanted == {"append": False, "sync": False, "swap": True, "slice": True}
    (joined,) = reconcile(MODES["swap"], (), {"F1": OLD}, KNOWN, SEEN)
    assert (joined.uri, joined.state) == ("F1", FileState.PENDING)


def test_sync_wants_what_changed_whatever_append_would_do_with_it_and_what_lost_a_segment() -> None:
    assert is_wanted(of("sync", modifiedFilePolicy="skip"), "F1", NEW, KNOWN, SEEN)
    assert not is_wanted(of("append", modifiedFilePolicy="skip"), "F1", NEW, KNOWN, SEEN)
    assert is_wanted(of("sync"), "F1", OLD, KNOWN, Visible())
    assert not is_wanted(of("append"), "F1", OLD, KNOWN, Visible())


def test_rows_may_be_there_twice_only_where_a_changed_file_adds_to_its_old_rows() -> None:
    files = [FileRecord("F1", NEW), FileRecord("F2", NEW)]
    assert {mode for mode, one in MODES.items() if added_again(one, files, KNOWN)} == {"append"}
    assert added_again(of("append"), files, KNOWN) == ("F1",)
    assert added_again(of("append", modifiedFilePolicy="replace"), files, KNOWN) == ()
    assert added_again(of("append"), [FileRecord("F1", NEW, FileState.DROPPED)], KNOWN) == ()


def test_deleted_files_count_only_where_the_table_follows_its_folder() -> None:
    assert {mode for mode, one in MODES.items() if vanished(one, {"F2": OLD}, KNOWN)} == {"sync"}
    both = task(consistentPushSwapEnabled="true", ingestionMode="SYNC")
    assert vanished(both, {"F2": OLD}, KNOWN) == ()


def test_a_slice_replaces_what_lies_inside_of_it_and_nothing_when_it_is_there_already() -> None:
    seen = Visible({"a": Extent(100, 199), "b": Extent(200, 250), "c": Extent(0, 99)})
    one = MODES["slice"]
    assert replaced_segments(one, (), (), KNOWN, seen) == ("a",)
    assert new_plan(one, {"F1": OLD}, KNOWN, seen).idle
    assert not new_plan(one, {"F1": OLD}, KNOWN, seen, forced=True).idle
    assert not new_plan(one, {"F1": NEW}, KNOWN, seen).idle
    assert new_plan(one, {"F1": OLD}, {**KNOWN, "F0": Ingested(OLD, ("c",))}, seen).idle, "other files count not"


@pytest.mark.parametrize(("crossing", "no_split"), [("refuse", ""), ("split", "Not here.")])
def test_a_segment_at_the_edge_is_refused_before_anything_is_read(crossing: str, no_split: str) -> None:
    one, seen = task(**SLICE, replaceCrossing=crossing), Visible({"a": Extent(150, 250)}, no_split=no_split)
    for decide in (lambda: new_plan(one, {"F2": NEW}, KNOWN, seen), lambda: replaced_segments(one, (), (), {}, seen)):
        with pytest.raises(StateConflict, match="1 segment crosses the edge of the replaced time range: a") as refused:
            decide()
        assert no_split in refused.value.message


def test_a_segment_at_the_edge_is_split_where_that_is_asked_for() -> None:
    one, seen = task(**SLICE, replaceCrossing="split"), Visible({"a": Extent(150, 250), "b": Extent(100, 120)})
    assert replaced_segments(one, (), (), {}, seen) == ("a", "b")
    assert split_segments(one, seen) == ("a",)
    assert split_segments(task(**SLICE), seen) == ()
    assert split_segments(of("append"), seen) == ()


def test_segments_of_named_files_go_unless_others_share_them() -> None:
    seen = Visible({"a": Extent(), "b": Extent()})
    assert replaced_segments(task(**FILES), (), (), {**KNOWN, "F2": Ingested(OLD, ("b",))}, seen) == ("a",)
    with pytest.raises(StateConflict, match="hold rows of other files, too: a"):
        replaced_segments(task(**FILES), (), (), {**KNOWN, "F2": Ingested(OLD, ("a",))}, seen)


def test_rows_that_were_merged_stop_only_where_they_would_have_to_go() -> None:
    merged = Visible({"m": Extent()}, merged=frozenset({"a"}))
    built = [FileRecord("F1", NEW, FileState.BUILT, ("n",))]
    assert replaced_segments(of("append"), built, (), KNOWN, merged) == ()
    assert new_plan(of("append"), {"F1": NEW}, KNOWN, merged).files
    for one in (of("sync"), of("append", modifiedFilePolicy="replace")):
        with pytest.raises(StateConflict, match="were merged into other segments: a are gone"):
            replaced_segments(one, built, (), KNOWN, merged)
        with pytest.raises(StateConflict, match="were merged into other segments: a are gone"):
            new_plan(one, {"F1": NEW}, KNOWN, merged)


def test_a_segment_that_files_share_does_not_go_with_one_of_them() -> None:
    shared = {**KNOWN, "F2": Ingested(OLD, ("a",))}
    built = [FileRecord("F1", NEW, FileState.BUILT, ("n",))]
    with pytest.raises(StateConflict, match="hold rows of other files, too: a"):
        replaced_segments(of("sync"), built, (), shared, SEEN)
    assert replaced_segments(of("sync"), built, ("F2",), shared, SEEN) == ("a",)


def test_a_file_of_which_only_the_time_moved_is_worth_a_check_of_its_bytes() -> None:
    known = Ingested(Fingerprint(1, 5, "", "c"), ("s",))
    visible = Visible({"s": Extent()})
    found = {"/in/a": Fingerprint(2, 5)}
    assert touched(found, {"/in/a": known}, visible) == ["/in/a"]
    assert touched({"/in/a": Fingerprint(1, 5)}, {"/in/a": known}, visible) == []
    assert touched({"/in/a": Fingerprint(2, 6)}, {"/in/a": known}, visible) == []
    assert touched({}, {"/in/a": known}, visible) == []
    assert touched(found, {"/in/a": Ingested(Fingerprint(1, 5), ("s",))}, visible) == []
    assert touched(found, {"/in/a": known}, Visible()) == [], "its rows are gone"
    assert touched(found, {"/in/a": Ingested(known.fingerprint, ("s",), {"s": 3})}, Visible(kept_from_ms=4)) == [
        "/in/a"
    ], "its rows are older than the table keeps"
