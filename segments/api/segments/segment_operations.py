"""Reset, reload and upload to the deep store: operations on segments that are there."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, status, text_param
from segments.errors import InvalidInput
from segments.names import REALTIME, split_table_name
from segments.services.segments import last_copies, segment_reset
from segments.services.tables import tables


class ResetSegment(ApiView):
    """Have the replicas of one segment start over."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("targetInstance",)}

    def post(self, request: Request, table: str, segment: str) -> Response:
        """On all its replicas, or one."""
        found = tables.one_table(self.ctx, table, None)
        segment_reset.reset_segment(
            self.ctx, found, segment, target=text_param(request, "targetInstance"), actor=self.actor
        )
        return status(f"Successfully reset segment: {segment} of table: {found}")


class ResetSegments(ApiView):
    """Have the replicas of all segments of a table start over."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("targetInstance", "errorSegmentsOnly")}

    def post(self, request: Request, table: str) -> Response:
        """``errorSegmentsOnly``: just the replicas in ERROR."""
        found, errors = tables.one_table(self.ctx, table, None), bool_param(request, "errorSegmentsOnly")
        segment_reset.reset_table(
            self.ctx, found, errors_only=errors, target=text_param(request, "targetInstance"), actor=self.actor
        )
        return status(f"Successfully reset {'error ' if errors else 'all '}segments of table: {found}")


class ReloadSegment(ApiView):
    """Have servers read one segment's file and the table's config again."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("forceDownload",)}

    def post(self, request: Request, table: str, segment: str) -> Response:
        """Submits; servers do it on their own."""
        kind = None if split_table_name(table)[1] else ("REALTIME" if segment.count("__") == 3 else None)
        found = tables.existing_tables(self.ctx, table, kind)[0]
        job = segment_reset.reload_segments(
            self.ctx, found, segments=[segment], force_download=bool_param(request, "forceDownload"), actor=self.actor
        )
        return status(
            f"Submitted reload job id: {job['reloadJobId']}, sent {job['numMessagesSent']} reload messages."
            f" Job meta ZK storage status: {job['reloadJobMetaZKStorageStatus']}"
        )


class ReloadSegments(ApiView):
    """Have servers read all segments of a table again."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "forceDownload")}

    def post(self, request: Request, table: str) -> Response:
        """Of a hybrid table both halves unless a type is given."""
        force = bool_param(request, "forceDownload")
        jobs = {
            t.typed: segment_reset.reload_segments(self.ctx, t, force_download=force, actor=self.actor)
            for t in tables.existing_tables(self.ctx, table, text_param(request, "type"))
        }
        return status(segment_reset.reload_status_text(jobs))


class UploadFromServers(ApiView):
    """Have servers put segments that only they have into the deep store."""

    rights = {"POST": "operate"}
    parameters = {"POST": ("segmentNames", "forceMode")}

    def post(self, request: Request, table: str) -> Response:
        """Without names nothing is uploaded, as in Pinot."""
        if split_table_name(table)[1] != REALTIME:
            raise InvalidInput(
                f"'{table}' is not a REALTIME table.", remedy=f"Use {split_table_name(table)[0]}_REALTIME."
            )
        found = tables.one_table(self.ctx, table, None)
        names = [
            s.strip() for text in request.query_params.getlist("segmentNames") for s in text.split(",") if s.strip()
        ]
        if not names:
            return status(f"No segments to upload for table: {found}")
        done = last_copies.upload_segments(
            self.ctx, found, names, is_forced=bool_param(request, "forceMode"), actor=self.actor
        )
        return status(f"Uploaded {len(done)} segment(s) to deep store for table: {found}")
