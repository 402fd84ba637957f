"""/api/v1/tables/{table}/config: a table's config and schema, changed on the version that was read, and their
history.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, text_param
from segments.api.bodies import EditBody, PreviewBody, VersionBody, read_body
from segments.errors import Forbidden, InvalidInput, PreconditionFailed, StateConflict
from segments.models import ConfigVersion
from segments.names import TableName
from segments.services.access.rights import has_right
from segments.services.core.context import Actor
from segments.services.tables.edits.documents import read_documents
from segments.services.tables.edits.preview import EditPreview, preview_edit
from segments.services.tables.edits.reverting import edit_of
from segments.services.tables.edits.saving import save_edit
from segments.services.tables.edits.versions import body_of, changes_of, history_of, version_row
from segments.services.tables.tables import existing_tables

_PAGE: Final = 50
_MOST: Final = 200


class _Edit(ApiView):
    """What these addresses share: which table is meant, and that a schema belongs to both halves of a table."""

    def table_of(self, request: Request, table: str) -> TableName:
        """The one table of that name. InvalidInput when there are two and no type is given."""
        found = existing_tables(self.ctx, table, text_param(request, "type"))
        if len(found) > 1:
            raise InvalidInput(f"'{table}' is two tables.", remedy="Add type=OFFLINE or type=REALTIME.")
        return found[0]

    def save(self, request: Request, table: TableName, documents: dict[str, Any], asked: EditBody) -> Response:
        """Save the documents on the version that the header or the body names."""
        header = request.headers.get("If-Match", "").strip().strip('"')
        expected = header or asked.version or ""
        if not expected:
            raise InvalidInput(
                "Which version is changed is not said.",
                remedy=f"Send the ETag of GET /api/v1/tables/{table}/config as If-Match, or its 'version' in the body.",
                field="version",
            )
        if "schema" in documents and not has_right(request.user, "administer", self.cluster_name, table.raw):
            stays = read_documents(self.ctx, table).schema == documents["schema"]
            if not stays:
                raise Forbidden(
                    f"Schema '{table.raw}' belongs to both tables of this name.",
                    remedy=f"It takes the right to administer '{table.raw}'.",
                )
        actor = Actor(self.actor.name, asked.reason or self.actor.reason, self.actor.address)
        try:
            done = save_edit(self.ctx, table, **documents, expected=expected, actor=actor)
        except StateConflict as error:
            if header and error.data.get("field") == "version":
                raise PreconditionFailed(error.message, remedy=error.remedy, **error.data) from error
            raise
        now = read_documents(self.ctx, table).version
        return Response({**_shown(done), "version": now}, headers={"ETag": f'"{now}"'})


class TableDocuments(_Edit):
    """A table's config and schema with their version."""

    bodies = {"PUT": EditBody}
    rights = {"PUT": "administer"}
    parameters = {"GET": ("type",), "PUT": ("type", "reason")}

    def get(self, request: Request, table: str) -> Response:
        """``config`` and ``schema`` as they are stored, secrets masked; ``version``, which is the ETag, too, is what a
        change names.
        """
        found = read_documents(self.ctx, self.table_of(request, table))
        body = {
            "table": found.table.typed, "version": found.version, "config": found.config, "schema": found.schema
        }  # fmt: skip
        return Response(body, headers={"ETag": f'"{found.version}"'})

    def put(self, request: Request, table: str) -> Response:
        """Change ``config``, ``schema`` or both; what is left out stays, as do secrets that are masked. 412 with
        If-Match, 409 with ``version`` in the body when somebody changed either since; then nothing is written.

        The schema is written first. It may get columns; what exists of it keeps type, kind and format.
        """
        asked = read_body(request, EditBody)
        documents = {k: v for k, v in (("config", asked.config), ("schema", asked.schema)) if v is not None}
        return self.save(request, self.table_of(request, table), documents, asked)


class PreviewTableEdit(_Edit):
    """What a change of a table's config and schema would do."""

    bodies = {"POST": PreviewBody}
    rights = {"POST": "administer"}
    parameters = {"POST": ("type",)}

    def post(self, request: Request, table: str) -> Response:
        """``differences`` line by line, ``consequences`` in sentences, ``refusals`` with the field that is wrong. An
        answer without refusals can be saved as long as ``version`` is the same.
        """
        asked = read_body(request, PreviewBody)
        found = preview_edit(self.ctx, self.table_of(request, table), asked.config, asked.schema)
        return Response(found.to_json())


class ConfigHistory(_Edit):
    """The versions of a table's config and schema."""

    parameters = {"GET": ("type", "before", "limit")}

    def get(self, request: Request, table: str) -> Response:
        """Newest first: when, who, why, and what differs from the version before. ``before``: only those before this
        id. Who changed it past this installation, such as over Pinot's own REST API, is not known (``actor`` "").
        """
        found = self.table_of(request, table)
        limit, before = int_param(request, "limit"), int_param(request, "before")
        if limit is not None and not 0 < limit <= _MOST:
            raise InvalidInput(f"'limit' must be from 1 to {_MOST}.")
        rows = history_of(self.ctx, found)
        if before is not None:
            rows = rows.filter(pk__lt=min(max(before, 0), 2**63 - 1))
        listed = list(rows.order_by("-pk")[: (limit or _PAGE) + 1])
        shown = listed[: limit or _PAGE]
        return Response({
            "table": found.typed, "versions": [_version(r) for r in shown], "more": len(listed) > len(shown)
        })  # fmt: skip


class OneConfigVersion(_Edit):
    """One version of a table's config or schema."""

    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str, number: int) -> Response:
        """The version with its document (``body``), secrets masked; null: it was deleted."""
        row = version_row(self.ctx, self.table_of(request, table), number)
        return Response({**_version(row), "body": body_of(row)})


class RevertConfig(_Edit):
    """Make a version the present one again."""

    bodies = {"POST": VersionBody}
    rights = {"POST": "administer"}
    parameters = {"POST": ("type", "dryRun", "reason")}

    def post(self, request: Request, table: str, number: int) -> Response:
        """An ordinary change to what the version holds: checked again, on the ``version`` that was read, with the
        secrets that are stored now. With dryRun=true only say what it would do.
        """
        asked = read_body(request, VersionBody, optional=True)
        found = self.table_of(request, table)
        documents = edit_of(self.ctx, found, number)
        if bool_param(request, "dryRun"):
            return Response(preview_edit(self.ctx, found, **documents).to_json())
        return self.save(request, found, documents, EditBody(version=asked.version, reason=asked.reason))


def _shown(done: EditPreview) -> dict[str, Any]:
    return {key: value for key, value in done.to_json().items() if key != "refusals"}


def _version(row: ConfigVersion) -> dict[str, Any]:
    return {
        "id": row.pk,
        "document": row.document,
        "number": row.number,
        "at": f"{row.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        "actor": row.actor,
        "reason": row.reason,
        "deleted": not row.version,
        "differences": [d.to_json() for d in changes_of(row)],
    }
