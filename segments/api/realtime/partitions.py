"""What Pinot lacks for realtime tables: pause of partitions, resume from chosen offsets with a dry run, losses of
stream data.
"""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView
from segments.api.bodies import PartitionsBody, read_body
from segments.api.realtime.consumption import parse_word
from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput
from segments.services.realtime import consumption, lag, resume_plan
from segments.services.realtime.consumers import read_consumers
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.realtime_state import realtime_table
from segments.store.records.data_loss import read_data_loss


class PausePartitions(ApiView):
    """Pause single partitions of a table."""

    bodies = {"POST": PartitionsBody}
    rights = {"POST": "operate"}

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"partitions": [0], "comment": "..."}``."""
        body = read_body(request, PartitionsBody, optional=True)
        comment = body.comment
        return Response(
            consumption.pause_partitions(
                self.ctx, realtime_table(table), _partitions(body), comment=comment, actor=self.actor
            )
        )


class ResumePartitions(ApiView):
    """Resume single partitions of a table."""

    bodies = {"POST": PartitionsBody}
    rights = {"POST": "operate"}

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"partitions": [0], "consumeFrom": "lastConsumed"}``."""
        body = read_body(request, PartitionsBody, optional=True)
        return Response(
            consumption.resume_partitions(
                self.ctx, realtime_table(table), _partitions(body), start=_start(body), actor=self.actor
            )
        )


class ResumeFromOffsets(ApiView):
    """Resume a table from offsets of the caller's choice."""

    bodies = {"POST": PartitionsBody}
    rights = {"POST": "operate"}

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"offsets": {"0": "150"}, "consumeFrom": "lastConsumed", "comment": "...", "dryRun": true}``.

        A dry run (the default) changes nothing and says per partition where it would begin and which rows that skips
        or repeats.
        """
        body = read_body(request, PartitionsBody, optional=True)
        start, name = _start(body), realtime_table(table)
        if body.dry_run is not False:
            plan = resume_plan.plan_resume(self.ctx, name, start)
            return Response({"tableName": name.typed, "dryRun": True, "partitions": [p.to_json() for p in plan]})
        done = consumption.resume_table(self.ctx, name, start=start, comment=body.comment, actor=self.actor)
        return Response({"tableName": name.typed, "dryRun": False, **done})


class Lag(ApiView):
    """How far each partition is behind its stream."""

    def get(self, request: Request, table: str) -> Response:
        """Messages and milliseconds, now and over the last day (a sample a minute)."""
        return Response(lag.lag_json(self.ctx, realtime_table(table)))


class DataLosses(ApiView):
    """Ranges of the table's streams that were not read: they were gone before, or were skipped."""

    def get(self, request: Request, table: str) -> Response:
        """The last ones, oldest first."""
        losses = read_data_loss(self.ctx.store, realtime_table(table).typed)
        rows = [
            {
                "partition": x.partition,
                "from": x.start,
                "to": x.end,
                "segment": x.segment,
                "atMs": x.at_ms,
                "isSkipped": x.is_skipped,
                "count": x.count,
            }
            for x in losses
        ]
        return Response({"losses": rows})


class Consumers(ApiView):
    """What each replica of a consuming segment is doing."""

    def get(self, request: Request, table: str) -> Response:
        """Why it waits, rows and bytes in memory, and messages that gave no row: how many, and the first of them."""
        return Response({"consumers": [c.to_json() for c in read_consumers(self.ctx, realtime_table(table))]})


def _partitions(body: PartitionsBody) -> list[int]:
    if not body.partitions:
        raise InvalidInput("'partitions' must be a list of partition numbers.", remedy='Send {"partitions": [0, 1]}.')
    return body.partitions


def _start(body: PartitionsBody) -> StartFrom:
    numbered = {}
    for partition, offset in (body.offsets or {}).items():
        number = whole_number(partition)
        if number is None:
            raise InvalidInput("'offsets' must be an object {partition: offset}.", remedy='For example {"0": "150"}.')
        numbered[number] = str(offset)
    return StartFrom(parse_word(body.consume_from), numbered, is_chosen=body.consume_from is not None)
