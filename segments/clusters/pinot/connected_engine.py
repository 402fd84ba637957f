"""The engine of a Pinot cluster with its connections, for code below this folder that sends requests through it."""

from __future__ import annotations

from dataclasses import dataclass

from segments.gateways.pinot import PinotController, PinotSqlBroker
from segments.services.core.context import Context
from segments.services.engine import Engine


@dataclass(frozen=True)
class PinotEngine(Engine):
    """An engine with the connections of one Pinot cluster; ``broker`` is None where no use case queries."""

    controller: PinotController
    broker: PinotSqlBroker | None


def controller(ctx: Context) -> PinotController:
    """The cluster's controller; only for contexts of a Pinot cluster."""
    assert isinstance(ctx.engine, PinotEngine)
    return ctx.engine.controller


def sql_broker(ctx: Context) -> PinotSqlBroker | None:
    """SQL to its brokers; None where no use case queries. Only for contexts of a Pinot cluster."""
    assert isinstance(ctx.engine, PinotEngine)
    return ctx.engine.broker
