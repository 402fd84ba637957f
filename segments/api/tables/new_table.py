"""/api/v1/uploads, /api/v1/tables/infer, /api/v1/tables/load: from a file to a table."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Final

from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView, need_text, text_field, text_param
from segments.api.bodies import InferBody, LoadBody, read_body
from segments.errors import InvalidInput
from segments.services.core.context import Actor
from segments.services.core.page_addresses import address_of
from segments.services.jobs.queue import enqueue_push
from segments.services.push.push_document import push_document
from segments.services.tables.design.creation import create_and_push
from segments.services.tables.design.inferred_stream import StreamWish, infer_stream_table
from segments.services.tables.design.inferred_table import InputWish, infer_table
from segments.services.tables.design.uploads import KEPT_S, find_upload, named_as_sent, room_for, save_upload
from segments.services.tables.replica_warnings import replica_warnings

#: Rows that an answer shows.
_SHOWN: Final = 50


class _LeftAlone(BaseParser):
    """The body is not a form, of whatever type it says it is; the view reads it in pieces."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        """Nothing: the check of the CSRF token asks for a form's values."""
        return {}


class Uploads(ApiView):
    """Send a file of which a table is to be made."""

    parser_classes = (_LeftAlone,)
    rights = {"POST": "administer"}
    answers = {"POST": {201: "object"}}
    parameters = {"POST": ("name", "tableName")}

    def table_asked(self, request: Request) -> str | None:
        """The table that is to be made of it."""
        return text_param(request, "tableName")

    @property
    def largest_body(self) -> int:
        """As much as there is room for."""
        return room_for(self.request.user.get_username())

    def post(self, request: Request) -> Response:
        """The body is the file itself; ``name`` is its name. It is kept for a day, for whoever sent it: the answer's
        ``upload`` names it for ``/api/v1/tables/infer``, ``inputDirURI`` for a push.
        """
        if (request.content_type or "").startswith("multipart/"):
            raise InvalidInput(
                "The body is a form.", remedy="Send the file itself, with Content-Type: application/octet-stream."
            )
        name = need_text(request, "name")
        length = str(request.META.get("CONTENT_LENGTH") or "")
        saved = save_upload(self.ctx, name, int(length) if length.isdigit() else None, request._request, self.actor)
        expires = datetime.fromtimestamp(saved.began_s + KEPT_S, UTC).isoformat(timespec="seconds")
        found = {"upload": saved.id, "name": saved.path.name, "bytes": saved.size, "inputDirURI": saved.folder}
        return Response({**found, "expires": expires}, status=201)


class InferTable(ApiView):
    """What a table of some files, or of a stream, would be."""

    bodies = {"POST": InferBody}
    rights = {"POST": "administer"}

    def table_asked(self, request: Request) -> str | None:
        """The table that is to be made of them."""
        return text_field(request, "tableName")

    def post(self, request: Request) -> Response:
        """Columns with types and counts, the suggested ``schema`` and ``tableConfig``, the ``job`` that pushes the
        files, and the first 50 rows. The beginning of the first file is read; nothing is written.

        With ``stream`` its first messages are read instead, and there is no ``job``: the table that ``POST /schemas``
        and ``POST /tables`` make of the documents consumes from then on.
        """
        asked = read_body(request, InferBody)
        if sum(map(bool, (asked.upload, asked.input_dir, asked.stream))) != 1:
            raise InvalidInput(
                "One of 'upload', 'inputDirURI' and 'stream' says where the rows are.", remedy="Give one of them.",
                field="inputDirURI",
            )  # fmt: skip
        if asked.stream:
            wish_of_stream = StreamWish(asked.stream, asked.table_name or "")
            return Response(infer_stream_table(self.ctx, wish_of_stream).to_json(_SHOWN))
        folder = find_upload(self.actor.name, asked.upload).folder if asked.upload else str(asked.input_dir)
        wish = InputWish(
            folder, asked.table_name or "", asked.include_file_name_pattern, asked.pinot_fs_specs,
            asked.record_reader_spec, asked.has_header,
        )  # fmt: skip
        with named_as_sent(folder) if asked.upload else nullcontext():
            return Response(infer_table(self.ctx, wish, roots=wiring.input_roots()).to_json(_SHOWN))


class LoadTable(ApiView):
    """Create a table with its schema and push its first rows."""

    bodies = {"POST": LoadBody}
    rights = {"POST": "administer"}
    answers = {"POST": {201: "object"}}

    def table_asked(self, request: Request) -> str | None:
        """The new table."""
        return text_field(request, "tableName")

    def post(self, request: Request) -> Response:
        """Answers with the push, which runs, and with ``warnings`` where the table asks for more replicas than there
        are servers. When a step is refused, nothing is left of the earlier ones.
        """
        asked = read_body(request, LoadBody)
        actor = Actor(self.actor.name, asked.reason or self.actor.reason, self.actor.address)
        push = create_and_push(
            self.ctx, asked.table_name, asked.schema, asked.table_config, asked.job, actor=actor,
            roots=wiring.input_roots(),
        )  # fmt: skip
        enqueue_push(self.ctx, str(push.pk))
        risks = replica_warnings(self.ctx, self.ctx.engine.tables.parse_config(asked.table_config))
        answer = {**push_document(push), **({"warnings": risks} if risks else {})}
        return Response(answer, status=201, headers={"Location": address_of(f"/api/v1/pushes/{push.pk}")})
