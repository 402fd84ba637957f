"""Addresses of the console: the table list at the root, everything else under /console/. ``OF_A_CLUSTER`` are the same
pages for the cluster that ``cluster_address`` takes off an address; pages of the whole installation are not among them.
"""

from __future__ import annotations

from django.contrib.auth import views as auth_views
from django.urls import URLPattern, URLResolver, include, path

from segments.console.views.access import audit, login, tokens
from segments.console.views.clusters import clusters, health, minion_tasks, servers
from segments.console.views.push import push_blocked, push_report, pushes
from segments.console.views.realtime import consumption
from segments.console.views.realtime.set_aside import actions as set_aside_actions
from segments.console.views.realtime.set_aside import messages as set_aside_messages
from segments.console.views.replacement import checks, entry, lineage, lineage_pins, rollback_steps
from segments.console.views.replacement.undo import rollback as undo_rollback
from segments.console.views.segments import deleted, segment_actions
from segments.console.views.tables import query, table_secrets, tables
from segments.console.views.upkeep import alerts, findings, passes

app_name = "console"
_login = [
    path("login/", login.Login.as_view(), name="login"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
]
_table_list = path("", tables.table_list, name="tables")
_pages = [
    path("tables/<str:typed>/", tables.overview, name="table"),
    path("tables/<str:typed>/segments/", tables.segments, name="segments"),
    path("tables/<str:typed>/consumption/", consumption.state, name="consumption"),
    path("tables/<str:typed>/consumption/pause/", consumption.pause, name="pause"),
    path("tables/<str:typed>/consumption/resume/", consumption.resume, name="resume"),
    path("tables/<str:typed>/consumption/commit/", consumption.commit, name="commit"),
    path("tables/<str:typed>/consumption/set-aside/", set_aside_messages.message_list, name="set_aside"),
    path("tables/<str:typed>/consumption/set-aside/export/", set_aside_messages.download, name="set_aside_export"),
    path("tables/<str:typed>/consumption/set-aside/replay/", set_aside_actions.replay_chosen, name="replay_set_aside"),
    path("tables/<str:typed>/consumption/set-aside/delete/", set_aside_actions.delete_chosen, name="delete_set_aside"),
    path("tables/<str:typed>/consumption/set-aside/<int:number>/", set_aside_actions.reveal, name="reveal_set_aside"),
    path("tables/<str:typed>/reset/", segment_actions.reset_many, name="reset_segments"),
    path("tables/<str:typed>/reload/", segment_actions.reload_many, name="reload_segments"),
    path("tables/<str:typed>/segments/<str:segment>/reset/", segment_actions.reset, name="reset_segment"),
    path("tables/<str:typed>/segments/<str:segment>/reload/", segment_actions.reload, name="reload_segment"),
    path("tables/<str:typed>/deleted/", deleted.deleted, name="deleted"),
    path("tables/<str:typed>/deleted/restore/", deleted.restore_chosen, name="restore"),
    path("tables/<str:typed>/deleted/<str:segment>/cancel/", deleted.cancel, name="cancel_deletion"),
    path("tables/<str:typed>/delete/", deleted.delete, name="delete_segments"),
    path("tables/<str:typed>/segments/<str:segment>/", tables.segment, name="segment"),
    path("tables/<str:typed>/config/", tables.config, name="config"),
    path("tables/<str:typed>/config/secrets/", table_secrets.reveal, name="reveal_secrets"),
    path("tables/<str:typed>/checks/", checks.table_checks, name="checks"),
    path("tables/<str:typed>/passes/", passes.of_table, name="table_passes"),
    path("tables/<str:typed>/audit/", audit.of_table, name="table_audit"),
    path("tables/<str:typed>/lineage/", lineage.entries, name="lineage"),
    path("tables/<str:typed>/rollback/carry-on/", rollback_steps.carry_on, name="carry_on_rollback"),
    path("tables/<str:typed>/rollback/give-up/", rollback_steps.give_up, name="give_up_rollback"),
    path("tables/<str:typed>/pin/", lineage_pins.pin_many, name="pin_entries"),
    path("tables/<str:typed>/unpin/", lineage_pins.unpin_many, name="unpin_entries"),
    path("tables/<str:typed>/diff/", entry.diff, name="diff"),
    path("tables/<str:typed>/lineage/<str:entry_id>/", entry.detail, name="entry"),
    path("tables/<str:typed>/lineage/<str:entry_id>/end/", entry.end, name="end_entry"),
    path("tables/<str:typed>/lineage/<str:entry_id>/end/progress/", entry.job_progress, name="end_progress"),
    path("tables/<str:typed>/lineage/<str:entry_id>/end/cancel/", entry.cancel_end, name="cancel_end"),
    path("tables/<str:typed>/lineage/<str:entry_id>/check/", entry.check, name="check_entry"),
    path("tables/<str:typed>/lineage/<str:entry_id>/pin/", entry.pin, name="pin_entry"),
    path("tables/<str:typed>/lineage/<str:entry_id>/unpin/", entry.unpin, name="unpin_entry"),
    path("tables/<str:typed>/lineage/<str:entry_id>/rollback-to/", entry.roll_back_to, name="roll_back_to"),
    path("tables/<str:typed>/lineage/<str:entry_id>/rollback/", lineage.rollback, name="rollback"),
    path("tables/<str:typed>/lineage/<str:entry_id>/undo/", undo_rollback.undo, name="undo_rollback"),
    path("pushes/", pushes.push_list, name="pushes"),
    path("pushes/new/", pushes.new, name="new_push"),
    path("pushes/<uuid:push_id>/", pushes.detail, name="push"),
    path("pushes/<uuid:push_id>/progress/", pushes.live, name="push_progress"),
    path("pushes/<uuid:push_id>/report.csv", push_report.as_csv, name="push_report_csv"),
    path("pushes/<uuid:push_id>/report.json", push_report.as_json, name="push_report_json"),
    path("pushes/<uuid:push_id>/cancel/", pushes.cancel, name="cancel_push"),
    path("pushes/<uuid:push_id>/finish/", push_blocked.finish, name="finish_push"),
    path("pushes/<uuid:push_id>/override/", push_blocked.override, name="override_push"),
    path("query/", query.query, name="query"),
    path("query/csv/", query.download, name="query_csv"),
    path("passes/", passes.pass_list, name="passes"),
    path("passes/tasks/", minion_tasks.overview, name="tasks"),
    path("passes/tasks/schedule/", minion_tasks.schedule, name="schedule_task"),
    path("passes/tasks/<str:task_type>/", minion_tasks.of_type, name="task_type"),
    path("passes/tasks/<str:task_type>/stop/", minion_tasks.stop, name="stop_tasks"),
    path("passes/tasks/<str:task_type>/resume/", minion_tasks.resume, name="resume_tasks"),
    path("passes/tasks/<str:task_type>/clean-up/", minion_tasks.clean_up, name="clean_up_tasks"),
    path("passes/tasks/<str:task_type>/<str:name>/", minion_tasks.one, name="task"),
    path("passes/tasks/<str:task_type>/<str:name>/delete/", minion_tasks.delete, name="delete_task"),
    path("servers/<str:instance>/drain/", servers.drain, name="drain_server"),
    path("servers/<str:instance>/enable/", servers.enable, name="enable_server"),
    path("servers/", servers.server_list, name="servers"),
    path("findings/", findings.finding_list, name="findings"),
    path("audit/", audit.event_list, name="audit"),
    path("audit/csv/", audit.download, name="audit_csv"),
    path("audit/<int:event_id>/", audit.event, name="event"),
    path("health/", health.strip, name="health"),
    path("cluster/", clusters.overview, name="cluster"),
    path("cluster/banner/", clusters.banner, name="cluster_banner"),
    path("cluster/check/", clusters.check, name="check_cluster"),
]
_installation = [
    path("console/tokens/", tokens.token_list, name="tokens"),
    path("console/tokens/<int:token>/revoke/", tokens.revoke, name="revoke_token"),
    path("console/alerts/", alerts.alert_list, name="alerts"),
    path("console/alerts/<int:hook>/", alerts.change, name="webhook"),
    path("console/alerts/<int:hook>/test/", alerts.test, name="test_webhook"),
    path("console/alerts/<int:hook>/remove/", alerts.remove, name="remove_webhook"),
    path("console/clusters/", clusters.cluster_list, name="clusters"),
    path("console/clusters/new/", clusters.add, name="new_cluster"),
    path("console/clusters/<slug:name>/edit/", clusters.edit, name="edit_cluster"),
    path("console/clusters/<slug:name>/remove/", clusters.remove, name="remove_cluster"),
]
OF_A_CLUSTER: list[URLPattern | URLResolver] = [_table_list, *_login, *_pages]
urlpatterns: list[URLPattern | URLResolver] = [_table_list, *_login, path("console/", include(_pages)), *_installation]
