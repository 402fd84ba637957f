"""/tables: Pinot's table endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView, bool_param, json_body, need_text, status, text_field, text_param
from segments.domain.formats.bounded_json import parse_json
from segments.domain.realtime.first_starts import parse_watermarks
from segments.domain.realtime.realtime_table import pauseless_risks, reset_without_effect
from segments.domain.tables import keyed_settings
from segments.domain.tables.secret_masks import mask
from segments.domain.tables.table_config import TableConfig
from segments.domain.tables.table_model import TableModel
from segments.errors import InvalidInput
from segments.names import REALTIME, TABLE_TYPES, parse_table_type, split_table_name
from segments.services.access.read_rights import readable, reads_all
from segments.services.core.context import Context
from segments.services.schedules import task_check
from segments.services.segments import segments
from segments.services.tables import statistics, tables
from segments.services.tables.replica_warnings import replica_warnings
from segments.services.tables.table_record import read_table_config
from segments.services.tables.table_secrets import reveal_secrets, secrets_masked_in_errors, with_stored_secrets


class Tables(ApiView):
    """All tables; create one."""

    on_pinot = frozenset(("POST",))
    bodies = {"POST": TableModel}
    rights = {"POST": "administer"}
    reading = "filtered"
    parameters = {"GET": ("type",), "POST": ("watermarks",)}

    def get(self, request: Request) -> Response:
        """Raw names, or typed names when a type is given; those that the asker may read."""
        kind = parse_table_type(text_param(request, "type"))
        if reads_all(request.user):
            return Response({"tables": tables.list_tables(self.ctx, kind)})
        may_read = readable(request.user, self.cluster_name)
        typed = [
            t for each in ([kind] if kind else TABLE_TYPES) for t in tables.list_tables(self.ctx, each) if may_read(t)
        ]
        return Response({"tables": typed if kind else sorted({split_table_name(t)[0] for t in typed})})

    def table_asked(self, request: Request) -> str | None:
        """The table that the body would make."""
        return text_field(request, "tableName") if request.method == "POST" else None

    def post(self, request: Request) -> Response:
        """Create a table; its schema must be there.

        ``watermarks``: the JSON list that ``consumerWatermarks`` of another table answered; each partition of a
        REALTIME table that it names goes on with that sequence number at that offset.
        """
        text = text_param(request, "watermarks")
        marks = {} if text is None else parse_watermarks(parse_json(text, what="'watermarks'"))
        config = tables.create_table(self.ctx, json_body(request), actor=self.actor, watermarks=marks)
        return Response(_answer(self.ctx, config, status=f"Table {config.table} successfully added"))


class OneTable(ApiView):
    """One table by its raw or typed name."""

    on_pinot = frozenset(("PUT", "DELETE"))
    bodies = {"PUT": TableModel}
    rights = {"PUT": "administer", "DELETE": "administer"}
    parameters = {"GET": ("type",), "DELETE": ("type", "retention", "force")}

    def get(self, request: Request, table: str) -> Response:
        """{type: config} for each type that exists; secrets are masked (``*****``)."""
        found = tables.existing_tables(self.ctx, table, text_param(request, "type"))
        return Response({t.type: mask(read_table_config(self.ctx, t).body) for t in found})

    def put(self, request: Request, table: str) -> Response:
        """Change the config. What is masked in it stays as it is stored."""
        config = tables.update_table(self.ctx, table, json_body(request), actor=self.actor)
        return Response(_answer(self.ctx, config, status=f"Table config updated for {config.table}"))

    def delete(self, request: Request, table: str) -> Response:
        """Drop the table; of a hybrid one both halves unless a type is given."""
        found = tables.existing_tables(self.ctx, table, text_param(request, "type"))
        force = bool_param(request, "force")
        for each in found:
            tables.delete_table(
                self.ctx, each, retention=text_param(request, "retention"), force=force, actor=self.actor
            )
        return status(f"Tables: [{', '.join(t.typed for t in found)}] deleted")


class ValidateTable(ApiView):
    """Check a table config without writing it."""

    on_pinot = frozenset(("POST",))
    bodies = {"POST": TableModel}
    rights = {"POST": "read"}

    def table_asked(self, request: Request) -> str | None:
        """The table of the body, which may exist."""
        return text_field(request, "tableName")

    def post(self, request: Request) -> Response:
        """{type: config} as understood, or 400 with the fault."""
        body = with_stored_secrets(self.ctx, json_body(request))
        with secrets_masked_in_errors(body):
            config, _ = tables.validate_table(self.ctx, body)
        return Response(_answer(self.ctx, config, **{config.table.type: mask(config.body)}))


class TableSecrets(ApiView):
    """The secrets of a table's config, for those who may administer it."""

    rights = {"POST": "administer"}
    parameters = {"POST": ("type", "reason")}

    def post(self, request: Request, table: str) -> Response:
        """{type: [{"path": ..., "value": ...}]}. The reason is required (``X-Reason`` or ``reason``); it goes into the
        audit record.
        """
        found = tables.existing_tables(self.ctx, table, text_param(request, "type"))
        shown = {t.type: reveal_secrets(self.ctx, t, actor=self.actor) for t in found}
        return Response(shown, headers={"Cache-Control": "no-store"})


class TableStates(ApiView):
    """Ideal state or external view of a table."""

    parameters = {"GET": ("tableType",)}
    observed = False

    def get(self, request: Request, table: str) -> Response:
        """{"OFFLINE": {segment: {instance: state}}, "REALTIME": ...}; null for a type that the table has not."""
        found = tables.existing_tables(self.ctx, table, text_param(request, "tableType") or text_param(request, "type"))
        states = {t.type: segments.read_states(self.ctx, t, observed=self.observed) for t in found}
        return Response({"OFFLINE": states.get("OFFLINE"), "REALTIME": states.get("REALTIME")})


class TableState(ApiView):
    """Whether a table is enabled; enable or disable it."""

    on_pinot = frozenset(("PUT",))
    rights = {"PUT": "administer"}
    parameters = {"GET": ("type",), "PUT": ("type", "state")}

    def get(self, request: Request, table: str) -> Response:
        """{"state": "enabled"} or disabled."""
        found = tables.existing_tables(self.ctx, table, text_param(request, "type"))[0]
        return Response({"state": "enabled" if tables.is_table_enabled(self.ctx, found) else "disabled"})

    def put(self, request: Request, table: str) -> Response:
        """``state`` is enable or disable."""
        wanted = need_text(request, "state").lower()
        if wanted not in ("enable", "disable"):
            raise InvalidInput(f"'state' is '{wanted}'.", remedy="Use enable or disable.")
        found = tables.one_table(self.ctx, table, need_text(request, "type"))
        tables.set_table_enabled(self.ctx, found, wanted == "enable", actor=self.actor)
        return status(f"Request to {wanted} table '{found}' is successful")


class TableSize(ApiView):
    """What a table takes on the servers' disks."""

    def get(self, request: Request, table: str) -> Response:
        """Bytes per segment and server, as live servers report them."""
        return Response(statistics.table_size(self.ctx, tables.existing_tables(self.ctx, table), _sizes))


class TableMetadata(ApiView):
    """Rows and segments of a table."""

    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str) -> Response:
        """Sums over the table's segments; the type is required."""
        need_text(request, "type")
        found = tables.one_table(self.ctx, table, text_param(request, "type"))
        return Response(statistics.table_metadata(self.ctx, found))


def _answer(ctx: Context, config: TableConfig, **more: Any) -> dict[str, Any]:
    """Pinot's answer to a config; with ``warnings``, which are ours, where its tasks, keys or replicas give reason for
    them.
    """
    found = [*task_check.warnings(ctx, config), *pauseless_risks(config), *replica_warnings(ctx, config)]
    if ctx.engine.offers.own_processes:
        found += [
            {"key": key, "problem": f"'{key}' has no effect: {why}.", "remedy": "Leave it out.", "isWrong": False}
            for key, why in keyed_settings.ineffective(config).items()
        ]
        found += reset_without_effect(config) if config.table.type == REALTIME else []
    return {"unrecognizedProperties": {}, **more, **({"warnings": found} if found else {})}


def _sizes(admin_url: str, typed: str) -> Mapping[str, int]:
    return wiring.servers().table_size(admin_url, typed).segments
