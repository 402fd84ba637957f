"""Fetches a segment's file: from the deep store or a web process where its record names a path in the store, else from
an address that the gate allows.

Whoever may push can write that address: it decides where bytes come from, and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from segments.dataplane.server.held.peer_download import ClusterFiles, check_is_file_of
from segments.domain.access.outgoing import HTTP, Kind, split_url
from segments.domain.segments.store_address import earlier, encode, is_file_of, path_of
from segments.errors import NotFound, PinotAdminError
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.outgoing.fetch import FetchRules, fetch
from segments.names import split_table_name

log = logging.getLogger(__name__)

Read = Callable[[Path], int]


class Downloader:
    """Fetches by ``segment.download.url``. ``elsewhere``: which addresses outside of the cluster are read; without it
    none. ``reached``: the deep store where this server reaches it; None: it does not, unless that is a folder.
    """

    def __init__(
        self,
        deep_store: DeepStore,
        cluster_files: ClusterFiles,
        elsewhere: FetchRules | None = None,
        reached: DeepStore | None = None,
    ) -> None:
        self._deep_store, self._cluster_files, self._elsewhere = deep_store, cluster_files, elsewhere or FetchRules()
        self._reached = deep_store if reached is None and deep_store.local_root is not None else reached

    def fetch(
        self, url: str, table: str, segment: str, crc: int, target: Path, check: Callable[[], object] = lambda: None
    ) -> int:
        """Write version ``crc`` to ``target``; returns its bytes. Where it may be is tried in turn until ``check``
        raises no PinotAdminError; the first fault is raised when it is nowhere: NotFound, Unavailable or InvalidInput.
        """
        if not url:
            raise NotFound(
                f"Segment '{segment}' is not in the deep store.", remedy="Upload it from a server that holds it."
            )
        faults: list[PinotAdminError] = []
        for read in self._sources(url, table, segment, crc):
            try:
                size = read(target)
                check()
            except PinotAdminError as error:
                faults.append(error)
            else:
                return size
        if len(faults) > 1:
            log.info("Segment %s of %s: %s", segment, table, " ".join(map(str, faults)))
        lost = NotFound(f"No process has the file of segment '{segment}' of table '{table}'.")
        raise min([*faults, lost], key=lambda fault: isinstance(fault, NotFound))

    def fetch_from_peer(self, url: str, target: Path) -> int:
        """Write what another server of this cluster sends to ``target``; returns its bytes. NotFound when it does not
        hold that version.
        """
        return self._cluster_files.from_peer(url, target)

    def _sources(self, url: str, table: str, segment: str, crc: int) -> Iterator[Read]:
        raw = split_table_name(table)[0]
        path = path_of(url) or self._deep_store.path_of(url)
        if path is not None and path.startswith(f"{encode(raw)}/"):
            yield from self._own(path, table, segment, crc)
            return
        before = earlier(url, raw, segment)
        if split_url(url, Kind.FILES).scheme in HTTP and self._cluster_files.webs.has(url):
            check_is_file_of(url, table, segment)
            yield from self._own(self._deep_store.segment_path(raw, segment), table, segment, crc)
            return
        yield lambda target: fetch(url, target, self._elsewhere)
        if before is not None:  # where this installation was before, or else nowhere in its store
            yield from self._own(before.path, table, segment, crc)

    def _own(self, path: str, table: str, segment: str, crc: int) -> Iterator[Read]:
        """A file of our deep store: read directly where this server reaches it, which saves a copy through a web
        process. Only the version on record passes the check, so older names of the file may be tried, too.
        """
        store, raw = self._reached, split_table_name(table)[0]
        is_local = store is not None and store.local_root is not None
        if store is not None:
            names = [store.staged_path(raw, segment, crc)] if is_local else []
            names += [path, *([store.segment_path(raw, segment)] if is_file_of(path, raw, segment) else [])]
            yield from (partial(store.fetch, name) for name in dict.fromkeys(names))
        if (is_local or store is None) and is_file_of(path, raw, segment):
            for url in self._cluster_files.web_addresses(table, segment):
                yield partial(self._cluster_files.from_web, url)
