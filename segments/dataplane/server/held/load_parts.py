"""What it takes to bring a segment to this server's disk and open it."""

from __future__ import annotations

from dataclasses import dataclass

from segments.dataplane.server.held.column_cache import ColumnCache
from segments.dataplane.server.held.download import Downloader
from segments.dataplane.server.held.download_counts import Downloads
from segments.dataplane.server.held.peer_addresses import Peers
from segments.dataplane.server.held.segment_folders import SegmentFolders
from segments.store.base import Store


@dataclass(frozen=True)
class LoadParts:
    """Of one server. ``max_bytes``: the largest unpacked segment; ``downloads`` counts what is fetched."""

    store: Store
    folders: SegmentFolders
    downloader: Downloader
    peers: Peers
    cache: ColumnCache
    max_bytes: int
    downloads: Downloads
