"""The embedded broker: routes queries to servers and merges their parts."""

from __future__ import annotations

from segments.dataplane.broker.broker import Broker
from segments.dataplane.broker.detached import DetachedBroker
from segments.dataplane.broker.routing import Routing, ServerRef

__all__ = ["Broker", "DetachedBroker", "Routing", "ServerRef"]
