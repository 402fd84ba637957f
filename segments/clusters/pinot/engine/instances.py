"""Instances, cluster settings and messages to servers, on a real Pinot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segments.clusters.pinot import passes
from segments.clusters.pinot.instances import registration, segment_reset, settings
from segments.services.core.context import Context
from segments.services.engine.instances import ANSWER_S, Answers


class PinotInstanceEngine:
    """``segments.services.engine.instances.InstanceEngine`` on a real Pinot."""

    add_instance = staticmethod(registration.add_instance)
    set_instance_state = staticmethod(registration.set_instance_state)
    set_instance_tags = staticmethod(registration.set_instance_tags)
    drop_instance = staticmethod(registration.drop_instance)
    read_settings = staticmethod(settings.read_settings)
    change_settings = staticmethod(settings.change_settings)
    start_own_pass = staticmethod(passes.ask_pinot)
    reset_segment = staticmethod(segment_reset.reset_segment)
    reset_table = staticmethod(segment_reset.reset_table)
    reload_segments = staticmethod(segment_reset.reload_segments)

    def ask_servers(
        self, ctx: Context, servers: list[str], path: str, is_readable: Callable[[Any], bool], *,
        method: str = "GET", timeout_s: float = ANSWER_S,
    ) -> Answers:  # fmt: skip
        """They are not ours: none is asked."""
        return Answers(silent=tuple(servers))
