"""Where the file of a segment that is being committed lies: in the deep store, or on servers only."""

from __future__ import annotations

import logging
from pathlib import Path

from segments.dataplane.server.consuming.commit.uploads import Build
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.source import Source
from segments.gateways.controller_protocol import Report

log = logging.getLogger(__name__)


def peer_location(source: Source) -> str:
    """Of a file that servers have, and nobody else."""
    return f"peer:///{source.name}"


def upload_for_commit(
    parts: SharedResources, source: Source, crc: int, folder: Path, work: Path, report: Report, wait_s: float
) -> str | None:
    """Where the file is; ``peer:///<segment>`` when it is on servers only and the table allows that; None: the commit
    fails.

    ``folder`` is the segment's, ``work`` where its tar may be made. Where peers can serve the segment, its upload is
    waited for a moment only, else for ``wait_s`` seconds; it goes on behind the commit.
    """
    uploader, settings, has_peers = parts.uploader, parts.settings, source.has_peers
    wanted = source.stream.upload_to_deep_store
    through = not has_peers and (
        wanted is False or (wanted is None and (settings.uploads_through_controller or not uploader.has_store))
    )
    location = uploader.upload(
        Build(source.config.table.raw, source.name.text, crc),
        folder,
        work,
        report,
        through_controller=through,
        wait_s=min(settings.peer_wait_s, wait_s) if has_peers else wait_s,
        is_optional=has_peers,
    )
    if location is None and has_peers:
        return peer_location(source)
    if location is None:
        log.warning(
            "Segment %s was not uploaded and its table has no peerSegmentDownloadScheme: it is not committed yet",
            source.name,
        )
    return location
