"""The numbered cases of batch pushes, storage, commits and realtime tables: which test shows each, or why none does. A
test that goes takes its case along.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.repo.realtime_cases import COMPLETION, REALTIME_OPERATIONS

TESTS = Path(__file__).resolve().parents[1]

#: Reasons for cases that no test of this repository can show.
CLIENT = "no: the waits and retries of Pinot's own client jar; our push calls the use cases directly"
MULTI = "no: one specification pushes to one cluster"

_CASES = "push/snapshots/test_reference_cases.py::"

BATCH_PUSH = {
    1: "push/test_push_plan.py::test_a_consistent_push_names_its_segments_by_its_start",
    3: _CASES + "test_the_flag_of_consistent_push_has_no_effect_on_a_table_that_adds",
    5: _CASES + "test_five_files_into_an_empty_table_are_one_entry_with_an_empty_old_side",
    7: "services/replacement/test_replacement.py::test_the_third_forced_push_deletes_the_first_snapshot_at_its_end",
    9: "api/segments/test_segments.py::test_a_replacement_from_start_to_rollback",
    11: CLIENT,
    13: "api/segments/test_segments.py::test_a_start_that_can_never_work_is_refused_at_once_with_a_code_and_the_name",
    15: CLIENT,
    17: "push/test_interruptions.py::test_cut_after_every_write_and_resumed_it_ends_the_same",
    19: "domain/replacement/test_replacement.py::test_force_reverts_a_running_entry_and_deletes_what_is_left_of_it",
    21: MULTI,
    23: _CASES + "test_of_two_jobs_on_one_table_the_later_start_wins",
    25: "push/test_every_kind.py::test_a_push_replaces_the_whole_snapshot_and_can_be_reverted",
    27: "api/segments/test_segments.py::test_a_start_that_can_never_work_is_refused_at_once_with_a_code_and_the_name",
    29: _CASES + "test_a_name_with_a_space_is_the_same_in_the_lineage_and_in_the_table",
    31: "push/test_push_plan.py::test_the_next_step_follows_from_the_entry",
    33: _CASES + "test_every_push_mode_replaces_the_whole_table",
    35: "api/segments/test_segments.py::test_a_segment_that_is_uploaded_twice_into_its_replacement_is_the_same_segment",
    37: "push/snapshots/test_uncovered_segments.py::test_a_strict_push_does_not_switch_next_to_them_and_is_taken_back",
    39: "services/replacement/test_replacement.py::test_a_push_is_hidden_until_its_end_and_taken_back_by_a_revert",
    41: "domain/test_retention.py::"
    "test_how_long_a_replaced_snapshot_stays_is_the_tables_own_period_or_that_of_its_type",
    43: _CASES + "test_patterns_choose_files_of_a_folder",
    45: "push/test_every_kind.py::test_a_bad_value_names_file_line_and_column_and_leaves_nothing",
    47: "push/test_push_plan.py::test_the_flag_of_global_sequence_ids_is_read_as_pinot_reads_it",
    49: "push/test_push_plan.py::test_normalized_dates_as_pinot_writes_them",
    51: "no: nothing is read back from an output folder, the push knows its own segments",
    53: "api/segments/test_segment_uploads.py::"
    "test_a_young_lock_refuses_a_protected_upload_and_an_old_one_is_taken_over",
    55: "api/segments/test_batch_uploads.py::test_a_batch_without_a_type_is_for_the_offline_table",
    57: "push/test_push_spec.py::test_a_specification_for_pinot_is_taken_as_it_is",
    59: "api/tasks/test_pinot_tasks.py::test_scheduling_begins_a_run_and_says_when_there_is_nothing_to_do",
    61: "no: a table has one file ingestion task, with one folder and one limit",
    63: "api/tasks/test_pinot_tasks.py::test_a_completed_task_says_how_it_really_went",
    65: "api/tasks/test_pinot_tasks.py::test_a_table_whose_run_is_under_way_is_named_where_pinots_clients_expect_it",
    67: "domain/ingestion/test_scenes.py::test_scene_1_nothing_is_visible_while_files_fail",
    69: "domain/ingestion/test_scenes.py::test_scene_2_a_new_file_joins_the_retry",
    71: "domain/ingestion/test_scenes.py::test_scene_2_a_new_file_joins_the_retry",
    73: "domain/ingestion/test_scenes.py::test_scene_3_a_failed_file_is_read_as_it_is_now",
    75: "domain/ingestion/test_scenes.py::test_scene_4_a_staged_file_that_changed_waits_for_the_next_session",
    77: "domain/ingestion/test_scenes.py::test_scene_4_a_staged_file_that_changed_waits_for_the_next_session",
    79: "domain/ingestion/test_scenes.py::test_scene_5_the_older_version_of_the_deleted_file_goes_too",
    81: "domain/ingestion/test_scenes.py::test_scene_6_the_older_version_of_the_deleted_file_goes_too",
    83: "domain/ingestion/test_scenes.py::test_scene_6_a_failed_file_that_was_deleted_is_left_out",
    85: "domain/ingestion/test_scenes.py::test_a_file_that_was_deleted_and_came_back_is_read_again",
    87: "domain/ingestion/test_scenes.py::test_without_retries_a_failed_session_is_thrown_away_whole",
    89: "api/tasks/test_pinot_tasks.py::test_a_table_whose_run_is_under_way_is_named_where_pinots_clients_expect_it",
    91: "domain/ingestion/test_task_config.py::test_a_number_of_retries_that_is_none_is_refused",
    93: "ingestion/test_interruptions.py::test_a_session_cut_after_every_write_ends_the_same",
    95: "ingestion/test_scenes.py::test_a_switch_that_an_operator_reverted_begins_again_from_the_staged_files",
    97: "ingestion/test_late_files.py::test_files_staged_after_a_cancellation_are_removed",
    99: "ingestion/test_scenes.py::test_files_are_read_in_batches_of_the_tasks_limit_in_one_session",
    101: "ingestion/test_scenes.py::test_an_empty_folder_does_not_empty_the_table",
    103: "ingestion/test_scenes.py::test_files_appear_one_by_one_without_consistent_push",
    105: "ingestion/test_scenes.py::test_clearing_keeps_what_is_visible_and_reads_the_rest_again",
    107: "domain/ingestion/test_scenes.py::test_a_changed_config_starts_over_although_retries_are_left",
    109: "domain/ingestion/test_session.py::test_the_znode_stays_small_with_20_000_files_and_segments",
    111: "ingestion/test_scenes.py::test_one_by_one_a_changed_file_takes_the_place_of_its_old_rows_and_deleted_ones_go",
}

STORAGE = {
    1: "api/segments/test_storage_cases.py::test_a_compressed_record_stays_compressed",
    3: "api/segments/test_storage_cases.py::test_an_empty_znode_is_no_record_and_unknown_keys_are_passed_over",
    5: "contract/test_store.py::test_a_transaction_with_one_misfit_writes_nothing_and_names_it",
    7: "api/segments/test_storage_cases.py::test_a_refusal_ends_the_loop_at_once_and_an_equal_record_is_not_written",
    9: "api/segments/test_storage_cases.py::test_the_fields_of_a_committed_record_and_its_times",
    11: "services/realtime/test_realtime_upkeep.py::test_what_only_servers_have_is_uploaded_and_gets_its_address",
    13: "api/segments/test_storage_cases.py::test_of_several_addresses_the_newest_key_counts_even_when_empty",
    15: "services/realtime/test_force_commit.py::test_a_hundred_jobs_are_kept",
    17: "no: no controller leads; any web process answers and every write is conditional",
    19: "services/realtime/test_force_commit.py::"
    "test_all_consuming_segments_are_asked_for_and_the_job_counts_them_down",
    21: "contract/test_membership.py::test_messages_come_oldest_first_and_only_for_their_session",
    23: "no: peers are found among live servers only, without waiting; see 45 for what they may give",
    25: "services/segments/test_fetch_rules.py::test_too_many_bytes_or_seconds_end_it",
    27: "no: encrypted segments are refused, see 69",
    29: "services/realtime/completion/test_completion_files.py::"
    "test_a_location_that_is_not_the_segments_own_is_refused_and_changes_nothing",
    31: "dataplane/test_peer_copy.py::test_without_a_deep_store_the_commit_succeeds_and_is_on_servers_only",
    33: "services/realtime/completion/test_completion_files.py::test_the_committed_file_gets_the_segments_name",
    35: "services/realtime/test_realtime_upkeep.py::test_servers_that_fail_leave_the_record_as_it_is",
    37: "services/realtime/test_realtime_validation.py::test_what_counts_as_old_is_a_cluster_setting",
    39: "dataplane/test_server.py::test_size_crc_metadata_and_tar_of_a_segment",
    41: "dataplane/test_peer_copy.py::test_without_a_peer_scheme_a_failed_upload_is_tried_again_until_it_works",
    43: "dataplane/test_peer_copy.py::test_a_download_that_comes_too_early_is_tried_again",
    45: "dataplane/test_peer_copy.py::test_a_peer_gives_only_the_version_that_is_asked_for",
    47: "rebalance/test_rebalance.py::test_the_only_copy_of_rows_is_not_moved_unless_forced_with_a_reason",
    49: "api/segments/test_storage_cases.py::test_a_segment_goes_when_no_server_holds_it_then_its_record_and_file",
    51: "api/segments/test_storage_cases.py::test_a_copy_that_fails_leaves_nothing_and_a_later_push_works",
    53: "api/segments/test_storage_cases.py::test_a_refused_refresh_has_pinots_words",
    55: "api/segments/test_storage_cases.py::test_the_same_crc_changes_times_and_address_only",
    57: "api/segments/test_segment_uploads.py::"
    "test_a_young_lock_refuses_a_protected_upload_and_an_old_one_is_taken_over",
    59: "api/segments/test_segment_uploads.py::test_refresh_only_of_an_unknown_segment_is_410",
    61: "api/segments/test_storage_cases.py::"
    "test_an_upload_under_the_name_of_a_consumed_segment_needs_its_offsets_once",
    63: "api/segments/test_storage_cases.py::test_bad_names_and_modes_are_refused",
    65: "api/segments/test_segment_uploads.py::test_a_request_holds_exactly_one_file",
    67: "api/segments/test_storage_cases.py::test_a_segment_without_times_is_403_where_the_table_has_a_time_column",
    69: "api/segments/test_segment_uploads.py::test_a_refused_refresh_changes_nothing",
    71: "api/realtime/test_reingestion.py::test_each_header_is_needed_and_exactly_one_part",
    73: "api/segments/test_segments.py::test_a_download_never_leaves_the_folder",
    75: "api/segments/test_storage_cases.py::test_nobody_uploads_over_a_consuming_segment",
}


#: Rules of replacements that Pinot does not keep, each with a test whose name says what Pinot does instead.
BETTER = {
    "conditional-writes": "test_pinots_very_first_entry_overwrites_that_of_another_controller",
    "decide-again-after-conflict": "test_pinot_deletes_what_an_attempt_decided_that_was_never_written",
    "no-mutual-hiding": "test_pinot_lets_two_snapshots_swap_until_both_are_hidden",
    "refusals-are-4xx": "test_pinot_answers_500_where_cause_entry_and_remedy_are_known",
    "previous-snapshots-kept": "test_pinot_deletes_the_rollback_target_when_the_third_push_starts",
    "entry-lease": "test_pinot_keeps_what_a_dead_client_began_for_a_day",
    "all-replicas-first": "test_pinot_switches_while_a_replica_is_still_loading",
    "acknowledged-switch": "test_pinot_removes_segments_while_a_broker_still_routes_to_them",
    "preview-first": "test_pinot_reverts_without_saying_what_queries_see_then_and_what_goes",
    "fenced-uploads": "test_pinot_takes_a_late_upload_for_new_data_once_the_reverted_entry_is_gone",
    "dropped-segments-go": "test_pinot_shows_what_a_narrower_end_dropped_next_to_what_it_kept",
    "deletion-last": "test_pinot_forgets_pending_deletions_when_its_controller_restarts",
    "declared-size-fits": "test_pinot_finds_out_half_way_through_a_push_that_its_quota_is_used_up",
    "checked-before-switch": "test_pinot_switches_to_half_of_the_rows_without_a_word",
}


def test_every_weak_spot_of_replacements_has_a_test_that_names_it() -> None:
    names = {name for path in TESTS.rglob("test_*.py") for name in _names_in(path)}
    assert {rule: test for rule, test in BETTER.items() if test not in names} == {}
    rules = (TESTS.parent / "docs/rules.md").read_text()
    assert [rule for rule in BETTER if f"**`{rule}`**" not in rules] == []


@cache
def _names_in(path: Path) -> frozenset[str]:
    return frozenset(n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef))


#: Numbers of the completion protocol's cases that nothing has.
NO_CASE = {65, 67, 101}


@pytest.mark.parametrize(
    ("cases", "last"),
    [(BATCH_PUSH, 111), (STORAGE, 75), (COMPLETION, 119), (REALTIME_OPERATIONS, 87)],
    ids=["batch push", "storage", "completion", "realtime operations"],
)
def test_every_numbered_case_has_its_test_or_its_reason(cases: dict[int, str | tuple[str, ...]], last: int) -> None:
    left_out = NO_CASE if cases is COMPLETION else set()
    assert sorted(cases) == [number for number in range(1, last + 1, 2) if number not in left_out]
    gone = []
    for number, shown in cases.items():
        for one in (shown,) if isinstance(shown, str) else shown:
            file, _, name = one.partition("::")
            if not one.startswith("no: ") and name not in _names_in(TESTS / file):
                gone.append((number, one))
    assert gone == []
