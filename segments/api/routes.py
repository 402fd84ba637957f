"""Every REST address, once: Django's patterns (``urls``), the short way (``direct``) and the list in ``docs/api.md``
are made from this table. The first that fits answers, so what is literal stands before what is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.views import View

from segments.api import audit, openapi_views, pushes, tokens
from segments.api.clusters import brokers, cluster, cluster_tasks, clusters, drains
from segments.api.ingestion import actions, sessions, single_file
from segments.api.queries import query, running
from segments.api.realtime import completion, consumption, partitions, reingestion, set_aside, stored_copies, stream
from segments.api.replacement import checks, lineage, protocol, snapshots, undo, values
from segments.api.segments import segment_archive, segment_operations, segment_uploads, segments
from segments.api.tables import coming_back, edits, new_table, rebalance, schemas, table_configs, tables
from segments.api.tasks import lint, queues, runs, scheduler
from segments.api.upkeep import findings, health, metrics, schedules, webhooks
from segments.domain.realtime.completion import Kind

#: In the order of the list.
METHODS: Final = ("GET", "POST", "PUT", "DELETE")


@dataclass(frozen=True)
class Route:
    """One address. ``path``: as Django writes it, without a slash in front. ``made_with``: what its view is made with.
    ``short_way``: the method that takes the short way. ``name``: for Django's ``reverse``.
    """

    path: str
    view: type[View]
    made_with: Mapping[str, Any] = field(default_factory=dict)
    short_way: str = ""
    name: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        """What its view answers."""
        return tuple(m for m in METHODS if hasattr(self.view, m.lower()))


def _brokers(prefix: str, *, is_second: bool) -> Iterator[Route]:
    made_with = {"is_second": is_second}
    yield Route(f"{prefix}brokers", brokers.AllBrokers, made_with)
    yield Route(f"{prefix}brokers/tenants", brokers.TenantsBrokers, made_with)
    yield Route(f"{prefix}brokers/tenants/<str:tenant>", brokers.TenantBrokers, made_with)
    yield Route(f"{prefix}brokers/tables", brokers.TablesBrokers, made_with)
    yield Route(f"{prefix}brokers/tables/<str:table>", brokers.TableBrokers, made_with)


#: Paths of one cluster by subject; they are also below ``clusters/NAME/``.
OF_A_CLUSTER: Final[Mapping[str, tuple[Route, ...]]] = {
    "Schemas": (
        Route("schemas", schemas.Schemas),
        Route("schemas/validate", schemas.ValidateSchema),
        Route("schemas/<str:schema>", schemas.OneSchema),
    ),
    "Tables and brokers": (
        Route("tables", tables.Tables),
        Route("tables/validate", tables.ValidateTable),
        Route("tableConfigs/validate", table_configs.ValidateTableConfigs),
        Route("tables/livebrokers", brokers.LiveBrokers),
        Route("tables/<str:table>/livebrokers", brokers.TableLiveBrokers),
        *_brokers("", is_second=False),
        *_brokers("v2/", is_second=True),
        Route("tables/<str:table>", tables.OneTable),
        Route("tables/<str:table>/schema", schemas.TableSchema),
        Route("tables/<str:table>/idealstate", tables.TableStates),
        Route("tables/<str:table>/externalview", tables.TableStates, {"observed": True}),
        Route("tables/<str:table>/size", tables.TableSize),
        Route("tables/<str:table>/state", tables.TableState),
        Route("tables/<str:table>/metadata", tables.TableMetadata),
        Route("tables/<str:table>/rebalance", rebalance.Rebalance),
        Route("rebalanceStatus/<str:job>", rebalance.RebalanceStatus),
        Route("api/v1/uploads", new_table.Uploads),
        Route("api/v1/tables/infer", new_table.InferTable),
        Route("api/v1/tables/load", new_table.LoadTable),
        Route("api/v1/tables/<str:table>/rebalance", rebalance.NewestRebalance),
        Route("api/v1/tables/<str:table>/secrets", tables.TableSecrets),
        Route("api/v1/tables/<str:table>/restore", coming_back.RestoreTable),
        Route("api/v1/tables/<str:table>/config", edits.TableDocuments),
        Route("api/v1/tables/<str:table>/config/preview", edits.PreviewTableEdit),
        Route("api/v1/tables/<str:table>/config/history", edits.ConfigHistory),
        Route("api/v1/tables/<str:table>/config/history/<int:number>", edits.OneConfigVersion),
        Route("api/v1/tables/<str:table>/config/history/<int:number>/revert", edits.RevertConfig),
    ),
    "Consumption": (
        Route("tables/forceCommitStatus/<str:job>", consumption.ForceCommitStatus),
        Route("tables/<str:table>/pauseConsumption", consumption.PauseConsumption),
        Route("tables/<str:table>/resumeConsumption", consumption.ResumeConsumption),
        Route("tables/<str:table>/pauseStatus", consumption.PauseStatus),
        Route("tables/<str:table>/pauseTopicConsumption", consumption.PauseTopics),
        Route("tables/<str:table>/resumeTopicConsumption", consumption.ResumeTopics),
        Route("tables/<str:table>/forceCommit", consumption.ForceCommit),
        Route("tables/<str:table>/consumingSegmentsInfo", consumption.ConsumingSegmentsInfo),
        Route("tables/<str:table>/consumerWatermarks", consumption.ConsumerWatermarks),
        Route("tables/<str:table>/pauselessDebugInfo", consumption.PauselessDebugInfo),
        Route("deleteSegmentsFromSequenceNum/<str:table>", consumption.DeleteFromSequence),
        Route("api/v1/tables/<str:table>/pausePartitions", partitions.PausePartitions),
        Route("api/v1/tables/<str:table>/resumePartitions", partitions.ResumePartitions),
        Route("api/v1/tables/<str:table>/resumeConsumption", partitions.ResumeFromOffsets),
        Route("api/v1/tables/<str:table>/lag", partitions.Lag),
        Route("api/v1/tables/<str:table>/stream", stream.StreamState),
        Route("api/v1/tables/<str:table>/stream/<int:partition>/messages", stream.StreamMessages),
        Route("api/v1/tables/<str:table>/consumers", partitions.Consumers),
        Route("api/v1/tables/<str:table>/dataLosses", partitions.DataLosses),
        Route("api/v1/tables/<str:table>/reingestions", reingestion.Reingestions),
        Route("api/v1/tables/<str:table>/reingestions/<str:segment>", reingestion.OneReingestion),
        Route("api/v1/tables/<str:table>/storedCopies/<str:segment>", stored_copies.StoredCopy),
        Route("api/v1/tables/<str:table>/set-aside", set_aside.SetAside),
        Route("api/v1/tables/<str:table>/set-aside/export", set_aside.ExportSetAside),
        Route("api/v1/tables/<str:table>/set-aside/replay", set_aside.ReplaySetAside),
        Route("api/v1/tables/<str:table>/set-aside/<int:number>/reveal", set_aside.RevealSetAside),
    ),
    "File ingestion": (
        Route("ingestFromFile", single_file.IngestFromFile),
        Route("ingestFromURI", single_file.IngestFromUri),
        Route("api/v1/tables/<str:table>/ingestion/trigger", actions.Trigger),
        Route("api/v1/tables/<str:table>/ingestion/preview", actions.Preview),
        Route("api/v1/tables/<str:table>/ingestion/clear", actions.ClearState),
        Route("api/v1/tables/<str:table>/ingestion/sessions", sessions.Sessions),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>", sessions.OneSession),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>/files", sessions.SessionFiles),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>/runs/<int:run>", sessions.SessionRun),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>/retry", actions.Retry),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>/cancel", actions.Cancel),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>/finish", actions.Finish),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>/undo", actions.Undo),
        Route("api/v1/tables/<str:table>/ingestion/sessions/<str:session>/readAgain", actions.ReadAgain),
    ),
    "Segments": (
        Route("segments/<str:table>/reset", segment_operations.ResetSegments),
        Route("segments/<str:table>/<str:segment>/reset", segment_operations.ResetSegment),
        Route("segments/<str:table>/reload", segment_operations.ReloadSegments),
        Route("segments/<str:table>/<str:segment>/reload", segment_operations.ReloadSegment),
        Route("segments/<str:table>/uploadFromServerToDeepstore", segment_operations.UploadFromServers),
        Route("v2/segments", segment_uploads.UploadSegment),
        Route("segments", segment_uploads.UploadSegment, {"copies_uri": False}),
        Route("segments/batchUpload", segment_uploads.UploadBatch),
        Route("segments/reingested", segment_uploads.UploadReingested),
        Route("segments/<str:table>", segments.TableSegments),
        Route("segments/<str:table>/startReplaceSegments", protocol.StartReplace, short_way="POST"),
        Route("segments/<str:table>/endReplaceSegments", protocol.EndReplace, short_way="POST"),
        Route("segments/<str:table>/revertReplaceSegments", protocol.RevertReplace, short_way="POST"),
        Route("segments/<str:table>/lineage", protocol.LineageDocument),
        Route("segments/<str:table>/zkmetadata", segments.SegmentRecords),
        Route("segments/<str:table>/crc", segments.SegmentCrcs),
        Route("segments/<str:table>/servers", segments.SegmentServers),
        Route("segments/<str:table>/select", segments.SelectSegments),
        Route("segments/<str:table>/choose", segments.ChooseSegments),
        Route("segments/<str:table>/delete", segments.DeleteSegments),
        Route("segments/<str:table>/<str:segment>", segments.OneSegment),
        Route("segments/<str:table>/<str:segment>/metadata", segments.SegmentRecord),
    ),
    "Cluster and queries": (
        Route("instances", cluster.Instances),
        Route("instances/<str:instance>", cluster.OneInstance),
        Route("instances/<str:instance>/state", cluster.InstanceState),
        Route("api/v1/instances/<str:instance>/drain", drains.Drain),
        Route("cluster/configs", cluster.ClusterConfigs),
        Route("cluster/configs/<str:key>", cluster.OneClusterConfig),
        Route("periodictask/names", cluster.PeriodicTaskNames),
        Route("periodictask/run", cluster.RunPeriodicTask),
        Route("version", cluster.Version),
        Route("query/sql", query.Query, short_way="POST"),
        Route("query", query.Query, short_way="POST"),
        Route("sql", query.Query, short_way="POST"),
    ),
    "Tasks": (
        Route("tasks/tasktypes", queues.TaskTypes),
        Route("tasks/summary", queues.Summary),
        Route("tasks/schedule", scheduler.ScheduleTasks),
        Route("tasks/execute", scheduler.ExecuteTask),
        Route("tasks/scheduler/information", scheduler.SchedulerInformation),
        Route("tasks/scheduler/jobKeys", scheduler.SchedulerJobKeys),
        Route("tasks/scheduler/jobDetails", scheduler.SchedulerJobDetails),
        Route("tasks/lock/forceRelease", scheduler.ReleaseLock),
        Route("tasks/generator/<str:table>/<str:task_type>/debug", scheduler.GeneratorDebug),
        Route("tasks/task/<str:task>", runs.OneTask),
        Route("tasks/task/<str:task>/state", runs.TaskState),
        Route("tasks/task/<str:task>/config", runs.TaskConfigs),
        Route("tasks/task/<str:task>/runtime/config", runs.RuntimeConfig),
        Route("tasks/task/<str:task>/debug", runs.TaskDebug),
        Route("tasks/subtask/workers/progress", runs.WorkersProgress),
        Route("tasks/subtask/<str:task>/state", runs.SubtaskStates),
        Route("tasks/subtask/<str:task>/config", runs.SubtaskConfigs),
        Route("tasks/subtask/<str:task>/progress", runs.SubtaskProgress),
        Route("tasks/<str:task_type>", queues.DeleteTasks),
        Route("tasks/<str:task_type>/state", queues.QueueState),
        Route("tasks/<str:task_type>/tasks", queues.TaskNames),
        Route("tasks/<str:task_type>/tasks/count", queues.TaskNames, {"counts_only": True}),
        Route("tasks/<str:task_type>/taskstates", queues.TaskStates),
        Route("tasks/<str:task_type>/taskcounts", queues.TaskCounts),
        Route("tasks/<str:task_type>/debug", queues.TypeDebug),
        Route("tasks/<str:task_type>/cleanup", queues.CleanUpTasks),
        Route("tasks/<str:task_type>/stop", queues.StopTasks),
        Route("tasks/<str:task_type>/resume", queues.StopTasks, {"stops": False}),
        Route("tasks/<str:task_type>/<str:table>/state", queues.TableTasks),
        Route("tasks/<str:task_type>/<str:table>/debug", queues.TableDebug),
        Route("tasks/<str:task_type>/<str:table>/metadata", queues.TaskMetadata),
        Route("tasks/<str:task_type>/<str:table>/stop", queues.StopTasks),
        Route("tasks/<str:task_type>/<str:table>/resume", queues.StopTasks, {"stops": False}),
        Route("tasks/<str:task_type>/<str:table>/cleanup", queues.CleanUpTasks),
    ),
    "Completion protocol, for servers": (
        Route("segmentConsumed", completion.CompletionMessage, {"kind": Kind.CONSUMED}, "GET"),
        Route("segmentStoppedConsuming", completion.CompletionMessage, {"kind": Kind.STOPPED}, "GET"),
        Route("segmentCommitStart", completion.CompletionMessage, {"kind": Kind.COMMIT_START}, "GET"),
        Route("extendBuildTime", completion.CompletionMessage, {"kind": Kind.EXTEND}, "GET"),
        Route("segmentBuildDeterministicFailure", completion.CompletionMessage, {"kind": Kind.BUILD_FAILED}),
        Route("segmentUpload", completion.SegmentUpload),
        Route("segmentCommitEndWithMetadata", completion.CommitEnd),
    ),
    "Additions": (
        Route("api/v1/tables/<str:table>/lineage/<str:entry>/preview", protocol.RevertPreview),
        Route("api/v1/audit", audit.AuditTrail),
        Route("api/v1/queries", running.RunningQueriesView),
        Route("api/v1/queries/<str:query>", running.OneRunningQuery),
        Route("api/v1/tables/<str:table>/findings", findings.TableFindings),
        Route("api/v1/tables/<str:table>/findings/<int:finding>/fix", findings.FixFinding),
        Route("api/v1/tables/<str:table>/findings/<int:finding>/assign", findings.AssignFinding),
        Route("api/v1/tables/<str:table>/findings/<int:finding>/snooze", findings.SnoozeFinding),
        Route("api/v1/findings", findings.InstallationFindings),
        Route("api/v1/findings/<int:finding>/assign", findings.AssignInstallationFinding),
        Route("api/v1/findings/<int:finding>/snooze", findings.SnoozeInstallationFinding),
        Route("api/v1/lineage/<str:table>/rollback", lineage.Rollback),
        Route("api/v1/lineage/<str:table>/rollback/current", lineage.RollbackUnderWay),
        Route("api/v1/tables/<str:table>/snapshots", snapshots.Snapshots),
        Route("api/v1/tables/<str:table>/snapshots/<int:number>/restore", snapshots.RestoreSnapshot),
        Route("api/v1/lineage/<str:table>/diff", lineage.DiffSnapshots),
        Route("api/v1/lineage/<str:table>/diff/days", values.DiffDays),
        Route("api/v1/lineage/<str:table>/diff/values", values.DiffValues),
        Route("api/v1/lineage/<str:table>/<str:entry>/heartbeat", lineage.Heartbeat),
        Route("api/v1/lineage/<str:table>/<str:entry>/end", lineage.EndInBackground),
        Route("api/v1/lineage/<str:table>/<str:entry>/pin", lineage.PinEntry),
        Route("api/v1/lineage/<str:table>/<str:entry>/explain", lineage.ExplainEntry),
        Route("api/v1/jobs/<str:job>", lineage.Job),
        Route("api/v1/jobs/<str:job>/cancel", lineage.CancelJob),
        Route("api/v1/lineage/<str:table>/<str:entry>/undo", undo.UndoRollback),
        Route("api/v1/tables/<str:table>/checks", checks.TableChecks),
        Route("api/v1/lineage/<str:table>/<str:entry>/checks", checks.EntryChecks),
        Route("api/v1/pushes", pushes.PushesView),
        Route("api/v1/pushes/<str:push_id>", pushes.PushView),
        Route("api/v1/pushes/<str:push_id>/report", pushes.PushReportView),
        Route("api/v1/pushes/<str:push_id>/report.csv", pushes.PushReportCsvView),
        Route("api/v1/pushes/<str:push_id>/cancel", pushes.PushCancelView),
        Route("api/v1/pushes/<str:push_id>/finish", pushes.PushFinishView),
        Route("api/v1/segments/<str:table>/deleted", segment_archive.DeletedSegments),
        Route("api/v1/segments/<str:table>/restore", segment_archive.RestoreSegments),
        Route("api/v1/segments/<str:table>/delete", segment_archive.DeleteManySegments),
        Route("api/v1/segments/<str:table>/deletions", segment_archive.PendingDeletions),
        Route("api/v1/segments/<str:table>/deletions/<str:segment>/cancel", segment_archive.CancelDeletion),
        Route("api/v1/tasks", cluster_tasks.Tasks),
        Route("api/v1/tables/<str:table>/tasks/lint", lint.TaskLint),
        Route("api/v1/tables/<str:table>/controllerStatus", cluster_tasks.TableStatus),
    ),
}
_DOCUMENT: Final = {
    "PREPROCESSING_HOOKS": ["segments.api.openapi.own_paths"],
    "POSTPROCESSING_HOOKS": ["segments.api.openapi.with_refusals", "segments.api.documentation.operations.described"],
}
#: Paths of the whole installation.
OF_THE_INSTALLATION: Final = (
    Route("health", health.Health),
    Route("health/liveness", health.Health),
    Route("health/readiness", health.Readiness),
    Route("metrics", metrics.Metrics),
    Route("api/schema/", openapi_views.Document, {"custom_settings": _DOCUMENT}, name="api-schema"),
    Route("api/docs/", openapi_views.Explorer, {"url_name": "api-schema"}, name="api-docs"),
    Route("health/clusters", health.ClustersHealth),
    Route("health/workers", health.WorkersHealth),
    Route("api/v1/webhooks", webhooks.Webhooks),
    Route("api/v1/webhooks/<int:hook>", webhooks.OneWebhook),
    Route("api/v1/webhooks/<int:hook>/test", webhooks.TestWebhook),
    Route("api/v1/webhooks/<int:hook>/deliveries", webhooks.Deliveries),
    Route("api/v1/schedules", schedules.Schedules),
    Route("api/v1/schedules/<int:schedule>", schedules.OneSchedule),
    Route("api/v1/schedules/<int:schedule>/run", schedules.RunSchedule),
    Route("api/v1/clusters", clusters.Clusters),
    Route("api/v1/clusters/<slug:name>", clusters.OneCluster),
    Route("api/v1/clusters/<slug:name>/check", clusters.CheckCluster),
    Route("api/v1/tokens", tokens.Tokens),
    Route("api/v1/tokens/<int:token>", tokens.OneToken),
)


def of_a_cluster() -> Iterator[Route]:
    """``OF_A_CLUSTER`` without its subjects."""
    for routes in OF_A_CLUSTER.values():
        yield from routes
