"""GET /brokers and /v2/brokers: where Pinot's query clients find a broker. The second form gives host
and port apart.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, text_param
from segments.services.access.read_rights import readable
from segments.services.clusters import brokers
from segments.services.clusters.brokers import BrokerRef


def _name(broker: BrokerRef) -> str:
    return broker.instance


def _described(broker: BrokerRef) -> dict[str, Any]:
    return {"instanceName": broker.instance, "host": broker.host, "port": broker.port}


class BrokerView(ApiView):
    """Base: ``is_second`` is the form of /v2; the parameter ``state`` chooses by alive or not."""

    parameters = {"GET": ("state",)}
    is_second = False
    reading: ClassVar[Literal["table", "filtered", "open"]] = "filtered"

    def listed(self, found: list[BrokerRef]) -> list[Any]:
        """Brokers in the form of this path."""
        return [(_described if self.is_second else _name)(broker) for broker in found]

    def readable(self, request: Request, found: dict[str, list[BrokerRef]]) -> dict[str, list[BrokerRef]]:
        """Those of the tables that the asker may read."""
        may_read = readable(request.user, self.cluster_name)
        return {table: refs for table, refs in found.items() if may_read(table)}

    def mapped(self, found: dict[str, list[BrokerRef]]) -> dict[str, list[Any]]:
        """{name: brokers} in the form of this path."""
        return {name: self.listed(listed) for name, listed in found.items()}


class AllBrokers(BrokerView):
    """By tenant and by table."""

    def get(self, request: Request) -> Response:
        """``{"tenants": {...}, "tables": {...}}``."""
        state = text_param(request, "state")
        by_tenant, by_table = brokers.brokers_by_tenant(self.ctx, state), brokers.brokers_by_table(self.ctx, state)
        return Response({"tenants": self.mapped(by_tenant), "tables": self.mapped(self.readable(request, by_table))})


class TenantsBrokers(BrokerView):
    """By tenant."""

    def get(self, request: Request) -> Response:
        """{tenant: brokers}."""
        return Response(self.mapped(brokers.brokers_by_tenant(self.ctx, text_param(request, "state"))))


class TenantBrokers(BrokerView):
    """Of one tenant."""

    answers = {"GET": {200: "list"}}

    def get(self, request: Request, tenant: str) -> Response:
        """A list of brokers."""
        return Response(self.listed(brokers.brokers_of_tenant(self.ctx, tenant, text_param(request, "state"))))


class TablesBrokers(BrokerView):
    """By table."""

    def get(self, request: Request) -> Response:
        """{raw table: brokers}."""
        return Response(
            self.mapped(self.readable(request, brokers.brokers_by_table(self.ctx, text_param(request, "state"))))
        )


class TableBrokers(BrokerView):
    """Of one table."""

    answers = {"GET": {200: "list"}}
    reading = "table"

    def get(self, request: Request, table: str) -> Response:
        """A list of brokers."""
        return Response(self.listed(brokers.brokers_of_table(self.ctx, table, text_param(request, "state"))))


class LiveBrokers(BrokerView):
    """Of all tables or of those named, alive. What Pinot's clients ask their controller for every second."""

    parameters = {"GET": ("tables",)}
    is_second = True

    def get(self, request: Request) -> Response:
        """{typed table: brokers}."""
        found = brokers.live_brokers(
            self.ctx, [t for t in request.query_params.getlist("tables") if self._may_read(request, t)]
        )
        return Response(self.mapped(self.readable(request, found)))

    def _may_read(self, request: Request, table: str) -> bool:
        return readable(request.user, self.cluster_name)(table)


class TableLiveBrokers(BrokerView):
    """Of one table, alive."""

    answers = {"GET": {200: "list"}}
    reading = "table"

    parameters = {}

    def get(self, request: Request, table: str) -> Response:
        """A list of names."""
        return Response(self.listed(brokers.brokers_of_table(self.ctx, table, "ONLINE")))
