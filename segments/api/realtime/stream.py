"""/api/v1/tables/{table}/stream: what waits in a realtime table's stream, and messages of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, int_param, text_param
from segments.domain.formats.moment import moment_of
from segments.errors import Forbidden, InvalidInput, NotFound
from segments.models import Table
from segments.services.realtime.messages.browsing import MOST_SHOWN, PLACES, MessageWish, browse, document
from segments.services.realtime.monitor import series
from segments.services.realtime.realtime_state import realtime_table
from segments.services.set_aside.listing import may_see_payloads

_DAY: Final = 24


class StreamState(ApiView):
    """Lag, rows per second and freshness of a table, as the console's page *Stream* draws them."""

    parameters = {"GET": ("hours", "partition")}
    answers = {"GET": {200: "object"}}

    def get(self, request: Request, table: str) -> Response:
        """``hours``: 1, 6 or 24 (default); ``partition``: the history of this one only, else of all together. From
        samples, one a minute: no server and no stream is asked.
        """
        name, hours, partition = realtime_table(table), int_param(request, "hours"), int_param(request, "partition")
        if hours is not None and hours not in series.HOURS:
            raise InvalidInput(f"'hours' must be 1, 6 or 24, not {hours}.", remedy="Write hours=6, or leave it out.")
        row = Table.objects.filter(cluster__name=self.ctx.cluster, name=name.typed).select_related("cluster").first()
        if row is None:
            raise NotFound(f"Table '{name}' does not exist.", remedy="List the tables with GET /tables.")
        if partition is not None and not 0 <= partition < 1 << 31:
            raise InvalidInput(f"There is no partition {partition}.", remedy="Partitions are numbered from 0 on.")
        now = datetime.fromtimestamp(self.ctx.clock() / 1000, UTC)
        return Response(series.document(row, now, hours or _DAY, partition))


class StreamMessages(ApiView):
    """Messages of one partition of a table's stream."""

    rights = {"GET": "operate"}
    parameters = {"GET": ("from", "offset", "since", "contains", "limit")}
    answers = {"GET": {200: "object"}}

    def get(self, request: Request, table: str, partition: int) -> Response:
        """The last 50, or with ``from=earliest`` the first; from ``offset`` on, or from the first one stored ``since``
        a time (ISO-8601 or epoch milliseconds). ``contains``: only those with this text. ``next`` is the offset to go
        on at. Secrets are masked. For those who may query and operate the table.
        """
        name = realtime_table(table)
        if not may_see_payloads(request.user, self.ctx.cluster, name):
            raise Forbidden(
                f"Messages of {name} are for those who may query and operate it.", remedy="Ask for the right to query."
            )
        found = browse(self.ctx, name, _wish(request, partition))
        return Response(document(found, name, partition), headers={"Cache-Control": "no-store"})


def _wish(request: Request, partition: int) -> MessageWish:
    limit = int_param(request, "limit")
    if limit is not None and not 1 <= limit <= MOST_SHOWN:
        raise InvalidInput(f"'limit' must be from 1 to {MOST_SHOWN}.", remedy="Write limit=50, or leave it out.")
    place, since = text_param(request, "from") or "latest", text_param(request, "since")
    if place not in PLACES:
        raise InvalidInput(
            "'from' must be latest or earliest.", remedy="Name an offset by 'offset', a time by 'since'."
        )
    moment = None if since is None else moment_of(since)
    if since is not None and moment is None:
        raise InvalidInput("'since' is not a time.", remedy="Write it as 2024-01-31T10:00:00Z, or in milliseconds.")
    return MessageWish(
        partition, limit or 50, text_param(request, "offset") or "", moment,
        "earliest" if place == "earliest" else "latest", text_param(request, "contains") or "",
    )  # fmt: skip
