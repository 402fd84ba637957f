"""Consuming segments of the embedded server: one worker per partition reads, answers, commits or follows a commit."""

from __future__ import annotations

from segments.dataplane.server.consuming.commit.uploads import Uploader
from segments.dataplane.server.consuming.consumers import Consumers
from segments.dataplane.server.consuming.shared_resources import ConsumingSettings, SharedResources
from segments.dataplane.server.consuming.stream_pool import StreamPool

__all__ = ["Consumers", "ConsumingSettings", "SharedResources", "StreamPool", "Uploader"]
