"""The numbered cases of commits and of operations on realtime tables: which test shows each, or why none does.

A case of several parts has several tests.
"""

from __future__ import annotations

from typing import Final

_STANDARD: Final = "domain/completion/test_completion.py::"
_MACHINE: Final = _STANDARD + "test_the_machine_answers_as_the_case_says"
_PAUSELESS: Final = "domain/completion/test_pauseless.py::test_the_machine_answers_as_the_case_says"
_PROTOCOL: Final = "services/realtime/completion/test_completion.py::"
_STARTS: Final = "services/realtime/completion/test_pauseless.py::"
_VALUES: Final = "domain/completion/test_completion_values.py::"
_FILES: Final = "services/realtime/completion/test_completion_files.py::"
_TABLES: Final = "services/realtime/tables/test_realtime_tables.py::"
_PEERS: Final = "dataplane/test_peer_copy.py::"
_CUTS: Final = "chaos/test_cut_commits.py::"
_CONSUMING: Final = "dataplane/consuming/test_consuming.py::"
_DECISIONS: Final = "dataplane/consuming/test_consuming_decisions.py::"
_VALIDATION: Final = "services/realtime/test_realtime_validation.py::"
_REPAIR: Final = "domain/test_realtime_repair.py::"
_CONSUMPTION: Final = "services/realtime/test_consumption.py::"
_FORCE: Final = "services/realtime/test_force_commit.py::"
_UPKEEP: Final = "services/realtime/test_realtime_upkeep.py::"
_HTTP: Final = "api/realtime/test_realtime.py::"
_REINGESTED: Final = "api/realtime/test_reingestion.py::"

COMPLETION: Final[dict[int, str | tuple[str, ...]]] = {
    1: _MACHINE,
    3: "services/realtime/completion/test_completion_files.py::test_the_committed_file_gets_the_segments_name",
    5: _MACHINE,
    7: _MACHINE,
    9: "services/realtime/completion/test_completion_files.py::"
    "test_a_commit_whose_file_cannot_be_moved_is_made_by_another_replica",
    11: _PROTOCOL + "test_who_cannot_be_answered_now_asks_again",
    **dict.fromkeys((13, 15, 17), _MACHINE),
    19: _STANDARD + "test_a_slow_commit_is_remembered_for_the_next_rounds_of_the_table",
    21: _STANDARD + "test_no_commit_gets_more_than_half_an_hour_and_asking_for_it_does_no_harm",
    23: _PROTOCOL + "test_a_build_that_can_never_succeed_halves_the_limit_once",
    **dict.fromkeys((25, 27, 29, 31, 33, 35), _MACHINE),
    37: _STANDARD + "test_a_missing_extension_is_two_minutes",
    39: _MACHINE,
    41: _PROTOCOL + "test_a_repeated_commit_end_succeeds_and_changes_nothing",
    **dict.fromkeys((43, 45, 47), _MACHINE),
    49: "faults/test_commit_interrupted.py::test_a_server_gets_its_segment_committed_whatever_happens_to_one_write",
    51: _CUTS + "test_a_commit_start_of_which_only_the_record_was_written_is_carried_on",
    53: _CUTS + "test_a_commit_whose_end_is_always_lost_is_ended_by_a_pass_with_a_servers_copy",
    55: _PAUSELESS,
    57: _PAUSELESS,
    59: "domain/completion/test_pauseless.py::"
    "test_a_build_that_fails_when_only_the_segments_record_is_left_changes_nothing",
    61: (
        _TABLES + "test_configs_that_cannot_work_are_refused_by_key",
        "api/realtime/test_warnings_of_configs.py::test_one_replica_is_taken_with_a_warning_of_what_is_at_risk",
    ),
    63: "api/realtime/test_completion.py::test_a_failed_answer_carries_nothing",
    69: (
        _VALUES + "test_names_are_pinots",
        _VALUES + "test_other_names_are_none",
        _VALUES + "test_names_are_ordered_by_partition_then_sequence",
    ),
    71: (
        _FILES + "test_left_uploads_and_machines_go_after_a_while",
        _FILES + "test_what_is_no_upload_of_a_consuming_segment_is_not_taken_for_one_that_is_left",
    ),
    73: (
        "services/realtime/tables/test_watermarks.py::"
        "test_given_sequences_and_offsets_are_used_as_they_are_and_all_others_begin_as_usual",
        "services/realtime/tables/test_watermarks.py::"
        "test_watermarks_are_read_as_a_table_reports_them_and_minus_one_is_zero",
    ),
    75: (
        _PEERS + "test_without_a_deep_store_the_commit_succeeds_and_is_on_servers_only",
        _FILES + "test_the_committed_file_gets_the_segments_name",
        _FILES + "test_a_location_that_is_not_the_segments_own_is_refused_and_changes_nothing",
    ),
    77: _PROTOCOL + "test_nothing_new_consumes_where_consumption_is_paused",
    79: _PROTOCOL + "test_the_same_sequence_twice_is_refused_and_leaves_nothing",
    81: "services/realtime/completion/test_completion_files.py::test_a_refused_commit_moves_no_file",
    83: "services/realtime/test_offset_auto_reset.py::"
    "test_more_messages_than_the_threshold_are_skipped_to_the_newest",
    85: _REPAIR + "test_while_the_stream_does_not_answer_nobody_is_taken_for_ended",
    87: _VALUES + "test_a_limit_is_lowered_once_per_failure",
    89: "services/realtime/completion/test_committing_repair.py::test_the_list_of_commits_follows_the_records",
    91: "services/realtime/completion/test_completion_files.py::"
    "test_a_file_that_is_a_committed_segments_address_stays_whatever_its_name",
    93: _REPAIR + "test_each_state_of_the_latest_segment_has_its_repair",
    95: (
        "faults/test_commit_interrupted.py::test_a_commit_that_meets_two_conflicts_is_one_change_of_the_ideal_state",
        "faults/test_commit_interrupted.py::"
        "test_a_commit_that_never_wins_fails_and_leaves_nothing_for_another_to_clean_up",
    ),
    97: (
        _VALUES + "test_the_first_limit",
        _TABLES + "test_rows_of_the_flush_threshold_are_shared_by_the_partitions_of_a_server",
    ),
    99: _VALUES + "test_the_ratio_is_learned_slowly",
    103: (
        _CONSUMING + "test_replicas_build_the_same_file_and_nobody_downloads",
        "dataplane/consuming/test_consuming_faults.py::"
        "test_a_pause_ends_within_a_second_also_when_replicas_stand_at_different_offsets",
    ),
    105: "dataplane/consuming/test_consuming_faults.py::"
    "test_rows_that_cannot_be_built_lower_the_limit_and_the_replica_starts_over",
    107: "dataplane/consuming/test_replicas_that_stop.py::"
    "test_a_replica_that_fails_reports_the_reason_until_it_is_heard_and_the_other_commits",
    109: (
        _DECISIONS + "test_how_a_segment_goes_online",
        "dataplane/consuming/test_consuming_faults.py::"
        "test_a_replica_that_cannot_catch_up_downloads_what_was_committed",
    ),
    111: (
        _DECISIONS + "test_a_segment_ends_for_the_first_reason_in_pinots_order",
        _DECISIONS + "test_an_idle_partition_never_commits_and_its_first_rows_end_with_the_hour_in_which_they_came",
        "dataplane/consuming/test_consuming_faults.py::"
        "test_a_replica_that_catches_up_never_passes_over_rows_that_are_gone",
    ),
    113: "dataplane/consuming/test_replicas_that_stop.py::"
    "test_a_replica_that_fails_reports_the_reason_until_it_is_heard_and_the_other_commits",
    115: (
        "dataplane/consuming/test_slow_uploads.py::"
        "test_without_a_place_nothing_is_uploaded_and_a_failure_is_tried_again",
        _PEERS + "test_an_upload_that_fails_does_not_stop_the_commit_and_the_other_downloads_from_the_committer",
        _PEERS + "test_without_a_peer_scheme_a_failed_upload_is_tried_again_until_it_works",
    ),
    117: (
        "dataplane/consuming/test_pauseless.py::"
        "test_a_copy_that_nobody_has_is_an_error_after_the_time_that_the_table_gives_and_heals_when_it_comes",
        "dataplane/consuming/test_pauseless.py::"
        "test_a_replica_that_lost_its_rows_takes_the_file_from_the_committer_before_the_commit_ends",
    ),
    119: "dataplane/consuming/test_replicas_that_stop.py::"
    "test_what_is_committed_is_not_consumed_and_what_is_being_committed_only_up_to_its_end",
}  # fmt: skip

REALTIME_OPERATIONS: Final[dict[int, str | tuple[str, ...]]] = {
    1: _CONSUMPTION + "test_a_pause_sets_the_flag_and_sends_every_server_its_segments",
    3: "faults/test_commit_interrupted.py::test_a_commit_that_loses_against_a_pause_has_no_successor",
    5: _CONSUMPTION + "test_a_pause_again_rewrites_comment_and_time_and_asks_only_for_what_is_left",
    7: _CONSUMPTION + "test_a_pause_that_reaches_no_server_is_set_all_the_same_and_says_so",
    9: (
        _HTTP + "test_the_batches_that_are_asked_for_are_those_of_the_job",
        "pinot_cluster/test_realtime.py::test_the_batches_of_a_pause_reach_pinot_also_when_it_is_asked_again",
    ),
    11: _HTTP + "test_tables_that_are_not_there_disabled_or_offline_are_refused",
    13: "domain/test_pause.py::test_the_new_flag_wins_and_the_old_one_counts_where_it_is_missing_or_unreadable",
    15: _CONSUMPTION + "test_a_resume_goes_on_where_each_partition_stopped_in_one_write",
    17: "services/realtime/test_every_kind.py::test_a_resume_takes_pinots_three_words",
    19: _CONSUMPTION + "test_a_resume_leaves_running_partitions_alone",
    21: _HTTP + "test_topics_over_http",
    23: _CONSUMPTION + "test_one_topic_pauses_alone_and_stays_so_over_a_table_pause",
    25: _CONSUMPTION + "test_the_only_topic_of_a_table_stays_paused_too",
    27: _FORCE + "test_all_consuming_segments_are_asked_for_and_the_job_counts_them_down",
    29: (
        _FORCE + "test_partitions_and_segments_do_not_go_together",
        _FORCE + "test_a_segment_that_is_not_there_makes_an_empty_job",
        _FORCE + "test_partitions_that_nothing_consumes_are_refused_by_number",
    ),
    31: _FORCE + "test_a_replica_that_is_online_already_is_not_asked",
    33: _FORCE + "test_a_batch_that_is_not_smaller_than_the_job_is_all_of_it",
    35: _REPAIR + "test_from_the_lowest_given_sequence_of_each_partition_on",
    37: _HTTP + "test_deletion_from_a_sequence_needs_a_pause_and_a_realtime_name",
    39: _VALIDATION + "test_segments_are_deleted_from_a_sequence_on_and_read_again",
    41: _VALIDATION + "test_too_few_servers_are_a_finding_and_nothing_is_half_done",
    43: _VALIDATION + "test_half_a_commit_is_finished_when_it_is_old_and_left_alone_before",
    45: _REPAIR + "test_an_ended_partition_gets_no_successor",
    47: (
        _VALIDATION + "test_half_a_commit_is_finished_when_it_is_old_and_left_alone_before",
        _STARTS + "test_a_start_of_which_only_the_record_was_written_is_continued",
    ),
    49: (
        _VALIDATION + "test_what_counts_as_old_is_a_cluster_setting",
        _VALIDATION + "test_a_removed_setting_has_its_default_again",
        _HTTP + "test_a_cluster_setting_without_a_meaning_is_refused_and_the_value_before_stays",
    ),
    51: _PROTOCOL + "test_the_same_sequence_twice_is_refused_and_leaves_nothing",
    53: (
        _UPKEEP + "test_full_disks_pause_the_table_and_room_lets_it_go_on_in_the_same_run",
        "api/test_metrics.py::test_a_table_that_full_disks_have_paused_is_not_counted_with_those_that_a_person_has_paused",
    ),
    55: _UPKEEP + "test_a_full_quota_pauses_and_a_persons_pause_stays",
    57: _CUTS + "test_when_all_replicas_die_while_committing_the_rows_are_read_again",
    59: "domain/repair/test_committing.py::"
    "test_what_one_run_is_asked_for_replaces_the_clusters_mode_both_ways",
    61: _VALIDATION + "test_only_replicas_in_error_are_reset_and_only_on_live_servers",
    63: _VALIDATION + "test_resets_can_be_switched_off_but_of_pauseless_tables",
    65: _REINGESTED + "test_a_reingested_segment_is_done_with_its_file_in_its_place_and_only_once",
    67: "services/realtime/completion/test_committing_repair.py::test_the_clusters_mode_counts_from_the_next_pass_on",
    69: (
        _UPKEEP + "test_servers_that_fail_leave_the_record_as_it_is",
        _UPKEEP + "test_what_no_replica_serves_is_left_as_it_is",
        _UPKEEP + "test_what_has_an_address_or_is_still_consumed_is_not_asked_for",
    ),
    71: _CUTS + "test_a_commit_whose_end_is_always_lost_is_ended_by_a_pass_with_a_servers_copy",
    73: (
        _FILES + "test_left_uploads_and_machines_go_after_a_while",
        _FILES + "test_a_file_that_is_a_committed_segments_address_stays_whatever_its_name",
    ),
    75: (
        _TABLES + "test_configs_that_cannot_work_are_refused_by_key",
        "api/realtime/test_warnings_of_configs.py::test_one_replica_is_taken_with_a_warning_of_what_is_at_risk",
    ),
    77: (
        "rebalance/test_planning.py::test_only_rows_that_are_nowhere_else_are_at_risk",
        "rebalance/test_planning.py::"
        "test_a_commit_that_has_not_ended_is_at_risk_where_its_rows_may_not_be_read_again",
    ),
    79: (
        "api/access/test_access.py::test_periodic_tasks_are_handed_to_the_workers",
        "api/access/test_access.py::test_a_name_that_two_tables_have_runs_a_task_over_neither",
        "workers/test_pools.py::test_what_is_declared_is_a_task_a_schedule_and_where_it_has_one_a_name_of_pinots",
        "workers/test_table_passes.py::test_a_pass_does_not_go_over_a_table_on_which_it_is_at_work",
    ),
    81: "no: figures are computed from the database; a run over one table drops nobody's",
    83: "api/test_metrics.py::"
    "test_the_sums_of_a_tables_row_are_its_figures_and_two_clusters_may_have_the_same_table",
    85: "domain/test_missing_periods.py::test_days_between_others_are_counted_as_pinot_counts_them",
    87: (
        "rebalance/test_consuming.py::test_consuming_segments_stay_unless_asked",
        "rebalance/test_consuming.py::"
        "test_with_a_commit_first_what_was_consumed_moves_as_a_file_and_goes_on_where_it_belongs",
        "rebalance/test_consuming.py::test_a_pauseless_table_moves_to_the_servers_of_another_tenant",
    ),
}  # fmt: skip
