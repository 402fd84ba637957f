"""What a Pinot's controller in memory answers to reads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx

from segments.domain.replacement.lineage import empty
from segments.domain.tables.schema import from_record as schema_from
from segments.domain.tables.table_config import from_record
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.realtime import consumption, force_commit
from segments.services.replacement.lineage_record import read_lineage
from segments.store import paths
from tests.pinot_cluster import fake_instances
from tests.pinot_cluster.fake_rest import FakePinot
from tests.pinot_cluster.fake_tasks import FakeTasks
from tests.services.world import TABLE, World

Match = re.Match[str]


@dataclass
class FakeReads(FakePinot):
    """Reads of a controller over ``world``."""

    world: World = field(default_factory=lambda: World(Path("/nonexistent")))
    consuming_info: dict[str, Any] = field(default_factory=dict)
    pauseless_info: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    tasks: FakeTasks = field(default_factory=FakeTasks)

    def _read(self, request: httpx.Request, path: str) -> httpx.Response | None:
        for pattern, handler in (
            (r"/segments/([^/]+)/lineage", self._lineage),
            (r"/segments/([^/]+)/([^/]+)/metadata", self._metadata),
            (r"/segments/([^/]+)/metadata", self._metadata_of_many),
            (r"/(tasks)/.*", self._tasks),
            (r"/tables/([^/]+)/pauseStatus", self._pause_status),
            (
                r"/tables/([^/]+)/consumingSegmentsInfo",
                lambda request, found: httpx.Response(200, json=self.consuming_info),
            ),
            (
                r"/tables/([^/]+)/pauselessDebugInfo",
                lambda request, found: httpx.Response(200, json=self.pauseless_info),
            ),
            (r"/tables/forceCommitStatus/(.+)", self._job),
            (r"/segments/([^/]+)/((?!lineage)[^/]+)", self._tar),
            (r"/tables/([^/]+)", self._config),
            (r"/schemas/([^/]+)", self._schema_now),
            (r"/cluster/configs", lambda request, found: fake_instances.settings(self.world.ctx)),
        ):
            if (found := re.fullmatch(pattern, path)) is not None:
                try:
                    return handler(request, found)
                except PinotAdminError as error:
                    return refused_with(error.status, error.message)
        return None

    def _lineage(self, request: httpx.Request, found: Match) -> httpx.Response:
        lineage = read_lineage(self.world.ctx, self._table(request, found))
        return httpx.Response(200, json=(lineage or empty(TABLE.typed)).to_json()) if lineage else httpx.Response(200)

    def _metadata(self, request: httpx.Request, found: Match) -> httpx.Response:
        raw, segment = unquote(found[1]).partition("_OFFLINE")[0], unquote(found[2])
        node = self.store.get(paths.segment(f"{raw}_OFFLINE", segment))
        if node is None or node.record is None:
            return refused_with(404, f"Failed to find segment: {segment} in table: {raw}")
        asked = request.url.params.get("columns")
        return httpx.Response(
            200, json={**node.record.simple, **({"columns": self.columns.get(segment, [])} if asked else {})}
        )

    def _metadata_of_many(self, request: httpx.Request, found: Match) -> httpx.Response:
        names = request.url.params.get_list("segments") or list(self.columns)
        return httpx.Response(
            200, json={n: {"segmentName": n, "columns": self.columns[n]} for n in names if n in self.columns}
        )

    def _tasks(self, request: httpx.Request, found: Match) -> httpx.Response:
        return self.tasks.answer(request)

    def _tar(self, request: httpx.Request, found: Match) -> httpx.Response:
        store, path = (
            self.world.ctx.deep_store,
            self.world.ctx.deep_store.segment_path(unquote(found[1]), unquote(found[2])),
        )
        data = store.read(path)
        return refused_with(404, "Segment not found") if data is None else httpx.Response(200, content=data)

    def _pause_status(self, request: httpx.Request, found: Match) -> httpx.Response:
        status = consumption.pause_status(self.world.ctx, realtime_name(found))
        is_old = self.version.startswith("0.")
        status.pop("actor", None)
        return httpx.Response(
            200, json={k: status[k] for k in ("pauseFlag", "consumingSegments")} if is_old else status
        )

    def _job(self, request: httpx.Request, found: Match) -> httpx.Response:
        return httpx.Response(200, json=force_commit.job_status(self.world.ctx, unquote(found[1])))

    def _config(self, request: httpx.Request, found: Match) -> httpx.Response:
        kind = request.url.params.get("type", "offline").upper()
        node = self.store.get(paths.table_config(f"{unquote(found[1])}_{kind}"))
        return httpx.Response(200, json={kind: from_record(node.record).body} if node and node.record else {})

    def _schema_now(self, request: httpx.Request, found: Match) -> httpx.Response:
        node = self.store.get(paths.schema(unquote(found[1])))
        if node is None or node.record is None:
            return refused_with(404, "Schema not found")
        return httpx.Response(200, json=schema_from(node.record).body)

    def _table(self, request: httpx.Request, found: Match) -> TableName:
        kind = request.url.params.get("type", "OFFLINE")
        return TableName(unquote(found[1]), "REALTIME" if kind == "REALTIME" else "OFFLINE")


def realtime_name(found: Match) -> TableName:
    return TableName(unquote(found[1]).removesuffix("_REALTIME"), "REALTIME")


def refused_with(status: int, text: str) -> httpx.Response:
    return httpx.Response(status, json={"code": status, "error": text})
