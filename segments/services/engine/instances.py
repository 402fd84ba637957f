"""Instances, cluster settings and messages to servers, as every kind of cluster offers it."""

from __future__ import annotations

from typing import Protocol


class InstanceEngine(Protocol):
    """Instances, cluster settings and messages to servers."""
