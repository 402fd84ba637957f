"""Rebalance at Pinot's paths: begin or preview, how far it is, stop; and ours for the newest one of a table."""

from __future__ import annotations

from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, need_text, text_param
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import STALLED_MS, Options
from segments.errors import InvalidInput, NotFound
from segments.names import TABLE_TYPES, TableName, parse_table_type, split_table_name
from segments.services.access.read_rights import require_reading
from segments.services.rebalance import rebalance

#: Parameters that only a Pinot has; the embedded cluster refuses those that it cannot follow.
_OF_PINOT: Final = (
    "bootstrap", "reassignInstances", "minimizeDataMovement", "bestEfforts", "lowDiskMode", "updateTargetTier",
    "externalViewCheckIntervalInMs", "heartbeatIntervalInMs", "heartbeatTimeoutInMs", "maxAttempts",
    "retryInitialDelayInMs", "diskUtilizationThreshold", "forceCommitBatchSize",
    "forceCommitBatchStatusCheckIntervalMs", "forceCommitBatchStatusCheckTimeoutMs",
)  # fmt: skip
_OURS: Final = (
    "type", "dryRun", "preChecks", "includeConsuming", "downtime", "minAvailableReplicas", "batchSizePerServer",
    "externalViewStabilizationTimeoutInMs", "forceCommit", "allowPeerDownloadDataLoss", "reason",
)  # fmt: skip


class Rebalance(ApiView):
    """Spread a table's segments over its servers again."""

    on_pinot = frozenset(("POST", "DELETE"))
    rights = {"POST": "operate", "DELETE": "operate"}
    answers = {"POST": {200: "object"}, "DELETE": {200: "list"}}
    parameters = {"POST": (*_OURS, *_OF_PINOT), "DELETE": ("type", "reason")}

    def post(self, request: Request, table: str) -> Response:
        """Pinot's RebalanceResult; with ``dryRun`` what would move, with ``preChecks`` what to mind.

        Replicas are loaded by their new servers before the old ones let go. Without ``minAvailableReplicas`` all
        replicas stay available; consuming segments move with ``includeConsuming`` only.
        """
        name, options = _table(request, table), _options(request)
        checks = bool_param(request, "preChecks")
        if bool_param(request, "dryRun"):
            return Response(rebalance.preview(self.ctx, name, options, has_checks=checks).body)
        if checks:
            raise InvalidInput("'preChecks' is for a dry run.", remedy="Add dryRun=true.")
        return Response(rebalance.start(self.ctx, name, options, actor=self.actor).body)

    def delete(self, request: Request, table: str) -> Response:
        """Stop what runs: the ids of the jobs that were stopped, none when nothing ran."""
        return Response(rebalance.stop(self.ctx, _table(request, table), actor=self.actor))


class RebalanceStatus(ApiView):
    """How far a rebalance is."""

    on_pinot = frozenset(("GET",))
    #: Of the job's table, which is known once it is read.
    reading = "filtered"

    def get(self, request: Request, job: str) -> Response:
        """Replicas and bytes to move and moved, state and what it says."""
        found = rebalance.status(self.ctx, job)
        require_reading(request.user, self.cluster_name, found.table or None)
        return Response(found.body)


class NewestRebalance(ApiView):
    """The rebalance of a table that runs, or ran last."""

    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str) -> Response:
        """As ``/rebalanceStatus/{jobId}``, with the id, who asked for it and why."""
        name = _table(request, table)
        found = rebalance.newest(self.ctx, name)
        if found is None:
            raise NotFound(f"No rebalance of table '{name}' is on record.", remedy="Begin one.")
        state = {"jobId": found.job_id, "status": Status(found.status).value, "percent": found.percent}
        who = {"actor": found.who, "reason": found.reason}
        return Response({**state, **who, "waitingFor": found.waiting, **found.body})


def _table(request: Request, table: str) -> TableName:
    """The table by its typed name, or by the raw one and ``type``, which Pinot demands."""
    raw, suffix = split_table_name(table)
    asked = parse_table_type(need_text(request, "type") if suffix is None else text_param(request, "type"))
    if suffix is not None and asked is not None and asked != suffix:
        raise InvalidInput(f"'{table}' is not a table of type {asked}.", remedy="Give the type of the table.")
    kind = asked or suffix
    assert kind in TABLE_TYPES  # one of them was given, and both are checked
    return TableName(raw, kind)


def _options(request: Request) -> Options:
    batch, stalled = (
        int_param(request, "batchSizePerServer"),
        int_param(request, "externalViewStabilizationTimeoutInMs"),
    )
    return Options(
        min_available=int_param(request, "minAvailableReplicas"),
        downtime=bool_param(request, "downtime"),
        include_consuming=bool_param(request, "includeConsuming"),
        force_commit=bool_param(request, "forceCommit"),
        allow_data_loss=bool_param(request, "allowPeerDownloadDataLoss"),
        batch_per_server=-1 if batch is None else batch,
        stalled_ms=STALLED_MS if stalled is None else stalled,
        other={name: found for name in _OF_PINOT if (found := text_param(request, name)) is not None},
    )
