"""Sessions of file ingestion over REST: the list, one of them, its files and its runs, as the mirror has them."""

from __future__ import annotations

from typing import Any, ClassVar, Final, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, text_param
from segments.api.permissions import Right
from segments.errors import InvalidInput, NotFound
from segments.models import IngestionSession
from segments.names import OFFLINE, REALTIME, TableName, shown, split_table_name
from segments.services.ingestion.mirrored_sessions import (
    attempt_document,
    file_document,
    files_of,
    find_session,
    session_document,
    sessions_of,
)

M = TypeVar("M", bound=Model)

_PAGE: Final = 100
_MOST: Final = 1_000


class OfATable(ApiView):
    """About the sessions of one table."""

    @property
    def table(self) -> TableName:
        """The OFFLINE table that is named. Raises InvalidInput."""
        raw, kind = split_table_name(str(self.kwargs["table"]))
        if kind == REALTIME:
            raise InvalidInput(
                f"Table '{shown(raw)}_{kind}' is not an OFFLINE table; only those ingest files.",
                remedy="Name the OFFLINE table.",
            )
        return TableName(raw, OFFLINE)

    def session(self, session_id: str) -> IngestionSession:
        """One of them. NotFound."""
        return find_session(self.ctx.cluster, self.table, session_id)


class Sessions(OfATable):
    """All of a table."""

    answers = {"GET": {200: "object"}}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"GET": ("limit", "offset")}

    def get(self, request: Request, table: str) -> Response:
        """Newest first: those in ZooKeeper, and older ones as far as they are remembered. ``limit`` (100, at most 1000)
        and ``offset`` choose a page; ``total`` counts all.
        """
        rows, total, offset = page_of(request, sessions_of(self.ctx.cluster, self.table))
        return Response({"sessions": [session_document(row) for row in rows], "total": total, "offset": offset})


class OneSession(OfATable):
    """One of them."""

    def get(self, request: Request, table: str, session: str) -> Response:
        """State, counts of files, rows, bytes, its runs, and the segments that it replaces and makes."""
        found = self.session(session)
        runs = [attempt_document(run) for run in found.attempts.all()]
        segments = {"segmentsFrom": found.segments_from, "segmentsTo": found.segments_to}
        return Response({**session_document(found), "runs": runs, **segments})


class SessionFiles(OfATable):
    """Its files."""

    rights: ClassVar[dict[str, Right]] = {"GET": "query"}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"GET": ("state", "search", "badRows", "limit", "offset")}

    def get(self, request: Request, table: str, session: str) -> Response:
        """Failed ones first, each with error and line, how many of its rows do not fit (``badRows``) and the first of
        them with line, column and value (``badValues``). ``state``, ``search`` (a part of the address) and
        ``badRows=true`` narrow them, ``limit`` (100, at most 1000) and ``offset`` choose a page; ``total`` counts those
        that match.
        """
        state, search = (text_param(request, "state") or "").upper(), text_param(request, "search") or ""
        only_bad = bool_param(request, "badRows")
        files = files_of(self.session(session), state=state, search=search, with_bad_rows=only_bad)
        rows, total, offset = page_of(request, files)
        return Response({"files": [file_document(row) for row in rows], "total": total, "offset": offset})


class SessionRun(OfATable):
    """One of its runs."""

    rights: ClassVar[dict[str, Right]] = {"GET": "query"}

    def get(self, request: Request, table: str, session: str, run: int) -> Response:
        """When it ran, how many files it finished and lost, and the last lines of its log."""
        found = self.session(session).attempts.filter(number=run).first()
        if found is None:
            raise NotFound(f"Session '{shown(session)}' has no run {run}.", remedy="Its first run is number 0.")
        return Response(attempt_document(found, with_log=True))


def page_of(request: Request, rows: QuerySet[M, Any]) -> tuple[list[M], int, int]:
    """The rows that ``limit`` and ``offset`` choose, how many there are, and the offset. Raises InvalidInput."""
    limit = int_param(request, "limit")
    offset = int_param(request, "offset") or 0
    if offset < 0 or (limit is not None and limit < 1):
        raise InvalidInput("'limit' must be at least 1 and 'offset' at least 0.")
    most = min(limit or _PAGE, _MOST)
    return list(rows[offset : offset + most]), rows.order_by().count(), offset
