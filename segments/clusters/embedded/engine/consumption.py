"""Consumption of realtime tables: pause, resume, force commit, validation, on the embedded cluster."""

from __future__ import annotations


class EmbeddedConsumptionEngine:
    """``segments.services.engine.consumption.ConsumptionEngine`` on the embedded cluster."""
