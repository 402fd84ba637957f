"""Consumption of realtime tables: pause, resume, force commit, validation, as every kind of cluster offers it."""

from __future__ import annotations

from typing import Protocol


class ConsumptionEngine(Protocol):
    """Consumption of realtime tables: pause, resume, force commit, validation."""
