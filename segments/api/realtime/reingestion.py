"""/api/v1/tables/{table}/reingestions: segments that no server has, and the jobs that read them from the stream again.

Pinot's own path for it is on each server's port (``POST /reingestSegment/{segment}``).
"""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView
from segments.api.bodies import ReingestBody, read_body
from segments.errors import InvalidInput
from segments.services.realtime.realtime_state import realtime_table
from segments.services.realtime.reingestion import broken_segments, jobs
from segments.services.tables.table_record import read_table_config


class Reingestions(ApiView):
    """Of one table."""

    bodies = {"POST": ReingestBody}
    rights = {"POST": "operate"}
    answers = {"GET": {200: "object"}, "POST": {200: "object"}}

    def get(self, request: Request, table: str) -> Response:
        """``broken``: what reingesting each broken segment would read, and what the stream has lost of it; ``jobs``:
        the latest of every segment.
        """
        name = realtime_table(table)
        read_table_config(self.ctx, name)
        broken = [found.name for found in broken_segments.broken_segments(self.ctx, name)]
        shown = [p.to_json() for p in broken_segments.preview(self.ctx, name, broken)] if broken else []
        return Response({"broken": shown, "jobs": [job.to_json() for job in jobs.table_jobs(self.ctx, name)]})

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"segments": ["..."], "acceptLoss": false, "dryRun": false}``; without ``segments``: all that are
        broken. ``dryRun`` shows what would be read. One that is refused does not stop the others.
        """
        body, name = read_body(request, ReingestBody, optional=True), realtime_table(table)
        read_table_config(self.ctx, name)
        if body.segments == []:
            raise InvalidInput("'segments' is empty.", remedy="Name segments, or leave it out for all broken ones.")
        if body.dry_run:
            names = body.segments or [found.name for found in broken_segments.broken_segments(self.ctx, name)]
            shown = [p.to_json() for p in broken_segments.preview(self.ctx, name, names)]
            return Response({"dryRun": True, "segments": shown})
        started = jobs.reingest_all(
            self.ctx, name, body.segments, accepts_loss=bool(body.accept_loss), actor=self.actor
        )
        return Response({"jobs": [job.to_json() for job in started.jobs], "refused": started.refused})


class OneReingestion(ApiView):
    """Of one segment."""

    bodies = {"POST": ReingestBody}
    rights = {"POST": "operate", "DELETE": "operate"}
    answers = {"POST": {200: "object"}, "DELETE": {200: "object"}}

    def post(self, request: Request, table: str, segment: str) -> Response:
        """Start it: ``{"acceptLoss": false}``. 409 names the range that the stream has lost, unless that is accepted;
        the segment is then built without those rows, and its record says so.
        """
        body, name = read_body(request, ReingestBody, optional=True), realtime_table(table)
        read_table_config(self.ctx, name)
        job = jobs.reingest(self.ctx, name, segment, accepts_loss=bool(body.accept_loss), actor=self.actor)
        return Response(job.to_json())

    def delete(self, request: Request, table: str, segment: str) -> Response:
        """Cancel it. 409 when it is not under way."""
        name = realtime_table(table)
        read_table_config(self.ctx, name)
        return Response(jobs.cancel(self.ctx, name, segment, actor=self.actor).to_json())
