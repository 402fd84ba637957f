"""Instances, cluster settings and messages to servers, on the embedded cluster."""

from __future__ import annotations

from segments.clusters.embedded.instances import registration, segment_messages, server_calls, settings


class EmbeddedInstanceEngine:
    """``segments.services.engine.instances.InstanceEngine`` on the embedded cluster."""

    add_instance = staticmethod(registration.add_instance)
    set_instance_state = staticmethod(registration.set_instance_state)
    set_instance_tags = staticmethod(registration.set_instance_tags)
    drop_instance = staticmethod(registration.drop_instance)
    read_settings = staticmethod(settings.read_settings)
    change_settings = staticmethod(settings.change_settings)
    start_own_pass = staticmethod(registration.start_own_pass)
    reset_segment = staticmethod(segment_messages.reset_segment)
    reset_table = staticmethod(segment_messages.reset_table)
    reload_segments = staticmethod(segment_messages.reload_segments)
    ask_servers = staticmethod(server_calls.ask_servers)
