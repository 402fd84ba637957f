"""Fetches a segment's file from where its record says: deep store, controller, or an address that the gate allows.

Whoever may push can write that address: it decides where bytes come from, and nothing else.
"""

from __future__ import annotations

import logging
from pathlib import Path

from segments.dataplane.server.held.cluster_files import ClusterFiles, check_is_file_of
from segments.domain.access.outgoing import HTTP, Kind, split_url
from segments.errors import NotFound, PinotAdminError
from segments.gateways.deep_store.deepstore import DeepStore, encode
from segments.gateways.outgoing.fetch import FetchRules, fetch
from segments.names import split_table_name

log = logging.getLogger(__name__)


class Downloader:
    """Fetches by ``segment.download.url``. ``elsewhere``: which addresses outside of the cluster are read; without it
    none.
    """

    def __init__(self, deep_store: DeepStore, cluster_files: ClusterFiles, elsewhere: FetchRules | None = None) -> None:
        self._deep_store, self._cluster_files, self._elsewhere = deep_store, cluster_files, elsewhere or FetchRules()

    def fetch(self, url: str, table: str, segment: str, crc: int, target: Path) -> int:
        """Write version ``crc`` to ``target``; returns its bytes. NotFound, Unavailable or InvalidInput if it is not to
        be had.
        """
        if not url:
            raise NotFound(
                f"Segment '{segment}' is not in the deep store.", remedy="Upload it from a server that holds it."
            )
        path = self._deep_store.path_of(url)
        if path is not None and path.startswith(f"{encode(split_table_name(table)[0])}/"):
            return self._deep_store.fetch(path, target)
        if split_url(url, Kind.FILES).scheme in HTTP and self._cluster_files.is_of_controller(url):
            return self._from_controller(url, table, segment, crc, target)
        return fetch(url, target, self._elsewhere)

    def fetch_from_peer(self, url: str, target: Path) -> int:
        """Write what another server of this cluster sends to ``target``; returns its bytes. NotFound when it does not
        hold that version.
        """
        return self._cluster_files.from_peer(url, target)

    def _from_controller(self, url: str, table: str, segment: str, crc: int, target: Path) -> int:
        check_is_file_of(url, table, segment)
        if self._deep_store.local_root is not None:
            # The very file that the controller would send, without a copy through the web process.
            raw = split_table_name(table)[0]
            for path in (self._deep_store.staged_path(raw, segment, crc), self._deep_store.segment_path(raw, segment)):
                try:
                    return self._deep_store.fetch(path, target)
                except PinotAdminError:
                    log.debug("%s is not in the local deep store.", path)
        return self._cluster_files.from_controller(url, table, segment, target)
