"""Instances, cluster settings and messages to servers, on a real Pinot."""

from __future__ import annotations


class PinotInstanceEngine:
    """``segments.services.engine.instances.InstanceEngine`` on a real Pinot."""
