"""The six scenes of consistent push with retries, each in the three modes, with what queries count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from segments.domain.ingestion.plan import Visible
from segments.domain.ingestion.session import FileState, SessionState
from segments.domain.ingestion.task_config import IngestionTask
from segments.domain.ingestion.transitions import clears, on_trigger
from segments.errors import InvalidInput, StateConflict
from tests.domain.ingestion.model_table import ModelTable, task

ROWS = {"F1": 10, "F2": 20, "F3": 30, "F4": 40, "F5": 50}
MODES = {
    "APP": {"consistentPushEnabled": "true"},
    "SYN": {"consistentPushEnabled": "true", "ingestionMode": "SYNC"},
    "SWP": {"consistentPushSwapEnabled": "true"},
}


def of(mode: str, **more: Any) -> IngestionTask:
    return task(**{"consistentPushMaxRetries": "3", **MODES[mode], **more})


def scene_1(mode: str, **more: Any) -> ModelTable:
    """12:00: F0 is visible, F1 and F2 are staged, F3 to F5 failed."""
    table = ModelTable(of(mode, **more))
    table.put("F0", 5)
    table.ingested("F0")
    for name, rows in ROWS.items():
        table.put(name, rows)
    table.bad = {"F3", "F4", "F5"}
    assert table.trigger() == "begin"
    table.bad = set()
    return table


def ended(table: ModelTable) -> bool:
    return table.session is not None and table.session.state is SessionState.DONE


@pytest.mark.parametrize("mode", MODES)
def test_scene_1_nothing_is_visible_while_files_fail(mode: str) -> None:
    table = scene_1(mode)
    assert table.session is not None
    assert (table.session.state, table.session.retry_count) == (SessionState.IN_PROGRESS, 0)
    assert table.vis == 5
    assert table.read[0] == [*(["F0"] if mode == "SWP" else []), *ROWS]
    assert [f.uri for f in table.files if f.state is FileState.FAILED] == ["F3", "F4", "F5"]
    assert (table.vanished, table.switches) == ((), [])


@pytest.mark.parametrize("mode", MODES)
def test_scene_2_a_new_file_joins_the_retry(mode: str) -> None:
    table = scene_1(mode)
    table.put("F6", 60)
    before = table.session
    assert table.trigger() == "retry"
    assert before is not None
    assert table.session is not None
    assert (table.session.id, table.session.retry_count) == (before.id, 1)
    assert table.read[1] == ["F3", "F4", "F5", "F6"]
    assert (ended(table), table.vis, len(table.switches)) == (True, 215, 1)
    old, new = table.switches[0]
    assert (old, len(new)) == ((("old_F0",), 7) if mode == "SWP" else ((), 6))
    assert table.trigger() == "idle"


@pytest.mark.parametrize("mode", MODES)
def test_scene_3_a_failed_file_is_read_as_it_is_now(mode: str) -> None:
    table = scene_1(mode)
    table.put("F3", 33)
    table.trigger()
    assert table.read[1] == ["F3", "F4", "F5"]
    assert (ended(table), table.vis) == (True, 158)
    assert table.switches[0][0] == (("old_F0",) if mode == "SWP" else ())


@pytest.mark.parametrize(
    ("mode", "policy", "later"),
    [("APP", "add", 166), ("APP", "replace", 156), ("APP", "skip", 155), ("SYN", "add", 156), ("SWP", "add", 156)],
)
def test_scene_4_a_staged_file_that_changed_waits_for_the_next_session(mode: str, policy: str, later: int) -> None:
    table = scene_1(mode, modifiedFilePolicy=policy)
    table.put("F1", 11)
    table.trigger()
    assert table.read[1] == ["F3", "F4", "F5"]
    assert (ended(table), table.vis) == (True, 155)
    first = table.session
    word = table.trigger()
    assert table.vis == later
    if policy == "skip":
        assert word == "idle"
        return
    assert (word, table.session is first) == ("begin", False)
    assert table.read[2] == (["F0", *ROWS] if mode == "SWP" else ["F1"])
    assert mode != "SWP" or set(table.switches[1][0]) == set(table.switches[0][1])
    assert table.trigger() == "idle"


@pytest.mark.parametrize("mode", MODES)
def test_scene_5_a_staged_file_that_was_deleted_leaves_the_session(mode: str) -> None:
    table = scene_1(mode)
    del table.folder["F1"]
    table.trigger()
    assert table.read[1] == ["F3", "F4", "F5"]
    assert (ended(table), table.vis) == (True, 145)
    assert not any("F1" in s for s in table.switches[0][1])


def test_scene_5_the_older_version_of_the_deleted_file_goes_too() -> None:
    table = ModelTable(of("SYN"))
    table.put("F1", 10)
    table.ingested("F1")
    table.put("F1", 11)
    table.put("F2", 20)
    table.bad = {"F2"}
    table.trigger()
    del table.folder["F1"]
    table.bad = set()
    table.trigger()
    assert table.switches == [(("old_F1",), ("cp_1_F2",))]
    assert table.vis == 20


@pytest.mark.parametrize("mode", MODES)
def test_scene_6_a_failed_file_that_was_deleted_is_left_out(mode: str) -> None:
    table = scene_1(mode)
    del table.folder["F3"]
    table.trigger()
    assert table.read[1] == ["F4", "F5"]
    assert (ended(table), table.vis) == (True, 125)
    assert [f.uri for f in table.files if f.state is FileState.DROPPED] == ["F3"]


def test_scene_6_the_older_version_of_the_deleted_file_goes_too() -> None:
    table = ModelTable(of("SYN"))
    for name, rows in (("F3", 10), ("F4", 40)):
        table.put(name, rows)
    table.ingested("F3")
    table.put("F3", 33)
    table.bad = {"F3"}
    table.trigger()
    assert table.vis == 10, "the older version is visible while the new one fails"
    del table.folder["F3"]
    table.trigger()
    assert table.switches == [(("old_F3",), ("cp_1_F4",))]
    assert table.vis == 40


def test_a_file_that_was_deleted_and_came_back_is_read_again() -> None:
    table = scene_1("APP")
    table.bad = {"F3"}
    kept = table.folder.pop("F1")
    table.trigger()
    table.folder["F1"], table.bad = kept, set()
    table.trigger()
    assert table.read[2] == ["F1", "F3"]
    assert (ended(table), table.vis) == (True, 155)


def test_without_retries_a_failed_session_is_thrown_away_whole() -> None:
    table = scene_1("APP", consistentPushMaxRetries="0")
    first = table.session
    assert table.trigger() == "begin after RETRIES_EXHAUSTED"
    assert first is not None
    assert table.session is not None
    assert table.session.id != first.id
    assert table.session.retry_count == 0
    assert table.read[1] == list(ROWS)
    assert table.vis == 155


def test_three_retries_are_four_runs_and_the_fifth_trigger_starts_over() -> None:
    table = scene_1("SYN")
    table.bad = {"F3"}
    assert [table.trigger() for _ in range(4)] == ["retry", "retry", "retry", "begin after RETRIES_EXHAUSTED"]
    assert list(table.read[1:4]) == [["F3", "F4", "F5"], ["F3"], ["F3"]]
    assert table.read[4] == list(ROWS)


def test_a_trigger_while_a_run_is_under_way_does_nothing() -> None:
    table = ModelTable(of("APP"))
    table.put("F1", 10)
    table.trigger(run=False)
    before = table.session
    assert table.trigger() == "busy"
    assert table.session is before
    table.run()
    assert table.vis == 10


def test_batches_of_one_run_are_one_session_with_one_switch_and_no_retry() -> None:
    table = ModelTable(of("APP", tableMaxNumTasks="2"))
    for name, rows in ROWS.items():
        table.put(name, rows)
    table.trigger(run=False)
    for batch in (["F1", "F2"], ["F3", "F4"], ["F5"]):
        assert table.vis == 0
        table.run(batch)
    assert table.session is not None
    assert (table.session.retry_count, len(table.switches), table.vis) == (0, 1, 150)


@pytest.mark.parametrize("mode", ["SYN", "SWP"])
def test_an_empty_folder_is_refused_where_it_would_empty_the_table(mode: str) -> None:
    table = ModelTable(of(mode))
    table.put("F0", 5)
    table.ingested("F0")
    table.folder.clear()
    with pytest.raises(InvalidInput, match="would be emptied"):
        table.trigger()
    assert (table.session, table.vis) == (None, 5)
    table.task = of(mode, allowEmptySwap="true")
    table.trigger()
    assert (table.vis, table.switches) == (0, [(("old_F0",), ())])


def test_an_empty_folder_is_nothing_to_do_for_append() -> None:
    assert ModelTable(of("APP")).trigger() == "idle"


def test_a_folder_that_was_emptied_before_a_retry_does_not_empty_the_table() -> None:
    table = scene_1("SWP")
    table.folder.clear()
    with pytest.raises(InvalidInput, match="would be emptied"):
        table.trigger()
    assert table.vis == 5


def test_sync_with_deletions_alone_reads_nothing_and_switches() -> None:
    table = ModelTable(of("SYN"))
    for name in ("F0", "F1"):
        table.put(name, 5)
        table.ingested(name)
    del table.folder["F1"]
    assert table.trigger() == "begin"
    assert (table.read, table.switches, table.vis) == ([[]], [(("old_F1",), ())], 5)


@pytest.mark.parametrize("mode", ["APP", "SYN"])
def test_clearing_throws_the_session_away_and_keeps_what_is_visible(mode: str) -> None:
    table = scene_1(mode)
    table.task = of(mode, clearConsistentPushState="true")
    assert table.trigger() == "begin after CLEARED"
    assert table.read[1] == list(ROWS)
    assert table.vis == 155
    table.put("F6", 60)
    table.bad = {"F6"}
    assert table.trigger() == "begin"
    assert table.trigger() == "retry", "the flag is honoured once for a version of the config"


def test_a_switch_under_way_is_not_cleared_because_queries_may_see_it_already() -> None:
    table = scene_1("APP")
    table.task = of("APP", clearConsistentPushState="true")
    assert table.session is not None
    table.session = replace(table.session, state=SessionState.SWITCH, task="run")
    assert table.trigger() == "busy"
    table.session = replace(table.session, task="")
    assert table.trigger() == "begin after CLEARED"


def test_clearing_is_for_consistent_push_only() -> None:
    table = ModelTable(task(clearConsistentPushState="true"))
    assert not clears(table.situation)
    table.task = task(clearConsistentPushState="true", consistentPushEnabled="true")
    assert clears(table.situation)


def test_a_changed_config_starts_over_although_retries_are_left() -> None:
    table = scene_1("APP")
    table.config_hash = "c1"
    assert table.trigger() == "begin after CONFIG_CHANGED"
    assert table.read[1] == list(ROWS)


def test_a_switch_that_did_not_end_is_driven_again_without_reading() -> None:
    table = scene_1("SYN")
    assert table.session is not None
    table.files = tuple(f for f in table.files if f.state is FileState.BUILT)
    table.session = table.session.changed(0, state=SessionState.SWITCH)
    assert table.trigger() == "switch again"
    assert (table.read[1], table.vis, table.session.retry_count) == ([], 35, 1)


def test_a_swap_of_an_unchanged_folder_is_nothing_to_do_unless_it_is_forced() -> None:
    table = scene_1("SWP")
    table.trigger()
    assert table.trigger() == "idle"
    table.task = of("SWP", forceSwap="true")
    assert table.trigger() == "begin"
    assert table.vis == 155


def test_rows_that_were_merged_into_other_segments_stop_a_sync_with_their_names() -> None:
    table = ModelTable(of("SYN"))
    table.put("F0", 5)
    table.ingested("F0")
    table.put("F0", 6)
    visible = Visible({}, merged=frozenset({"old_F0"}))
    with pytest.raises(StateConflict, match="old_F0"):
        on_trigger(replace(table.situation, visible=visible))
