"""The embedded cluster: its state is in ZooKeeper, so a change is one conditional transaction there."""

from __future__ import annotations

from segments.clusters.embedded.connected_engine import NoLocalBroker
from segments.clusters.embedded.engine import OFFERS, embedded_engine

__all__ = ["OFFERS", "NoLocalBroker", "embedded_engine"]
