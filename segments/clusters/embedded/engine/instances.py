"""Instances, cluster settings and messages to servers, on the embedded cluster."""

from __future__ import annotations


class EmbeddedInstanceEngine:
    """``segments.services.engine.instances.InstanceEngine`` on the embedded cluster."""
