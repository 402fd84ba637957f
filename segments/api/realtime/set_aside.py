"""/api/v1/tables/{table}/set-aside: stream messages that gave no row. Servers report them; people list, export and
delete them.
"""

from __future__ import annotations

import sys
from typing import Final

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, text_param
from segments.api.bodies import ReplayBody, read_body
from segments.domain.formats.plural import counted
from segments.domain.formats.whole_number import whole_number
from segments.domain.set_aside import Report
from segments.errors import InvalidInput
from segments.names import TableName
from segments.services.core.streaming import in_threads
from segments.services.realtime.realtime_state import realtime_table
from segments.services.set_aside import changes, export, keeping, listing, replay
from segments.services.set_aside.listing import Which

#: Messages of one page, and ids of one request.
_PAGE: Final = 1_000
_MOST_IDS: Final = 10_000
_WHICH: Final = ("partition", "contains", "state", "ids")
#: Bytes of a report: payloads in base64 and what is reported of each message.
_LARGEST_REPORT: Final = 8 << 20


class SetAside(ApiView):
    """Messages of a table that gave no row."""

    rights = {"POST": "administer", "DELETE": "operate"}
    for_cluster = frozenset(("POST",))
    parameters = {"GET": (*_WHICH, "offset", "limit"), "DELETE": (*_WHICH, "all", "reason")}
    bodies = {"POST": Report}
    answers = {"GET": {200: "object"}, "POST": {200: "object"}, "DELETE": {200: "object"}}

    @property
    def largest_body(self) -> int:
        """That of a server's report."""
        return _LARGEST_REPORT

    def get(self, request: Request, table: str) -> Response:
        """Newest first, with the table's numbers. Payloads, secrets masked, only for those who may query and operate
        the table.
        """
        found, which = realtime_table(table), read_which(request)
        offset, limit = _page(request)
        keeping.check_table(self.ctx, found)
        chosen = listing.chosen(self.ctx, found, which)
        total = chosen.count()
        sees = listing.may_see_payloads(request.user, self.ctx.cluster, found)
        return Response(
            {
                "table": found.typed,
                "total": total,
                "next": offset + limit if offset + limit < total else None,
                "totals": listing.totals(self.ctx.cluster, found).to_json(),
                "messages": [listing.message_json(m, with_payload=sees) for m in chosen[offset : offset + limit]],
            },
            headers={"Cache-Control": "no-store"},
        )

    def post(self, request: Request, table: str) -> Response:
        """A server's report. Sent again it changes nothing."""
        report = read_body(request, Report)
        return Response({"status": "kept", "new": keeping.keep_report(self.ctx, realtime_table(table), report)})

    def delete(self, request: Request, table: str) -> Response:
        """Delete those that ``ids``, ``partition`` and ``contains`` name, or with ``all=true`` all that wait. A reason
        is required.
        """
        which = read_which(request)
        if which.ids is None and which.partition is None and not which.reason and not bool_param(request, "all"):
            raise InvalidInput(
                "The request does not name the messages to delete.",
                remedy="Name them by 'ids', 'partition' or 'contains', or add all=true.",
            )
        deleted = changes.delete_messages(self.ctx, realtime_table(table), which, actor=self.actor)
        return Response({"status": f"Deleted {counted(deleted, 'message')}.", "deleted": deleted})


class ExportSetAside(ApiView):
    """The same as a file."""

    parameters = {"GET": (*_WHICH, "kind")}
    answers = {"GET": {200: "text"}}

    def get(self, request: Request, table: str) -> StreamingHttpResponse:
        """``kind``: csv (cells that a spreadsheet would run are neutralised) or jsonl (default). Payloads as in the
        list.
        """
        found = realtime_table(table)
        return exported(self, request, found, listing.may_see_payloads(request.user, self.ctx.cluster, found))


class RevealSetAside(ApiView):
    """The payload of one message as it came."""

    rights = {"POST": "administer"}
    parameters = {"POST": ("reason",)}

    def post(self, request: Request, table: str, number: int) -> Response:
        """The reason is required (``X-Reason`` or ``reason``); it goes into the audit record."""
        found = changes.reveal_message(self.ctx, realtime_table(table), number, actor=self.actor)
        return Response(found, headers={"Cache-Control": "no-store"})


class ReplaySetAside(ApiView):
    """Messages become rows, once the schema or the transforms fit."""

    rights = {"POST": "operate"}
    bodies = {"POST": ReplayBody}
    parameters = {"POST": ("reason",)}
    answers = {"POST": {200: "object"}}

    def post(self, request: Request, table: str) -> Response:
        """Body: ``{"ids": [17], "partition": 0, "contains": "n", "dryRun": true}``; without ids and filters all that
        wait, oldest first.

        A dry run (the default) changes nothing and says how many decode now, and of the others why not.
        """
        body, found = read_body(request, ReplayBody, optional=True), realtime_table(table)
        if body.ids is not None and len(body.ids) > _MOST_IDS:
            raise InvalidInput(f"'ids' must be at most {_MOST_IDS} numbers.", remedy="Send several requests.")
        numbers = tuple(n for n in body.ids if 0 <= n < 1 << 63) if body.ids is not None else None
        which = Which(body.partition, body.contains or "", ids=numbers)
        if body.dry_run is not False:
            return Response({"table": found.typed, "dryRun": True, **replay.preview_replay(self.ctx, found, which)})
        return Response(
            {"table": found.typed, "dryRun": False, **replay.replay_messages(self.ctx, found, which, actor=self.actor)}
        )


def exported(view: ApiView, request: Request, table: TableName, sees: bool) -> StreamingHttpResponse:
    """The file as an attachment; under ASGI piece by piece."""
    kind, is_async = export.read_format(text_param(request, "kind")), isinstance(request._request, ASGIRequest)
    pieces = export.export_messages(view.ctx, table, read_which(request), kind, with_payload=sees, lets_go=is_async)
    answer = StreamingHttpResponse(in_threads(pieces) if is_async else pieces, content_type=export.TYPES[kind])
    name = f"{table.typed}-set-aside.{kind}"
    answer["Content-Disposition"] = str(content_disposition_header(as_attachment=True, filename=name))
    answer["Cache-Control"] = "no-store"
    return answer


def read_which(request: Request) -> Which:
    """Which messages the parameters name. InvalidInput."""
    partition, ids = int_param(request, "partition"), text_param(request, "ids")
    if partition is not None and not 0 <= partition < 1 << 31:
        raise InvalidInput("'partition' must be the number of a partition.", remedy="Write partition=0.")
    return Which(
        partition, text_param(request, "contains") or "", listing.read_state(text_param(request, "state")),
        _numbers(ids.split(",")) if ids is not None else None,
    )  # fmt: skip


def _numbers(texts: list[str]) -> tuple[int, ...]:
    numbers = [whole_number(text.strip()) for text in texts]
    found = tuple(n for n in numbers if n is not None)
    if len(found) < len(numbers) or len(found) > _MOST_IDS:
        raise InvalidInput(
            f"'ids' must be at most {_MOST_IDS} numbers with commas between them.", remedy="Write ids=17,18."
        )
    return found


def _page(request: Request) -> tuple[int, int]:
    asked = int_param(request, "limit")
    offset, limit = int_param(request, "offset") or 0, 100 if asked is None else asked
    if not 0 <= offset <= sys.maxsize - limit or not 1 <= limit <= _PAGE:
        raise InvalidInput(f"'offset' must be 0 or more, 'limit' 1 to {_PAGE}.")
    return offset, limit
