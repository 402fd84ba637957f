"""Addresses of the console: the table list at the root, everything else under /console/. ``OF_A_CLUSTER`` are the same
pages for the cluster that ``cluster_address`` takes off an address; pages of the whole installation are not among them.
"""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from segments.console import person_time_zone
from segments.console.operation import Operation, operation_page
from segments.console.views.access import audit, login, logout, single_sign_on, tokens, tour
from segments.console.views.clusters import clusters, drains, health, minion_tasks, servers
from segments.console.views.ingestion import blocked_session, session_actions, table_ingestion
from segments.console.views.ingestion import sessions as ingestion_sessions
from segments.console.views.ingestion import setup as ingestion_setup
from segments.console.views.preferences import lists as preferences
from segments.console.views.push import push_actions, push_report, pushes
from segments.console.views.queries import cancelling as query_cancelling
from segments.console.views.queries import columns as query_columns
from segments.console.views.queries import export as query_export
from segments.console.views.queries import formatting as query_formatting
from segments.console.views.queries import kept as query_kept
from segments.console.views.queries import page as query_page
from segments.console.views.queries import snapshots as query_snapshots
from segments.console.views.realtime import (
    consumption,
    partition,
    reingestion,
    sequence_deletion,
    several_tables,
    stored_copies,
)
from segments.console.views.realtime.set_aside import actions as set_aside_actions
from segments.console.views.realtime.set_aside import messages as set_aside_messages
from segments.console.views.realtime.stream import messages as stream_messages
from segments.console.views.realtime.stream import page as stream_page
from segments.console.views.replacement import checks, entry, lineage, pins, rollback, values
from segments.console.views.replacement.history import snapshots
from segments.console.views.replacement.undo import rollback as undo_rollback
from segments.console.views.search import search
from segments.console.views.segments import deleted, segment_actions
from segments.console.views.tables import (
    deletion,
    new_stream_table,
    new_table,
    rebalance,
    settings,
    table_secrets,
    tables,
)
from segments.console.views.upkeep import alerts, finding_actions, findings, passes, run_pass, schedules

app_name = "console"
#: (name, address) of every operation's page.
BUTTONS: list[tuple[str, str]] = []


def button(route: str, operation: Operation, name: str) -> URLPattern:
    """The page of an operation."""
    BUTTONS.append((name, route))
    return path(route, operation_page(operation), name=name)


_login = [
    path("login/", login.Login.as_view(), name="login"),
    path("login/sso/", single_sign_on.leave, name="sign_on"),
    path("login/sso/return/", single_sign_on.come_back, name="sign_on_return"),
    path("logout/", logout.Logout.as_view(), name="logout"),
]
_table_list = path("", tables.table_list, name="tables")
_pages = [
    path("tables/<str:typed>/", tables.overview, name="table"),
    path("tables/<str:typed>/segments/", tables.segments, name="segments"),
    path("tables/<str:typed>/consumption/", consumption.state, name="consumption"),
    path("tables/<str:typed>/consumption/stream/", stream_page.stream, name="stream"),
    path("tables/<str:typed>/consumption/stream/messages/", stream_messages.messages, name="stream_messages"),
    path("tables/<str:typed>/consumption/partitions/<int:partition>/", partition.partition, name="partition"),
    button("tables/<str:typed>/consumption/pause/", consumption.PAUSE_IT, name="pause"),
    button("tables/<str:typed>/consumption/resume/", consumption.RESUME, name="resume"),
    button("tables/<str:typed>/consumption/commit/", consumption.COMMIT, name="commit"),
    button("consumption/pause/", several_tables.PAUSE_TABLES, name="pause_tables"),
    button("consumption/resume/", several_tables.RESUME_TABLES, name="resume_tables"),
    button("consumption/commit/", several_tables.COMMIT_TABLES, name="commit_tables"),
    button("tables/<str:typed>/consumption/reingest/", reingestion.REINGEST, name="reingest"),
    button(
        "tables/<str:typed>/consumption/reingest/<str:segment>/restore/", stored_copies.RESTORE, name="restore_copy"
    ),
    button(
        "tables/<str:typed>/consumption/reingest/<str:segment>/cancel/", reingestion.CANCEL, name="cancel_reingestion"
    ),
    button(
        "tables/<str:typed>/consumption/delete-from/<str:segment>/", sequence_deletion.DELETE_FROM, name="delete_from"
    ),
    path("tables/<str:typed>/consumption/set-aside/", set_aside_messages.message_list, name="set_aside"),
    path("tables/<str:typed>/consumption/set-aside/export/", set_aside_messages.download, name="set_aside_export"),
    button("tables/<str:typed>/consumption/set-aside/replay/", set_aside_actions.REPLAY, name="replay_set_aside"),
    button("tables/<str:typed>/consumption/set-aside/delete/", set_aside_actions.DELETE, name="delete_set_aside"),
    button("tables/<str:typed>/consumption/set-aside/<int:number>/", set_aside_actions.REVEAL, name="reveal_set_aside"),
    button("tables/<str:typed>/reset/", segment_actions.RESET_MANY, name="reset_segments"),
    button("tables/<str:typed>/reload/", segment_actions.RELOAD_MANY, name="reload_segments"),
    button("tables/<str:typed>/segments/<str:segment>/reset/", segment_actions.RESET, name="reset_segment"),
    button("tables/<str:typed>/segments/<str:segment>/reload/", segment_actions.RELOAD, name="reload_segment"),
    path("tables/<str:typed>/deleted/", deleted.deleted, name="deleted"),
    button("tables/<str:typed>/deleted/restore/", deleted.RESTORE, name="restore"),
    button("tables/<str:typed>/deleted/<str:segment>/cancel/", deleted.CANCEL, name="cancel_deletion"),
    button("tables/<str:typed>/delete/", deleted.DELETE, name="delete_segments"),
    path("tables/<str:typed>/segments/<str:segment>/", tables.segment, name="segment"),
    path("tables/<str:typed>/ingestion/", table_ingestion.of_table, name="ingestion"),
    path("tables/<str:typed>/ingestion/setup/", ingestion_setup.setup, name="ingestion_setup"),
    button("tables/<str:typed>/ingestion/switch-on/", ingestion_setup.SWITCH_ON, name="switch_on_ingestion"),
    button("tables/<str:typed>/ingestion/switch-off/", ingestion_setup.SWITCH_OFF, name="switch_off_ingestion"),
    button("tables/<str:typed>/ingestion/trigger/", session_actions.TRIGGER, name="trigger_ingestion"),
    button("tables/<str:typed>/ingestion/clear/", session_actions.CLEAR, name="clear_ingestion"),
    button("tables/<str:typed>/ingestion/sessions/<str:session>/retry/", session_actions.RETRY, name="retry_ingestion"),
    button(
        "tables/<str:typed>/ingestion/sessions/<str:session>/cancel/", session_actions.CANCEL, name="cancel_ingestion"
    ),
    button(
        "tables/<str:typed>/ingestion/sessions/<str:session>/finish/",
        blocked_session.CHECK_AGAIN,
        name="finish_ingestion",
    ),
    button(
        "tables/<str:typed>/ingestion/sessions/<str:session>/override/",
        blocked_session.OVERRIDE,
        name="override_ingestion",
    ),
    button("tables/<str:typed>/ingestion/sessions/<str:session>/undo/", session_actions.UNDO, name="undo_ingestion"),
    button(
        "tables/<str:typed>/ingestion/sessions/<str:session>/read-again/",
        session_actions.READ_AGAIN,
        name="read_again_ingestion",
    ),
    path("tables/<str:typed>/ingestion/sessions/<str:session>/", ingestion_sessions.detail, name="ingestion_session"),
    path("tables/<str:typed>/ingestion/sessions/<str:session>/live/", ingestion_sessions.live, name="ingestion_live"),
    path("tables/<str:typed>/rebalance/", rebalance.state, name="rebalance"),
    path("tables/<str:typed>/rebalance/progress/", rebalance.progress, name="rebalance_progress"),
    button("tables/<str:typed>/rebalance/begin/", rebalance.BEGIN, name="begin_rebalance"),
    button("tables/<str:typed>/rebalance/stop/", rebalance.STOP, name="stop_rebalance"),
    path("tables/<str:typed>/config/", tables.config, name="config"),
    path("tables/<str:typed>/config/edit/", settings.edit, name="edit_config"),
    path("tables/<str:typed>/config/history/", settings.history, name="config_history"),
    button("tables/<str:typed>/config/secrets/", table_secrets.REVEAL, name="reveal_secrets"),
    path("tables/<str:typed>/checks/", checks.table_checks, name="checks"),
    path("tables/<str:typed>/passes/", passes.of_table, name="table_passes"),
    button("tables/<str:typed>/findings/<int:finding>/fix/", finding_actions.FIX, name="fix_finding"),
    button("tables/<str:typed>/findings/<int:finding>/assign/", finding_actions.ASSIGN, name="assign_finding"),
    button("tables/<str:typed>/findings/<int:finding>/snooze/", finding_actions.SNOOZE, name="snooze_finding"),
    button("tables/<str:typed>/findings/<int:finding>/lift/", finding_actions.LIFT, name="lift_snooze"),
    path("tables/<str:typed>/audit/", audit.of_table, name="table_audit"),
    path("tables/<str:typed>/history/", snapshots.snapshots, name="history"),
    button("tables/<str:typed>/history/<int:number>/restore/", snapshots.RESTORE, name="restore_snapshot"),
    path("tables/<str:typed>/lineage/", lineage.entries, name="lineage"),
    button("tables/<str:typed>/rollback/carry-on/", rollback.CARRY_ON, name="carry_on_rollback"),
    button("tables/<str:typed>/rollback/give-up/", rollback.GIVE_UP, name="give_up_rollback"),
    button("tables/<str:typed>/pin/", pins.PIN_MANY, name="pin_entries"),
    button("tables/<str:typed>/unpin/", pins.UNPIN_MANY, name="unpin_entries"),
    path("tables/<str:typed>/diff/", entry.diff, name="diff"),
    path("tables/<str:typed>/diff/days/", values.days, name="diff_days"),
    path("tables/<str:typed>/diff/nulls/", values.nulls, name="diff_nulls"),
    path("tables/<str:typed>/diff/values/", values.values, name="diff_values"),
    path("tables/<str:typed>/lineage/<str:entry_id>/", entry.detail, name="entry"),
    button("tables/<str:typed>/lineage/<str:entry_id>/end/", entry.END, name="end_entry"),
    path("tables/<str:typed>/lineage/<str:entry_id>/end/progress/", entry.job_progress, name="end_progress"),
    button("tables/<str:typed>/lineage/<str:entry_id>/end/cancel/", entry.CANCEL_END, name="cancel_end"),
    button("tables/<str:typed>/lineage/<str:entry_id>/check/", entry.CHECK, name="check_entry"),
    button("tables/<str:typed>/lineage/<str:entry_id>/pin/", pins.PIN, name="pin_entry"),
    button("tables/<str:typed>/lineage/<str:entry_id>/unpin/", pins.UNPIN, name="unpin_entry"),
    button("tables/<str:typed>/lineage/<str:entry_id>/rollback-to/", rollback.ROLL_BACK_TO, name="roll_back_to"),
    button("tables/<str:typed>/lineage/<str:entry_id>/rollback/", rollback.ROLL_BACK, name="rollback"),
    button("tables/<str:typed>/lineage/<str:entry_id>/undo/", undo_rollback.UNDO, name="undo_rollback"),
    button("tables/<str:typed>/config/delete-table/", deletion.DELETE_TABLE, name="delete_table"),
    path("deleted-tables/", deletion.dropped, name="dropped_tables"),
    button("deleted-tables/<str:typed>/bring-back/", deletion.BRING_BACK, name="bring_back_table"),
    path("new-table/", new_table.choose, name="new_table"),
    path("new-table/columns/", new_table.design, name="design_table"),
    path("new-table/stream/", new_stream_table.choose_stream, name="new_stream_table"),
    path("new-table/stream/columns/", new_stream_table.design_stream, name="design_stream_table"),
    path("pushes/", pushes.push_list, name="pushes"),
    path("pushes/new/", pushes.new, name="new_push"),
    path("pushes/<uuid:push_id>/", pushes.detail, name="push"),
    path("pushes/<uuid:push_id>/progress/", pushes.live, name="push_progress"),
    path("pushes/<uuid:push_id>/report.csv", push_report.as_csv, name="push_report_csv"),
    path("pushes/<uuid:push_id>/report.json", push_report.as_json, name="push_report_json"),
    button("pushes/<uuid:push_id>/cancel/", push_actions.CANCEL, name="cancel_push"),
    button("pushes/<uuid:push_id>/finish/", push_actions.FINISH, name="finish_push"),
    button("pushes/<uuid:push_id>/override/", push_actions.OVERRIDE, name="override_push"),
    path("query/", query_page.query, name="query"),
    path("query/cancel/", query_cancelling.cancel, name="query_cancel"),
    path("query/kept/", query_kept.kept, name="query_kept"),
    path("query/save/", query_kept.save, name="query_save"),
    path("query/kept/<uuid:link>/delete/", query_kept.delete, name="query_delete"),
    path("query/columns/", query_columns.columns, name="query_columns"),
    path("query/snapshots/", query_snapshots.snapshots, name="query_snapshots"),
    path("query/format/", query_formatting.formatted, name="query_format"),
    path("query/export/", query_export.export, name="query_export"),
    path("query/csv/", query_export.as_csv, name="query_csv"),
    path("passes/", passes.pass_list, name="passes"),
    button("passes/run/", run_pass.RUN, name="run_pass"),
    path("passes/tasks/", minion_tasks.overview, name="tasks"),
    button("passes/tasks/schedule/", minion_tasks.SCHEDULE, name="schedule_task"),
    path("passes/tasks/<str:task_type>/", minion_tasks.of_type, name="task_type"),
    button("passes/tasks/<str:task_type>/stop/", minion_tasks.STOP, name="stop_tasks"),
    button("passes/tasks/<str:task_type>/resume/", minion_tasks.RESUME, name="resume_tasks"),
    button("passes/tasks/<str:task_type>/clean-up/", minion_tasks.CLEAN_UP, name="clean_up_tasks"),
    path("passes/tasks/<str:task_type>/<str:name>/", minion_tasks.one, name="task"),
    button("passes/tasks/<str:task_type>/<str:name>/delete/", minion_tasks.DELETE, name="delete_task"),
    button("servers/<str:instance>/drain/", drains.DRAIN, name="drain_server"),
    button("servers/<str:instance>/undrain/", drains.UNDRAIN, name="undrain_server"),
    button("servers/<str:instance>/disable/", servers.DISABLE, name="disable_server"),
    button("servers/<str:instance>/enable/", servers.ENABLE, name="enable_server"),
    path("servers/", servers.server_list, name="servers"),
    path("search/", search.find, name="search"),
    path("findings/", findings.finding_list, name="findings"),
    button(
        "findings/<int:finding>/assign/", finding_actions.ASSIGN_OF_INSTALLATION, name="assign_installation_finding"
    ),
    button(
        "findings/<int:finding>/snooze/", finding_actions.SNOOZE_OF_INSTALLATION, name="snooze_installation_finding"
    ),
    button("findings/<int:finding>/lift/", finding_actions.LIFT_OF_INSTALLATION, name="lift_installation_snooze"),
    path("audit/", audit.event_list, name="audit"),
    path("audit/csv/", audit.download, name="audit_csv"),
    path("audit/<int:event_id>/", audit.event, name="event"),
    path("health/", health.strip, name="health"),
    path("cluster/", clusters.overview, name="cluster"),
    path("cluster/banner/", clusters.banner, name="cluster_banner"),
    path("cluster/check/", clusters.check, name="check_cluster"),
]
_installation = [
    path("console/time-zone/", person_time_zone.choose, name="time_zone"),
    path("console/settings/", preferences.own_page, name="own_page"),
    path("console/settings/columns/", preferences.columns, name="list_columns"),
    path("console/settings/views/save/", preferences.save, name="save_view"),
    path("console/settings/views/delete/", preferences.delete, name="delete_view"),
    path("console/tour/dismiss/", tour.dismiss_tour, name="dismiss_tour"),
    path("console/tokens/", tokens.token_list, name="tokens"),
    button("console/tokens/<int:token>/revoke/", tokens.REVOKE, name="revoke_token"),
    path("console/alerts/", alerts.alert_list, name="alerts"),
    path("console/alerts/mail/test/", alerts.test_mail, name="test_mail"),
    path("console/alerts/<int:hook>/", alerts.change, name="webhook"),
    path("console/alerts/<int:hook>/test/", alerts.test, name="test_webhook"),
    button("console/alerts/<int:hook>/remove/", alerts.REMOVE, name="remove_webhook"),
    button("console/schedules/<int:schedule>/run/", schedules.RUN_NOW, name="run_schedule"),
    button("console/schedules/switch-on/", schedules.SWITCH_ON, name="switch_schedules_on"),
    button("console/schedules/switch-off/", schedules.SWITCH_OFF, name="switch_schedules_off"),
    path("console/clusters/", clusters.cluster_list, name="clusters"),
    path("console/clusters/new/", clusters.add, name="new_cluster"),
    path("console/clusters/<slug:name>/edit/", clusters.edit, name="edit_cluster"),
    button("console/clusters/<slug:name>/remove/", clusters.REMOVE, name="remove_cluster"),
]
OF_A_CLUSTER: list[URLPattern | URLResolver] = [_table_list, *_login, *_pages]
urlpatterns: list[URLPattern | URLResolver] = [_table_list, *_login, path("console/", include(_pages)), *_installation]
