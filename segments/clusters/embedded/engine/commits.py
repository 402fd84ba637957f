"""The controller's side of commits, on the embedded cluster."""

from __future__ import annotations

from segments.clusters.embedded.realtime.completion import protocol, registration


class EmbeddedCommitEngine:
    """``segments.services.engine.commits.CommitEngine`` on the embedded cluster."""

    answer = staticmethod(protocol.answer)
    upload = staticmethod(protocol.upload)
    register = staticmethod(registration.register)
