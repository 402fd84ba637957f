"""Addresses of the console: the table list at the root, everything else under /console/."""

from __future__ import annotations

from django.contrib.auth import views as auth_views
from django.urls import path

from segments.console.views import audit, consumption, deleted, entry, findings, health, lineage, login, passes, pushes, query, tables

app_name = "console"
urlpatterns = [
    path("", tables.table_list, name="tables"),
    path("login/", login.Login.as_view(), name="login"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("console/tables/<str:typed>/", tables.overview, name="table"),
    path("console/tables/<str:typed>/segments/", tables.segments, name="segments"),
    path("console/tables/<str:typed>/consumption/", consumption.state, name="consumption"),
    path("console/tables/<str:typed>/consumption/pause/", consumption.pause, name="pause"),
    path("console/tables/<str:typed>/consumption/resume/", consumption.resume, name="resume"),
    path("console/tables/<str:typed>/consumption/commit/", consumption.commit, name="commit"),
    path("console/tables/<str:typed>/segments/<str:segment>/reset/", consumption.reset, name="reset_segment"),
    path("console/tables/<str:typed>/segments/<str:segment>/reload/", consumption.reload, name="reload_segment"),
    path("console/tables/<str:typed>/deleted/", deleted.deleted, name="deleted"),
    path("console/tables/<str:typed>/deleted/restore/", deleted.restore_chosen, name="restore"),
    path("console/tables/<str:typed>/deleted/<str:segment>/cancel/", deleted.cancel, name="cancel_deletion"),
    path("console/tables/<str:typed>/delete/", deleted.delete, name="delete_segments"),
    path("console/tables/<str:typed>/segments/<str:segment>/", tables.segment, name="segment"),
    path("console/tables/<str:typed>/config/", tables.config, name="config"),
    path("console/tables/<str:typed>/passes/", passes.of_table, name="table_passes"),
    path("console/tables/<str:typed>/audit/", audit.of_table, name="table_audit"),
    path("console/tables/<str:typed>/lineage/", lineage.entries, name="lineage"),
    path("console/tables/<str:typed>/diff/", entry.diff, name="diff"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/", entry.detail, name="entry"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/end/", entry.end, name="end_entry"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/end/progress/", entry.job_progress, name="end_progress"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/end/cancel/", entry.cancel_end, name="cancel_end"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/check/", entry.check, name="check_entry"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/pin/", entry.pin, name="pin_entry"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/unpin/", entry.unpin, name="unpin_entry"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/rollback-to/", entry.roll_back_to, name="roll_back_to"),
    path("console/tables/<str:typed>/lineage/<str:entry_id>/rollback/", lineage.rollback, name="rollback"),
    path("console/pushes/", pushes.push_list, name="pushes"),
    path("console/pushes/new/", pushes.new, name="new_push"),
    path("console/pushes/<uuid:push_id>/", pushes.detail, name="push"),
    path("console/pushes/<uuid:push_id>/progress/", pushes.live, name="push_progress"),
    path("console/pushes/<uuid:push_id>/cancel/", pushes.cancel, name="cancel_push"),
    path("console/query/", query.query, name="query"),
    path("console/query/csv/", query.download, name="query_csv"),
    path("console/passes/", passes.pass_list, name="passes"),
    path("console/findings/", findings.finding_list, name="findings"),
    path("console/audit/", audit.event_list, name="audit"),
    path("console/audit/csv/", audit.download, name="audit_csv"),
    path("console/audit/<int:event_id>/", audit.event, name="event"),
    path("console/health/", health.strip, name="health"),
]
