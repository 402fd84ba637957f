"""Runs this server's part of a query over exactly the segments that the broker names, or says which of
them it lacks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.dataplane import query as engine
from segments.dataplane.server.held.slots import Answering, Slots
from segments.dataplane.server.http.query_request import QueryRequest, read_query_request
from segments.dataplane.server.schemas import SchemaCache
from segments.errors import PinotAdminError
from segments.metrics import servers
from segments.names import split_table_name

log = logging.getLogger(__name__)

#: Seconds that a query waits for rows which another replica already showed, and between two checks.
_BEHIND_S: Final = 0.5
_POLL_S: Final = 0.002


@dataclass(frozen=True)
class Refusal:
    """An answer without rows: HTTP status and JSON body."""

    status: int
    body: dict[str, Any]


#: (typed table, segment, its rows) -> rows that were read behind exactly these, in pieces.
TailOf = Callable[[str, str, int], Sequence[Answering]]


class QueryRunner:
    """Plans, scans, encodes. Safe to use from several threads."""

    def __init__(
        self, host: str, slots: Slots, schemas: SchemaCache, tail_of: TailOf, cache_bytes: Callable[[], int]
    ) -> None:
        self._host, self._slots, self._schemas, self._tail_of = host, slots, schemas, tail_of
        self.cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self.queries = 0

    def run(self, body: bytes) -> bytes | Refusal:
        """The encoded partial result; Refusal 409 with ``missing`` or ``needsSchema``, or 4xx with Pinot's
        ``errorCode``.

        InvalidInput for a body that is no request.
        """
        request = read_query_request(body)
        answer: bytes | Refusal
        try:
            answer = self._run(request)
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
        held, tails, missing = self._find(request)
        if missing:
            return Refusal(409, {"missing": missing})
        raw = split_table_name(request.table)[0]
        schema = (
            self._schemas.get(raw, request.schema_version, request.schema)
            if request.schema_version
            else self._schemas.read(raw)
        )
        if schema is None:
            return Refusal(409, {"missing": [], "needsSchema": True})
        plan = engine.plan_query(request.sql, schema, options=request.options or {}, time_filter=request.filter)
        rows = [self._rows(segment, plan.columns) for segment in held]
        rows += [self._rows(tail, plan.columns, is_tail=True) for tail in tails]
        return engine.encode_partial(engine.execute_partial(plan, rows))

    def _find(self, request: QueryRequest) -> tuple[list[Answering], list[Answering], list[str]]:
        """The segments, all at one moment, and what was read behind open ones. One that is behind what the broker has
        seen elsewhere gets a moment (rule `never-backwards`).
        """
        until = time.monotonic() + _BEHIND_S
        tails, min_docs = request.tails or {}, request.min_docs or {}
        while True:
            found, missing = self._slots.find(request.table, request.segments)
            pairs = [(s, self._tail_of(request.table, s.name, s.num_docs)) for s in found if s.name in tails]
            behind = {s.name: sum(piece.num_docs for piece in tail) for s, tail in pairs}
            # What was seen behind the segment before may be more than this one can hold: the rest is behind it.
            is_behind = any(
                s.is_growing and s.num_docs + behind.get(s.name, 0) < min_docs.get(s.name, 0) for s in found
            )
            is_behind |= any(rows < tails[name] for name, rows in behind.items())
            if missing or not is_behind or time.monotonic() >= until:
                return found, [piece for _, tail in pairs for piece in tail], missing
            time.sleep(_POLL_S)

    def _rows(self, segment: Answering, columns: Sequence[str], *, is_tail: bool = False) -> engine.SegmentRows:
        """Those of the columns that the segment has; the engine fills in the others."""
        rows = segment.table_of(columns)
        return engine.SegmentRows(segment.name, self._host, rows, segment.num_docs, segment.is_growing, is_tail)
