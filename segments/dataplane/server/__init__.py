"""The embedded server: holds segments, reports their states, answers its part of queries."""

from __future__ import annotations

from segments.dataplane.server.server import Server, ServerSettings

__all__ = ["Server", "ServerSettings"]
