"""Every metric, in the order in which they are shown and documented."""

from __future__ import annotations

from typing import Final

# importing a capability declares its metrics
from segments.metrics import consumption, installation, replacement, servers, tables, upkeep
from segments.metrics.metric_kinds import DECLARED, Metric

CAPABILITIES: Final = (tables, consumption, replacement, upkeep, installation, servers)
METRICS: Final[tuple[Metric, ...]] = tuple(DECLARED.values())
