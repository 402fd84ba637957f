"""Pushes over REST: start one from a job specification, follow it, cancel it (``/api/v1/pushes``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, cast

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView, bool_param, int_param, text_param
from segments.api.bodies import PushBody
from segments.api.permissions import Right
from segments.domain.formats.bounded_json import parse_json
from segments.domain.formats.bounded_yaml import MAX_CHARS
from segments.domain.formats.csv_text import csv_lines
from segments.domain.formats.json_model import read_model
from segments.domain.push.push_spec import keys_without_effect, parse_spec
from segments.errors import InvalidInput
from segments.models import Push
from segments.names import OFFLINE, TableName
from segments.services.access.read_rights import readable_pushes
from segments.services.core.context import Actor
from segments.services.core.page_addresses import address_of
from segments.services.jobs.queue import enqueue_push
from segments.services.push.push_blocked import finish_push
from segments.services.push.push_document import push_document
from segments.services.push.pushes import cancel_push, create_push, find_push
from segments.services.push.reports.document import HEADER, find_report, report_document, report_rows

_PAGE: Final = 100
_MOST: Final = 1000
#: Keys of a body that holds a specification and more.
_AROUND: Final = frozenset({"spec", "reason", "overrideChecks", "overwrite", "strictSnapshot"})


class PushesView(ApiView):
    """List pushes, newest first; start one."""

    answers = {"GET": {200: "object"}, "POST": {201: "object"}}
    bodies = {"POST": PushBody}
    rights: ClassVar[dict[str, Right]] = {"POST": "operate"}
    reading = "filtered"
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {
        "GET": ("tableName", "state", "limit"),
        "POST": ("reason", "overrideChecks", "overwrite", "strictSnapshot"),
    }

    def table_asked(self, request: Request) -> str | None:
        """The table of the job specification; who may push to some table hears what is wrong with it. Raises
        InvalidInput.

        None while there is no body: the gate asks before it is read.
        """
        raw = request._request.body if request.method == "POST" else b""
        return parse_spec(_body(raw).spec).table.typed if raw.strip() else None

    def get(self, request: Request, **_: Any) -> Response:
        """Pushes, newest first; ``tableName`` (raw), ``state`` and ``limit`` narrow them."""
        found = readable_pushes(Push.objects.filter(cluster=self.ctx.cluster), request.user)
        if table := text_param(request, "tableName"):
            found = found.filter(table_name=table)
        if state := text_param(request, "state"):
            found = found.filter(state=state.upper())
        limit = min(max(int_param(request, "limit") or _PAGE, 1), _MOST)
        return Response({"pushes": [push_document(p) for p in found.defer("plan")[:limit]]})

    def post(self, request: Request, **_: Any) -> Response:
        """Start a push. The body is Pinot's job specification, YAML or JSON, or an object with ``spec`` and what
        follows.

        ``reason``, ``overrideChecks`` (the reason for which the table's checks may fail) and ``overwrite`` (true:
        segments of the same names are replaced; without it a push that would do that is refused with 409, names and
        rows) and ``strictSnapshot`` (true: a push that replaces the whole table fails instead of switching when
        segments were added since its start; else it lists them in ``uncoveredSegments``) may also be parameters.
        ``withoutEffect`` of the answer names keys that change nothing here.
        """
        asked = _body(request._request.body)
        actor = self.actor
        actor = Actor(actor.name, asked.reason or text_param(request, "reason") or actor.reason, actor.address)
        override = asked.override_checks or text_param(request, "overrideChecks") or ""
        overwrite = asked.overwrite or bool_param(request, "overwrite")
        push = create_push(
            self.ctx,
            asked.spec,
            actor,
            roots=wiring.input_roots(),
            override_checks=override,
            overwrite=overwrite,
            strict_snapshot=asked.strict_snapshot or bool_param(request, "strictSnapshot"),
        )
        enqueue_push(self.ctx, str(push.pk))
        idle = keys_without_effect(parse_spec(asked.spec).body)
        document = {**push_document(push), **({"withoutEffect": idle} if idle else {})}
        return Response(document, status=201, headers={"Location": address_of(f"/api/v1/pushes/{push.pk}")})


class PushView(ApiView):
    """One push with all its segments."""

    def table_asked(self, request: Request) -> str | None:
        """The push's table."""
        return TableName(find_push(self.ctx, self.kwargs["push_id"]).table_name, OFFLINE).typed

    def get(self, request: Request, push_id: str, **_: Any) -> Response:
        """State, stage, progress, seconds per stage, error, and every segment. 404 when there is none."""
        push = find_push(self.ctx, push_id)
        segments = push.segments.values("ordinal", "name", "state", "source", "rows", "bytes", "crc")
        return Response({**push_document(push), "spec": push.spec, "segments": list(segments)})


class PushReportView(ApiView):
    """What a push found in its input."""

    rights: ClassVar[dict[str, Right]] = {"GET": "query"}

    def table_asked(self, request: Request) -> str | None:
        """The push's table: the report holds values of its rows."""
        return TableName(find_push(self.ctx, self.kwargs["push_id"]).table_name, OFFLINE).typed

    def get(self, request: Request, push_id: str, **_: Any) -> Response:
        """Columns that were ignored, defaults used by column, bad rows with file, line and value (the first 1,000).
        404: none yet.
        """
        push = find_push(self.ctx, push_id)
        return Response(report_document(push, find_report(push)))


class PushReportCsvView(PushReportView):
    """The same as CSV."""

    answers = {"GET": {200: "csv"}}

    def get(self, request: Request, push_id: str, **_: Any) -> Response:
        """One line for each finding; texts that a spreadsheet would run have an apostrophe before them."""
        push = find_push(self.ctx, push_id)
        text = "".join(csv_lines(HEADER, report_rows(push, find_report(push))))
        answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="push-{push.pk}.csv"'
        return cast(Response, answer)


class _OfAPush(ApiView):
    """A change of one push."""

    rights: ClassVar[dict[str, Right]] = {"POST": "operate"}

    def table_asked(self, request: Request) -> str | None:
        """The push's table."""
        return TableName(find_push(self.ctx, self.kwargs["push_id"]).table_name, OFFLINE).typed


class PushCancelView(_OfAPush):
    """Cancel a push."""

    def post(self, request: Request, push_id: str, **_: Any) -> Response:
        """Stop it and take back what it did. 409 when it is finished or already switching."""
        return Response(push_document(cancel_push(self.ctx, push_id, self.actor)))


class PushFinishView(_OfAPush):
    """Finish a push that the table's checks blocked."""

    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"POST": ("overrideChecks",)}

    def post(self, request: Request, push_id: str, **_: Any) -> Response:
        """Try the switch again; with overrideChecks=<reason> failed checks do not stop it. 409 unless the push is
        BLOCKED.
        """
        push = finish_push(self.ctx, push_id, text_param(request, "overrideChecks") or "", self.actor)
        enqueue_push(self.ctx, str(push.pk))
        return Response(push_document(push))


@dataclass(frozen=True)
class _Asked:
    """What the body of a new push says: the specification as values or text, and what goes with it."""

    spec: Any
    reason: str = ""
    override_checks: str = ""
    overwrite: bool = False
    strict_snapshot: bool = False


def _body(raw: bytes) -> _Asked:
    """The body of a request: a specification alone, or an object that holds one. Raises InvalidInput."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "The body is not UTF-8 text.", remedy="Send the job specification as YAML or JSON."
        ) from error
    if not text.strip():
        raise InvalidInput("The request has no body.", remedy="Send the job specification as YAML or JSON.")
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"The body has {len(text)} characters; at most {MAX_CHARS} are allowed.")
    if not text.lstrip().startswith("{"):
        return _Asked(text)  # YAML
    try:
        body = parse_json(text, what="The body")
    except InvalidInput:
        return _Asked(text)  # the reader of specifications says what is wrong
    if not isinstance(body, dict) or not set(body) <= _AROUND:
        return _Asked(text)
    given = read_model(PushBody, body, "the request's body")
    flags = given.overwrite is True, given.strict_snapshot is True
    return _Asked(given.spec, given.reason or "", given.override_checks or "", *flags)
