"""/schemas: Pinot's schema endpoints."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, json_body, status, text_field
from segments.domain.tables.schema import new_schema
from segments.domain.tables.schema_model import SchemaModel
from segments.services.access.read_rights import readable
from segments.services.tables import schemas
from segments.services.tables.tables import existing_tables


class Schemas(ApiView):
    """All schemas; create one, or change it with override=true (the default)."""

    answers = {"GET": {200: "list"}}
    on_pinot = frozenset(("POST",))
    bodies = {"POST": SchemaModel}
    rights = {"POST": "administer"}
    reading = "filtered"
    parameters = {"POST": ("override", "force")}

    def get(self, request: Request) -> Response:
        """Names, sorted; those that the asker may read."""
        may_read = readable(request.user, self.cluster_name)
        return Response([name for name in schemas.list_schemas(self.ctx) if may_read(name)])

    def table_asked(self, request: Request) -> str | None:
        """The schema in the body, which is named as its table."""
        return text_field(request, "schemaName") if request.method == "POST" else None

    def post(self, request: Request) -> Response:
        """Create or, unless override=false, change a schema."""
        body = json_body(request)
        schema = schemas.create_schema(self.ctx, body, override=bool_param(request, "override", True), actor=self.actor)
        return Response({"unrecognizedProperties": {}, "status": f"{schema.name} successfully added"})


class OneSchema(ApiView):
    """One schema by its name."""

    on_pinot = frozenset(("PUT", "DELETE"))
    bodies = {"PUT": SchemaModel}
    rights = {"PUT": "administer", "DELETE": "administer"}

    def get(self, request: Request, schema: str) -> Response:
        """The schema's JSON."""
        return Response(schemas.read_schema(self.ctx, schema).body)

    def put(self, request: Request, schema: str) -> Response:
        """Add columns."""
        schemas.update_schema(self.ctx, schema, json_body(request), actor=self.actor)
        return Response({"unrecognizedProperties": {}, "status": f"{schema} successfully added"})

    def delete(self, request: Request, schema: str) -> Response:
        """Delete a schema that no table uses."""
        schemas.delete_schema(self.ctx, schema, actor=self.actor)
        return status(f"Schema {schema} deleted")


class ValidateSchema(ApiView):
    """Check a schema without writing it."""

    bodies = {"POST": SchemaModel}
    reading = "open"
    rights = {"POST": "read"}

    def post(self, request: Request) -> Response:
        """The schema as understood, or 400 with the fault."""
        return Response(new_schema(json_body(request)).body)


class TableSchema(ApiView):
    """The schema of a table."""

    def get(self, request: Request, table: str) -> Response:
        """The schema's JSON; takes raw and typed names."""
        return Response(schemas.read_schema(self.ctx, existing_tables(self.ctx, table)[0].raw).body)
