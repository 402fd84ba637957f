"""Instances, version and periodic tasks of the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, need_text, status, text_param
from segments.api.bodies import InstanceBody, RunBody, read_body
from segments.clusters.pinot import passes as pinot_passes
from segments.domain.pinot import capabilities
from segments.domain.upkeep.run_properties import parse_run_properties
from segments.errors import InvalidInput
from segments.names import split_table_name
from segments.services.clusters import cluster_settings, instances
from segments.services.core import audit
from segments.services.jobs.queue import start_pass
from segments.services.tables import tables
from segments.services.upkeep import passes


class Instances(ApiView):
    """All instances; register one."""

    reading = "open"
    on_pinot = frozenset(("POST",))
    bodies = {"POST": InstanceBody}
    rights = {"POST": "administer"}

    def get(self, request: Request) -> Response:
        """Names of servers, brokers and controllers that ever joined."""
        return Response({"instances": instances.list_instances(self.ctx)})

    def post(self, request: Request) -> Response:
        """Register ``{"host", "port", "type": "SERVER", "tags": [...]}``; it joins when its process starts."""
        body = read_body(request, InstanceBody)
        host, port, kind = body.host, body.port, body.type
        if not host or not kind or port is None or not 0 <= port < 1 << 16:
            raise InvalidInput(
                "An instance has a host, a port, a type and tags.", remedy='Send {"host", "port", "type", "tags"}.'
            )
        name = instances.add_instance(
            self.ctx, host=host, port=int(port), kind=kind, tags=body.tags or [], actor=self.actor
        )
        return status(f"Added instance: {name}")


class OneInstance(ApiView):
    """One instance; forget it."""

    reading = "open"
    on_pinot = frozenset(("DELETE",))
    rights = {"DELETE": "administer"}

    def get(self, request: Request, instance: str) -> Response:
        """Where it listens, its tags, whether it is enabled and alive."""
        return Response(instances.instance_json(self.ctx, instance))

    def delete(self, request: Request, instance: str) -> Response:
        """Only one that is not alive and holds nothing."""
        instances.drop_instance(self.ctx, instance, actor=self.actor)
        return status(f"Successfully dropped instance: {instance}")


class InstanceState(ApiView):
    """Take a server out of service, or let it serve again."""

    on_pinot = frozenset(("PUT",))
    rights = {"PUT": "operate"}
    parameters = {"PUT": ("state",)}

    def put(self, request: Request, instance: str) -> Response:
        """``state`` (parameter, or the body's text): ``disable`` keeps queries and new segments from it, ``enable``
        ends that.
        """
        word = (
            (text_param(request, "state") or request._request.body.decode(errors="replace")).strip().strip('"').lower()
        )
        if word not in ("enable", "disable"):
            raise InvalidInput(
                "The state of an instance is set to enable or disable.", remedy="PUT .../state?state=disable"
            )
        instances.set_instance_state(self.ctx, instance, is_enabled=word == "enable", actor=self.actor)
        return status(f"Request to {word} instance '{instance}' is successful")


class ClusterConfigs(ApiView):
    """Cluster-wide settings."""

    reading = "open"
    on_pinot = frozenset(("POST",))
    bodies = {"POST": dict[str, Any]}
    rights = {"POST": "administer"}

    def get(self, request: Request) -> Response:
        """{key: text}; secrets are masked."""
        return Response(cluster_settings.shown_settings(self.ctx))

    def post(self, request: Request) -> Response:
        """Set the keys of the body."""
        body = read_body(request, dict[str, Any])
        cluster_settings.set_settings(
            self.ctx, {k: v if isinstance(v, str) else json.dumps(v) for k, v in body.items()}, actor=self.actor
        )
        return status("Updated cluster config.")


class OneClusterConfig(ApiView):
    """One cluster-wide setting."""

    on_pinot = frozenset(("DELETE",))
    rights = {"DELETE": "administer"}

    def delete(self, request: Request, key: str) -> Response:
        """Remove it; its default holds again."""
        cluster_settings.remove_setting(self.ctx, key, actor=self.actor)
        return status(f"Deleted cluster config: {key}")


class Version(ApiView):
    """Versions."""

    reading = "open"

    def get(self, request: Request) -> Response:
        """{component: version}."""
        return Response({"pinotadmin": settings.VERSION})


class PeriodicTaskNames(ApiView):
    """The periodic tasks."""

    answers = {"GET": {200: "list"}}
    reading = "open"

    def get(self, request: Request) -> Response:
        """Their names."""
        return Response(sorted(passes.PASSES))


class RunPeriodicTask(ApiView):
    """Run a periodic task now."""

    bodies = {"POST": RunBody}
    where_lacking = {"POST": capabilities.RUN_BY_POST}
    rights = {"GET": "operate", "POST": "operate"}
    parameters = dict.fromkeys(("GET", "POST"), ("taskname", "tableName", "type"))

    def get(self, request: Request) -> Response:
        """Start one run over a table, or all; it goes on in the background."""
        return self._start(request, {})

    def post(self, request: Request) -> Response:
        """As GET, with properties of this run: ``{"repairErrorSegmentsForPartialUpsertOrDedup": "true"}``."""
        if not self.ctx.engine.offers.pass_through:
            is_form = (request.content_type or "").startswith("multipart/")  # of clients that send one without fields
            return self._start(request, {} if is_form else read_body(request, RunBody, optional=True).properties)
        name, *of = (text_param(request, key) for key in ("taskname", "tableName", "type"))
        return Response(
            pinot_passes.run_of_pinot(self.ctx, name or need_text(request, "taskname"), *of, actor=self.actor)
        )

    def table_asked(self, request: Request) -> str | None:
        """The table to run over; none: all."""
        return text_param(request, "tableName")

    def _start(self, request: Request, properties: Mapping[str, str]) -> Response:
        name = passes.check_name(need_text(request, "taskname"))
        typed = self._table(request)
        parse_run_properties(name, properties)
        task_id = start_pass(self.ctx, name, typed, properties)
        audit.record(
            self.actor, f"start {name}", cluster=self.ctx.cluster, target=typed or "", task=task_id, **properties
        )
        return Response({"taskId": task_id, "isSuccessful": True})

    def _table(self, request: Request) -> str | None:
        given, kind = text_param(request, "tableName"), text_param(request, "type")
        if given is None:
            return None
        raw, suffix = split_table_name(given)
        if kind or suffix:
            return tables.one_table(self.ctx, given, kind).typed
        found = tables.existing_tables(self.ctx, raw)
        if len(found) > 1:
            raise InvalidInput(
                f"'{raw}' is {' and '.join(t.typed for t in found)}.",
                remedy="Say which one with type=OFFLINE or REALTIME.",
            )
        return found[0].typed
