"""What Pinot lacks for realtime tables: pause of partitions, resume from chosen offsets with a dry run, losses of stream data."""

from __future__ import annotations

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, json_body
from segments.api.realtime import parse_word
from segments.errors import InvalidInput
from segments.services import consumption, lag, resume_plan
from segments.services.consumers import read_consumers
from segments.services.consuming_segments import StartFrom
from segments.services.realtime_state import realtime_table
from segments.store.data_loss import read_data_loss


class PausePartitions(ApiView):
    """Pause single partitions of a table."""

    rights = {"POST": "operate"}

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"partitions": [0], "comment": "..."}``."""
        body = _object(request)
        comment = _comment(body)
        return Response(consumption.pause_partitions(self.ctx, realtime_table(table), _partitions(body), comment=comment, actor=self.actor))


class ResumePartitions(ApiView):
    """Resume single partitions of a table."""

    rights = {"POST": "operate"}

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"partitions": [0], "consumeFrom": "lastConsumed"}``."""
        body = _object(request)
        return Response(
            consumption.resume_partitions(self.ctx, realtime_table(table), _partitions(body), start=_start(body), actor=self.actor)
        )


class ResumeFromOffsets(ApiView):
    """Resume a table from offsets of the caller's choice."""

    rights = {"POST": "operate"}

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"offsets": {"0": "150"}, "consumeFrom": "lastConsumed", "comment": "...", "dryRun": true}``.

        A dry run (the default) changes nothing and tells per partition where it would begin and which rows that skips or repeats.
        """
        body = _object(request)
        start, name = _start(body), realtime_table(table)
        if body.get("dryRun", True) is not False:
            plan = resume_plan.plan_resume(self.ctx, name, start)
            return Response({"tableName": name.typed, "dryRun": True, "partitions": [p.to_json() for p in plan]})
        done = consumption.resume_table(self.ctx, name, start=start, comment=_comment(body), actor=self.actor)
        return Response({"tableName": name.typed, "dryRun": False, **done})


class Lag(ApiView):
    """How far each partition is behind its stream."""

    def get(self, request: Request, table: str) -> Response:
        """Messages and milliseconds, now and over the last day (a sample a minute)."""
        return Response(lag.lag_json(self.ctx, realtime_table(table)))


class DataLosses(ApiView):
    """Ranges of the table's streams that were gone before they were read."""

    def get(self, request: Request, table: str) -> Response:
        """The last ones, oldest first."""
        losses = read_data_loss(self.ctx.store, realtime_table(table).typed)
        rows = [{"partition": x.partition, "from": x.start, "to": x.end, "segment": x.segment, "atMs": x.at_ms} for x in losses]
        return Response({"losses": rows})


class Consumers(ApiView):
    """What each replica of a consuming segment is doing."""

    def get(self, request: Request, table: str) -> Response:
        """Why it waits, rows and bytes in memory, and messages that gave no row: how many, and the first of them."""
        return Response({"consumers": [c.to_json() for c in read_consumers(self.ctx, realtime_table(table))]})


def _object(request: Request) -> dict[str, Any]:
    body = json_body(request, optional=True)
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise InvalidInput("The body must be a JSON object.")
    return body


def _comment(body: dict[str, Any]) -> str | None:
    comment = body.get("comment")
    if comment is not None and not isinstance(comment, str):
        raise InvalidInput("'comment' must be text.")
    return comment


def _partitions(body: dict[str, Any]) -> list[int]:
    given = body.get("partitions")
    if not isinstance(given, list) or not given or not all(isinstance(p, int) and not isinstance(p, bool) for p in given):
        raise InvalidInput("'partitions' must be a list of partition numbers.", remedy='Send {"partitions": [0, 1]}.')
    return given


def _start(body: dict[str, Any]) -> StartFrom:
    offsets = {} if body.get("offsets") is None else body["offsets"]
    try:
        numbered = {int(p): str(o) for p, o in offsets.items()}
    except (AttributeError, ValueError) as error:
        raise InvalidInput("'offsets' must be an object {partition: offset}.", remedy='For example {"0": "150"}.') from error
    return StartFrom(parse_word(body.get("consumeFrom")), numbered, is_chosen=body.get("consumeFrom") is not None)


urlpatterns = [
    path("api/v1/tables/<str:table>/pausePartitions", PausePartitions.as_view()),
    path("api/v1/tables/<str:table>/resumePartitions", ResumePartitions.as_view()),
    path("api/v1/tables/<str:table>/resumeConsumption", ResumeFromOffsets.as_view()),
    path("api/v1/tables/<str:table>/lag", Lag.as_view()),
    path("api/v1/tables/<str:table>/consumers", Consumers.as_view()),
    path("api/v1/tables/<str:table>/dataLosses", DataLosses.as_view()),
]
