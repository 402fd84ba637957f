"""Messages that this server set aside, on their way to the web process that keeps them: bounded, on disk until they are
there.
"""

from __future__ import annotations

from segments.dataplane.server.set_aside.outbox import Outbox

__all__ = ["Outbox"]
