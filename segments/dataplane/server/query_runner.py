"""Runs this server's part of a query over exactly the segments that the broker names, or says which of
them it lacks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from segments.dataplane import query as engine
from segments.dataplane.server.http.query_request import QueryRequest, read_query_request
from segments.dataplane.server.schemas import SchemaCache
from segments.dataplane.server.segment_finder import SegmentFinder
from segments.dataplane.stopping import ServerStops
from segments.errors import PinotAdminError
from segments.metrics import servers
from segments.names import split_table_name

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refusal:
    """An answer without rows: HTTP status and JSON body."""

    status: int
    body: dict[str, Any]


class QueryRunner:
    """Plans, scans, encodes. Safe to use from several threads."""

    def __init__(self, host: str, finder: SegmentFinder, schemas: SchemaCache, cache_bytes: Callable[[], int]) -> None:
        self._host, self._finder, self._schemas = host, finder, schemas
        self.cache_bytes = cache_bytes
        self.stops = ServerStops()
        self._lock = threading.Lock()
        self.queries = 0

    def run(self, body: bytes) -> bytes | Refusal:
        """The encoded partial result; Refusal 409 with ``missing``, ``behind`` or ``needsSchema``, or 4xx with Pinot's
        ``errorCode``.

        InvalidInput for a body that is not a request.
        """
        request = read_query_request(body)
        answer: bytes | Refusal
        try:
            with self.stops.part(request.request_id) as stop:
                stop.check()
                answer = self._run(request)
                stop.check()
        except engine.QueryRejected as error:
            answer = Refusal(400, {"message": str(error), "status": 400, "errorCode": error.error_code})
        except PinotAdminError as error:
            answer = Refusal(error.status, {"message": str(error), "status": error.status})
        except Exception as error:  # the broker reports it to the user; the log says where
            log.exception("Query failed: %s", request.sql)
            answer = Refusal(500, {"message": f"{type(error).__name__}: {error}", "status": 500, "errorCode": 200})
        with self._lock:
            self.queries += 1
        servers.QUERIES.add()
        if isinstance(answer, Refusal) and answer.status != 409:
            servers.QUERY_FAILURES.add()
        return answer

    def _run(self, request: QueryRequest) -> bytes | Refusal:
        found = self._finder.find(request)
        if found.missing:
            return Refusal(409, {"missing": found.missing})
        if found.behind and request.insists:
            return Refusal(409, {"missing": [], "behind": found.behind})
        raw = split_table_name(request.table)[0]
        schema = (
            self._schemas.get(raw, request.schema_version, request.schema)
            if request.schema_version
            else self._schemas.read(raw)
        )
        if schema is None:
            return Refusal(409, {"missing": [], "needsSchema": True})
        plan = engine.plan_query(
            request.sql, schema, options=request.options or {}, time_filter=request.filter, rows=request.rows
        )
        masks = {} if engine.shows_all_rows(plan.options) else found.masks
        rows = [
            engine.SegmentRows(
                piece.name,
                self._host,
                piece.rows.table_of(plan.columns),
                piece.rows.num_docs,
                piece.rows.is_growing,
                piece.is_tail,
                masks.get(piece.rows.name),
                totals=piece.rows.totals,
            )
            for piece in found.pieces
        ]
        return engine.encode_partial(engine.execute_partial(plan, rows))
