"""Instances, version and periodic tasks of the cluster."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, need_text, text_param
from segments.api.task_queue import run_periodic
from segments.names import split_table_name
from segments.services import audit, instances, passes, tables


class Instances(ApiView):
    """All instances."""

    def get(self, request: Request) -> Response:
        """Names of servers, brokers and controllers that ever joined."""
        return Response({"instances": instances.list_instances(self.ctx)})


class OneInstance(ApiView):
    """One instance."""

    def get(self, request: Request, instance: str) -> Response:
        """Where it listens, its tags, whether it is enabled and alive."""
        return Response(instances.instance_json(self.ctx, instance))


class Version(ApiView):
    """Versions."""

    def get(self, request: Request) -> Response:
        """{component: version}."""
        try:
            own = version("pinotadmin")
        except PackageNotFoundError:
            own = "0.1.0"
        return Response({"pinotadmin": own})


class PeriodicTaskNames(ApiView):
    """The periodic tasks."""

    def get(self, request: Request) -> Response:
        """Their names."""
        return Response(sorted(passes.PASSES))


class RunPeriodicTask(ApiView):
    """Run a periodic task now."""

    rights = {"GET": "operate", "POST": "operate"}
    parameters = dict.fromkeys(("GET", "POST"), ("taskname", "tableName", "type"))

    def get(self, request: Request) -> Response:
        """Start one run over a table, or all; it goes on in the background."""
        name = passes.check_name(need_text(request, "taskname"))
        typed = self._table(request)
        task_id = run_periodic(name, typed)
        audit.record(self.actor, f"start {name}", cluster=self.ctx.cluster, target=typed or "", task=task_id)
        return Response({"taskId": task_id, "isSuccessful": True})

    def post(self, request: Request) -> Response:
        """As GET."""
        return self.get(request)

    def _table(self, request: Request) -> str | None:
        given, kind = text_param(request, "tableName"), text_param(request, "type")
        if given is None:
            return None
        raw, suffix = split_table_name(given)
        if kind or suffix:
            return tables.one_table(self.ctx, given, kind).typed
        return tables.existing_tables(self.ctx, raw)[0].typed
