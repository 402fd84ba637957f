"""/segments/{table}/...: lists, records, downloads and deletion of segments."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, need_text, status, text_param
from segments.api.bodies import read_body
from segments.domain.access.cluster_signature import SEAL_BYTES, SEAL_HEADER
from segments.domain.pinot import capabilities
from segments.errors import InvalidInput
from segments.names import OFFLINE, REALTIME, TableName, check_segment_name, split_table_name
from segments.services.core.streaming import in_threads
from segments.services.segments import deletion, downloads, segments
from segments.services.segments.segments import TimeWindow
from segments.services.tables import tables

_TIMES = ("startTimestamp", "endTimestamp", "excludeOverlapping")
#: Up to this many names are listed in the answer to a deletion.
_NAMES_SHOWN = 5


class TableSegments(ApiView):
    """The segments of a table: list them, delete many."""

    answers = {"GET": {200: "list"}}
    on_pinot = frozenset(("DELETE",))
    where_lacking = {"GET": capabilities.SEGMENT_LIST}
    rights = {"DELETE": "administer"}
    parameters = {
        "GET": ("type", "excludeReplacedSegments", *_TIMES),
        "DELETE": ("type", "retention", "force", "segments"),
    }

    def get(self, request: Request, table: str) -> Response:
        """One object per type that exists: [{"OFFLINE": [names]}]."""
        return Response(_lists(self, request, table, exclude_replaced=bool_param(request, "excludeReplacedSegments")))

    def delete(self, request: Request, table: str) -> Response:
        """Delete the named segments, or all when none is named."""
        need_text(request, "type")
        found = tables.one_table(self.ctx, table, text_param(request, "type"))
        named = request.query_params.getlist("segments")
        names = _checked(named) if named else segments.list_segments(self.ctx, found)
        _remove(self, request, found, names)
        return _deleted(found, names) if named else status(f"All segments of table {found} deleted")


class SelectSegments(ApiView):
    """Visible segments of a time window."""

    answers = {"GET": {200: "list"}}
    parameters = {"GET": ("type", *_TIMES)}

    def get(self, request: Request, table: str) -> Response:
        """As the list; replaced segments are always left out."""
        return Response(_lists(self, request, table, exclude_replaced=True))


class ChooseSegments(ApiView):
    """Delete the segments of a time window."""

    on_pinot = frozenset(("DELETE",))
    rights = {"DELETE": "administer"}
    parameters = {"DELETE": ("type", "excludeReplacedSegments", "retention", "force", *_TIMES)}

    def delete(self, request: Request, table: str) -> Response:
        """Both times are required; partly overlapping segments stay unless excludeOverlapping=false."""
        need_text(request, "startTimestamp")
        need_text(request, "endTimestamp")
        window = _window(request, exclude_overlapping=True)
        exclude = bool_param(request, "excludeReplacedSegments")
        count = 0
        for each in tables.existing_tables(self.ctx, table, text_param(request, "type")):
            names = segments.list_segments(self.ctx, each, exclude_replaced=exclude, window=window)
            _remove(self, request, each, names)
            count += len(names)
        return status(f"Deleted {count} segments from table: {table}")


class DeleteSegments(ApiView):
    """Delete a list of segments given in the body."""

    on_pinot = frozenset(("POST",))
    bodies = {"POST": list[str]}
    rights = {"POST": "administer"}
    parameters = {"POST": ("retention", "force")}

    def post(self, request: Request, table: str) -> Response:
        """The body is a JSON array of names."""
        names = read_body(request, list[str])
        if not names:
            raise InvalidInput("The body must be a list of at least one segment name.", remedy='Send ["name", ...].')
        found = _table_of_segment(self, table, _checked(names)[0])
        _remove(self, request, found, names)
        return _deleted(found, names)


class OneSegment(ApiView):
    """One segment: download its tar, delete it."""

    answers = {"GET": {200: "file"}, "DELETE": {200: "object"}}
    on_pinot = frozenset(("GET", "DELETE"))
    for_cluster = frozenset(("GET",))
    rights = {"DELETE": "administer"}
    parameters = {"DELETE": ("retention", "force")}

    def get(self, request: Request, table: str, segment: str) -> StreamingHttpResponse:
        """The tar.gz as it was uploaded; the path takes the raw table name."""
        file = downloads.open_segment(self.ctx, table, segment)
        chunks, size, call = file.chunks(), file.size, getattr(request.user, "call", None)
        if call is not None:  # a server: it gets a signature behind the file
            chunks, size = call.sealed(chunks), size + SEAL_BYTES
        body = in_threads(chunks) if isinstance(request._request, ASGIRequest) else chunks
        response = StreamingHttpResponse(body, content_type="application/octet-stream")
        response["Content-Length"] = str(size)
        if call is not None:
            response[SEAL_HEADER] = str(SEAL_BYTES)
        response["Content-Disposition"] = content_disposition_header(True, segment) or "attachment"
        return response

    def delete(self, request: Request, table: str, segment: str) -> Response:
        """Out of the table at once; its file is kept for the retention."""
        found = _table_of_segment(self, table, segment)
        _remove(self, request, found, [segment])
        return status("Segment deleted")


class SegmentRecord(ApiView):
    """The record of one segment."""

    def get(self, request: Request, table: str, segment: str) -> Response:
        """Its fields as ZooKeeper holds them."""
        found = tables.existing_tables(self.ctx, table)
        return Response(segments.record_json(segments.read_record(self.ctx, found, segment)[1]))


class SegmentRecords(ApiView):
    """The records of all segments of a table."""

    where_lacking = {"GET": capabilities.RECORDS}
    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str) -> Response:
        """{segment: its fields}."""
        found = tables.one_table(self.ctx, table, text_param(request, "type"))
        records = segments.read_records(self.ctx, found)
        return Response({s: segments.record_json(m) for s, m in records.items()})


class SegmentCrcs(ApiView):
    """CRCs of a table's segments."""

    def get(self, request: Request, table: str) -> Response:
        """{segment: CRC as text}; a raw name means the OFFLINE table."""
        raw, kind = split_table_name(table)
        return Response(segments.crc_by_segment(self.ctx, tables.one_table(self.ctx, raw, kind or OFFLINE)))


class SegmentServers(ApiView):
    """Which server holds which segment."""

    answers = {"GET": {200: "list"}}
    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str) -> Response:
        """One object per type: table name and {server: [segments]}."""
        found = tables.existing_tables(self.ctx, table, text_param(request, "type"))
        return Response(
            [{"tableName": t.typed, "serverToSegmentsMap": segments.segments_by_server(self.ctx, t)} for t in found]
        )


def _lists(view: ApiView, request: Request, table: str, *, exclude_replaced: bool) -> list[dict[str, list[str]]]:
    window, ctx = _window(request, exclude_overlapping=False), view.ctx
    found = tables.existing_tables(ctx, table, text_param(request, "type"))
    return [{t.type: segments.list_segments(ctx, t, exclude_replaced=exclude_replaced, window=window)} for t in found]


def _window(request: Request, *, exclude_overlapping: bool) -> TimeWindow:
    start, end = int_param(request, "startTimestamp"), int_param(request, "endTimestamp")
    return segments.check_window(TimeWindow(start, end, bool_param(request, "excludeOverlapping", exclude_overlapping)))


def _checked(names: Sequence[str]) -> list[str]:
    """Names as given; one with a comma is refused: some clients join names, and nothing would be deleted."""
    return [check_segment_name(name) for name in names]


def _table_of_segment(view: ApiView, table: str, segment: str) -> TableName:
    """The table by its suffix, or else by the segment's form: LLC names are REALTIME."""
    found = tables.existing_tables(view.ctx, table)
    if len(found) == 1:
        return found[0]
    kind = REALTIME if segment.count("__") == 3 else OFFLINE
    return next((t for t in found if t.type == kind), found[0])


def _remove(view: ApiView, request: Request, table: TableName, names: Sequence[str]) -> None:
    """``force=true`` with a reason also deletes what only servers have and what cannot be copied."""
    retention, force = text_param(request, "retention"), bool_param(request, "force")
    deletion.remove_segments(view.ctx, table, names, retention=retention, force=force, actor=view.actor)


def _deleted(table: TableName, names: Sequence[str]) -> Response:
    if len(names) > _NAMES_SHOWN:
        return status(f"Deleted {len(names)} segments from table: {table}")
    return status(f"Deleted segments: [{', '.join(names)}] from table: {table}")
