"""Every REST address: Pinot's paths as they are (no slash at the end), additions under /api/, health and metrics."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from segments.api import additions, openapi_views, tokens
from segments.api.clusters import cluster, clusters
from segments.api.clusters.pass_through import PassThrough
from segments.api.queries import query
from segments.api.realtime import completion
from segments.api.replacement import protocol as replacement
from segments.api.segments import segment_uploads, segments
from segments.api.tables import schemas, tables
from segments.api.upkeep import health, metrics, webhooks
from segments.domain.realtime.completion import Kind

Pattern = URLPattern | URLResolver

_schemas: list[Pattern] = [
    path("schemas", schemas.Schemas.as_view()),
    path("schemas/validate", schemas.ValidateSchema.as_view()),
    path("schemas/<str:schema>", schemas.OneSchema.as_view()),
]
_tables: list[Pattern] = [
    path("tables", tables.Tables.as_view()),
    path("tables/validate", tables.ValidateTable.as_view()),
    path("", include("segments.api.clusters.brokers")),
    path("tables/<str:table>", tables.OneTable.as_view()),
    path("tables/<str:table>/schema", schemas.TableSchema.as_view()),
    path("tables/<str:table>/idealstate", tables.TableStates.as_view()),
    path("tables/<str:table>/externalview", tables.TableStates.as_view(observed=True)),
    path("tables/<str:table>/size", tables.TableSize.as_view()),
    path("tables/<str:table>/state", tables.TableState.as_view()),
    path("tables/<str:table>/metadata", tables.TableMetadata.as_view()),
]
_realtime: list[Pattern] = [
    path("", include("segments.api.realtime.consumption")),
    path("", include("segments.api.realtime.realtime_additions")),
    path("", include("segments.api.realtime.set_aside")),
    path("", include("segments.api.segments.segment_operations")),
]
_segments: list[Pattern] = [
    path("v2/segments", segment_uploads.UploadSegment.as_view()),
    path("segments", segment_uploads.UploadSegment.as_view(copies_uri=False)),
    path("segments/batchUpload", segment_uploads.UploadBatch.as_view()),
    path("segments/reingested", segment_uploads.UploadReingested.as_view()),
    path("segments/<str:table>", segments.TableSegments.as_view()),
    path("segments/<str:table>/startReplaceSegments", replacement.StartReplace.as_view()),
    path("segments/<str:table>/endReplaceSegments", replacement.EndReplace.as_view()),
    path("segments/<str:table>/revertReplaceSegments", replacement.RevertReplace.as_view()),
    path("segments/<str:table>/lineage", replacement.LineageDocument.as_view()),
    path("segments/<str:table>/zkmetadata", segments.SegmentRecords.as_view()),
    path("segments/<str:table>/crc", segments.SegmentCrcs.as_view()),
    path("segments/<str:table>/servers", segments.SegmentServers.as_view()),
    path("segments/<str:table>/select", segments.SelectSegments.as_view()),
    path("segments/<str:table>/choose", segments.ChooseSegments.as_view()),
    path("segments/<str:table>/delete", segments.DeleteSegments.as_view()),
    path("segments/<str:table>/<str:segment>", segments.OneSegment.as_view()),
    path("segments/<str:table>/<str:segment>/metadata", segments.SegmentRecord.as_view()),
]
_cluster: list[Pattern] = [
    path("instances", cluster.Instances.as_view()),
    path("instances/<str:instance>", cluster.OneInstance.as_view()),
    path("instances/<str:instance>/state", cluster.InstanceState.as_view()),
    path("cluster/configs", cluster.ClusterConfigs.as_view()),
    path("cluster/configs/<str:key>", cluster.OneClusterConfig.as_view()),
    path("periodictask/names", cluster.PeriodicTaskNames.as_view()),
    path("periodictask/run", cluster.RunPeriodicTask.as_view()),
    path("version", cluster.Version.as_view()),
    path("query/sql", query.Query.as_view()),
    path("query", query.Query.as_view()),
    path("sql", query.Query.as_view()),
]
_completion: list[Pattern] = [
    path("segmentConsumed", completion.CompletionMessage.as_view(kind=Kind.CONSUMED)),
    path("segmentStoppedConsuming", completion.CompletionMessage.as_view(kind=Kind.STOPPED)),
    path("segmentCommitStart", completion.CompletionMessage.as_view(kind=Kind.COMMIT_START)),
    path("extendBuildTime", completion.CompletionMessage.as_view(kind=Kind.EXTEND)),
    path("segmentBuildDeterministicFailure", completion.CompletionMessage.as_view(kind=Kind.BUILD_FAILED)),
    path("segmentUpload", completion.SegmentUpload.as_view()),
    path("segmentCommitEndWithMetadata", completion.CommitEnd.as_view()),
]
_additions: list[Pattern] = [
    path("api/v1/tables/<str:table>/lineage/<str:entry>/preview", replacement.RevertPreview.as_view()),
    path("api/v1/tables/<str:table>/secrets", tables.TableSecrets.as_view()),
    path("api/v1/audit", additions.AuditTrail.as_view()),
    path("", include("segments.api.replacement.lineage")),
    path("", include("segments.api.replacement.undo")),
    path("", include("segments.api.replacement.checks")),
    path("", include("segments.api.pushes")),
    path("", include("segments.api.segments.segment_archive")),
    path("", include("segments.api.clusters.cluster_tasks")),
]
_document = {
    "PREPROCESSING_HOOKS": ["segments.api.openapi.own_paths"],
    "POSTPROCESSING_HOOKS": ["segments.api.openapi.with_refusals"],
}
_of_a_cluster = [*_schemas, *_tables, *_realtime, *_segments, *_cluster, *_completion, *_additions]

urlpatterns: list[Pattern] = [
    path("health", health.Health.as_view()),
    path("health/liveness", health.Health.as_view()),
    path("health/readiness", health.Readiness.as_view()),
    path("metrics", metrics.Metrics.as_view()),
    path("api/schema/", openapi_views.Document.as_view(custom_settings=_document), name="api-schema"),
    path("api/docs/", openapi_views.Explorer.as_view(url_name="api-schema"), name="api-docs"),
    path("health/clusters", health.ClustersHealth.as_view()),
    path("health/workers", health.WorkersHealth.as_view()),
    path("api/v1/webhooks", webhooks.Webhooks.as_view()),
    path("api/v1/webhooks/<int:hook>", webhooks.OneWebhook.as_view()),
    path("api/v1/webhooks/<int:hook>/test", webhooks.TestWebhook.as_view()),
    path("api/v1/webhooks/<int:hook>/deliveries", webhooks.Deliveries.as_view()),
    path("api/v1/clusters", clusters.Clusters.as_view()),
    path("api/v1/clusters/<slug:name>", clusters.OneCluster.as_view()),
    path("api/v1/clusters/<slug:name>/check", clusters.CheckCluster.as_view()),
    path("api/v1/tokens", tokens.Tokens.as_view()),
    path("api/v1/tokens/<int:token>", tokens.OneToken.as_view()),
    *_of_a_cluster,
    path("clusters/<str:cluster>/", include(_of_a_cluster)),
    # Whatever else a real Pinot has.
    path("clusters/<str:cluster>/<path:path>", PassThrough.as_view()),
]
