"""Fetches a segment's file from where its record says: deep store, controller, any pyarrow file system, or HTTP.

Whoever may push can write that address: it decides where bytes come from, and nothing else.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pyarrow.fs as pafs

from segments.dataplane.server.cluster_files import ClusterFiles, check_is_file_of
from segments.errors import InvalidInput, NotFound, PinotAdminError, Unavailable
from segments.gateways.deepstore import DeepStore
from segments.names import split_table_name

log = logging.getLogger(__name__)

_CHUNK: Final = 1 << 20


class Downloader:
    """Fetches by ``segment.download.url``."""

    def __init__(self, deep_store: DeepStore, cluster_files: ClusterFiles) -> None:
        self._deep_store, self._cluster_files = deep_store, cluster_files
        # One for all: a client of its own per file would read the machine's certificates each time, ten milliseconds of computing.
        self._http = httpx.Client(timeout=httpx.Timeout(60.0, connect=10.0), trust_env=False)

    def fetch(self, url: str, table: str, segment: str, crc: int, target: Path) -> int:
        """Write version ``crc`` to ``target``; returns its bytes. NotFound, Unavailable or InvalidInput if it is not to be had."""
        path = self._deep_store.path_of(url)
        if path is not None:
            return self._deep_store.fetch(path, target)
        if urlsplit(url).scheme in ("http", "https"):
            return self._fetch_http(url, table, segment, crc, target)
        if not url:
            raise NotFound(f"Segment '{segment}' is not in the deep store.", remedy="Upload it from a server that holds it.")
        return _fetch_foreign(url, target)

    def fetch_from_peer(self, url: str, target: Path) -> int:
        """Write what another server of this cluster sends to ``target``; returns its bytes. NotFound when it does not hold that version."""
        return self._cluster_files.from_peer(url, target)

    def _fetch_http(self, url: str, table: str, segment: str, crc: int, target: Path) -> int:
        if not self._cluster_files.is_of_controller(url):
            return self._stream(url, target)
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

    def _stream(self, url: str, target: Path) -> int:
        try:
            with self._http.stream("GET", url, follow_redirects=True) as answer:
                if answer.status_code == httpx.codes.NOT_FOUND:
                    raise NotFound(f"'{url}' does not exist.")
                if answer.status_code != httpx.codes.OK:
                    raise Unavailable(f"'{url}' answers {answer.status_code} instead of the segment.")
                with target.open("wb") as out:
                    for chunk in answer.iter_raw(_CHUNK):
                        out.write(chunk)
        except httpx.HTTPError as error:
            raise Unavailable(f"'{url}' could not be read: {error}.", remedy="Check that the host answers.") from error
        finally:
            self._http.cookies.clear()  # what one host sets is nothing for another
        return target.stat().st_size


def _fetch_foreign(url: str, target: Path) -> int:
    try:
        system, path = pafs.FileSystem.from_uri(url)
        with system.open_input_stream(path, compression=None) as reader, target.open("wb") as writer:
            shutil.copyfileobj(reader, writer, _CHUNK)
    except FileNotFoundError as error:
        raise NotFound(f"'{url}' does not exist.") from error
    except (ValueError, pa.ArrowException) as error:
        raise InvalidInput(f"'{url}' can not be opened: {error}.", remedy="Correct segment.download.url.") from error
    except OSError as error:
        raise Unavailable(f"'{url}' could not be read: {error}.", remedy="Check the store and its credentials.") from error
    return target.stat().st_size
