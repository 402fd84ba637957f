"""/tableConfigs: Pinot's endpoints for all documents of one table at once."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, json_body, text_field
from segments.api.bodies import TableConfigsBody, read_body
from segments.domain.tables.secret_masks import mask
from segments.services.tables.all_documents import AllDocuments, validate_documents


class ValidateTableConfigs(ApiView):
    """Check a schema and the configs that are to use it, without writing them."""

    bodies = {"POST": TableConfigsBody}
    rights = {"POST": "read"}

    def table_asked(self, request: Request) -> str | None:
        """The table of the body, which may exist."""
        return text_field(request, "tableName")

    def post(self, request: Request) -> Response:
        """``tableName``, ``schema``, and ``offline``, ``realtime`` or both, as understood, or 400 with the fault. The
        schema need not be there, and a stored one does not count.
        """
        asked = read_body(request, TableConfigsBody)
        wanted = AllDocuments(
            asked.table_name or "", asked.schema, {"OFFLINE": asked.offline, "REALTIME": asked.realtime}
        )
        found = validate_documents(self.ctx, wanted)
        known = {"tableName", "schema", "offline", "realtime"}
        return Response({
            "tableName": asked.table_name, "schema": found.schema.body,
            **{kind.lower(): mask(config.body) for kind, config in found.configs.items()},
            "unrecognizedProperties": {f"/{k}": v for k, v in json_body(request).items() if k not in known},
        })  # fmt: skip
