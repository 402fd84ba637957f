"""Consumption of realtime tables: pause, resume, force commit, validation, on a real Pinot."""

from __future__ import annotations


class PinotConsumptionEngine:
    """``segments.services.engine.consumption.ConsumptionEngine`` on a real Pinot."""
