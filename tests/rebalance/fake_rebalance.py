"""Rebalance of a Pinot's controller in memory: our own planner, answers and refusals as each version gives them."""

from __future__ import annotations

import re
from urllib.parse import unquote

import httpx

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.pinot import capabilities
from segments.domain.pinot.capabilities import has, parse_version
from segments.domain.rebalance.options import Options
from segments.names import TableName
from segments.services.core.context import Actor
from segments.services.rebalance import rebalance
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record
from tests.services.world import World

Match = re.Match[str]


class FakeRebalance:
    """Over ``world``; ``version`` says what there is."""

    world: World
    version: str

    def rebalance(self, request: httpx.Request, found: Match) -> httpx.Response:
        """Begin, preview, or stop."""
        params, version = request.url.params, parse_version(self.version)
        table = TableName(unquote(found[1]), "REALTIME" if params["type"].upper() == "REALTIME" else "OFFLINE")
        if request.method == "DELETE":
            if not has(version, capabilities.REBALANCE_STOP):
                return httpx.Response(405, json={"code": 405, "error": "HTTP 405 Method Not Allowed"})
            return httpx.Response(200, json=rebalance.stop(self.world.ctx, table, actor=Actor("pinot")))
        least = params.get("minAvailableReplicas")
        options = Options(
            downtime=params.get("downtime") == "true",
            min_available=int(least) if least else None,
            include_consuming=params.get("includeConsuming") == "true",
            allow_data_loss=(
                params.get("allowPeerDownloadDataLoss") == "true" or not has(version, capabilities.REBALANCE_GUARD)
            ),
        )
        has_checks = params.get("preChecks") == "true" and has(version, capabilities.REBALANCE_CHECKS)
        if params.get("dryRun") == "true":
            body = dict(rebalance.preview(self.world.ctx, table, options, has_checks=has_checks).body)
        else:
            body = dict(rebalance.start(self.world.ctx, table, options, actor=Actor("pinot", "asked")).body)
            rebalance.keep(self.world.ctx)  # its first step is under way when it answers
            self._note(str(body["jobId"]), table.typed)
        if not has(version, capabilities.REBALANCE_STATUS):
            body = {name: body[name] for name in ("status", "description", "segmentAssignment") if name in body}
        return httpx.Response(200, json=body)

    def _note(self, job: str, table: str) -> None:
        """Pinot's own record of its jobs, in the versions that keep any."""
        if has(parse_version(self.version), capabilities.REBALANCE_STATUS):

            def noted(node: Versioned | None) -> ZNRecord:
                before = node.record.maps if node is not None and node.record is not None else {}
                fields = {"jobId": job, "tableName": table, "jobType": "TABLE_REBALANCE"}
                return ZNRecord("/CONTROLLER_JOBS/TABLE_REBALANCE", maps={**before, job: fields})

            update_record(self.world.memory, paths.REBALANCE_JOBS, noted)

    def rebalance_status(self, request: httpx.Request, found: Match) -> httpx.Response:
        """How far a job is, where the version keeps one."""
        if not has(parse_version(self.version), capabilities.REBALANCE_STATUS):
            return httpx.Response(404, json={"code": 404, "error": "HTTP 404 Not Found"})
        body = dict(rebalance.status(self.world.ctx, unquote(found[1])).body)
        return httpx.Response(200, json={k: body[k] for k in ("tableRebalanceProgressStats",)})
