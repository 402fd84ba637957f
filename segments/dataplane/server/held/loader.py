"""Brings one segment to disk and opens it: the right CRC on record AND over the bytes, or it is never served (rule
`crc-of-the-bytes`).

It comes from the deep store, and when that has it not or not right, from another server (rule `deep-store-then-peers`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.load_parts import LoadParts
from segments.dataplane.server.held.unfinished import NotCommittedYet, UnfinishedCommits
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import COMMITTING, SegmentMetadata
from segments.errors import NotFound, PinotAdminError, SegmentCorrupt, Unavailable
from segments.segmentfile import SegmentReader, compute_crc, extract_tar, read_info
from segments.store import paths

log = logging.getLogger(__name__)

#: Seconds before the second and third try of a load; after the last it counts as failed for now.
_PAUSES_S: Final = (0.05, 0.3)


class Loader:
    """Loads segments by their records in ZooKeeper. ``sleep`` is there for tests. ``note_unfinished`` hears of copies
    of segments that are COMMITTING.
    """

    def __init__(
        self,
        parts: LoadParts,
        sleep: Callable[[float], None] = time.sleep,
        note_unfinished: Callable[[str, str], object] = lambda _table, _segment: None,
    ) -> None:
        self._parts, self._sleep = parts, sleep
        self._unfinished = UnfinishedCommits(parts, note_unfinished)

    def load(
        self,
        table: str,
        segment: str,
        held: HeldSegment | None,
        *,
        is_forced: bool = False,
        was_dropped: bool = False,
    ) -> HeldSegment:
        """The segment as its record wants it now; ``held`` itself when that is still right. ``was_dropped``: what lies
        on disk is of a former life of that name.

        Every try reads the record again: a refresh may have changed file and CRC in between. Raises the last
        PinotAdminError, NotCommittedYet at once.
        """
        for pause in (*_PAUSES_S, None):
            try:
                return self._try(table, segment, held, is_forced=is_forced, was_dropped=was_dropped)
            except PinotAdminError as error:
                if pause is None or isinstance(error, NotCommittedYet):
                    raise
                log.info("Segment %s of %s could not be loaded yet: %s", segment, table, error)
                self._sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _try(
        self, table: str, segment: str, held: HeldSegment | None, *, is_forced: bool, was_dropped: bool
    ) -> HeldSegment:
        meta = self._metadata(table, segment)
        crc = meta.crc
        if meta.status == COMMITTING:
            return held or self._unfinished.load(table, segment, meta, was_dropped=was_dropped)
        if crc is None:
            raise SegmentCorrupt(f"The record of segment '{segment}' has no CRC.", remedy="Upload it again.")
        if held is not None and held.crc == crc and not is_forced:
            return held
        if held is None and not is_forced:
            reused = self._reuse(table, segment, crc)
            if reused is not None:
                return reused
        return self._download(table, segment, meta, crc)

    def _metadata(self, table: str, segment: str) -> SegmentMetadata:
        node = self._parts.store.get(paths.segment(table, segment))
        if node is None or node.record is None:
            raise NotFound(
                f"Segment '{segment}' of table '{table}' has no record.", remedy="Upload it again, or delete it."
            )
        return segment_metadata.from_record(node.record)

    def _reuse(self, table: str, segment: str, crc: int) -> HeldSegment | None:
        """What an earlier run left on disk, when it is what the record asks for."""
        folder = self._parts.folders.path(table, segment)
        if not folder.is_dir():
            return None
        try:
            _check_crc(folder, segment, crc)
            return HeldSegment(segment, folder, crc, self._parts.cache)
        except (PinotAdminError, OSError) as error:
            log.info("The local copy of segment %s of %s is not used: %s", segment, table, error)
            return None

    def _download(self, table: str, segment: str, meta: SegmentMetadata, crc: int) -> HeldSegment:
        with self._parts.folders.workspace() as work:
            unpacked = self._fetch(table, segment, meta, crc, work)
            if self._parts.folders.path(table, segment).exists():
                SegmentReader(unpacked).close()  # what is there stays unless the new one can be read
            return HeldSegment(segment, self._parts.folders.install(unpacked, table, segment), crc, self._parts.cache)

    def _fetch(self, table: str, segment: str, meta: SegmentMetadata, crc: int, work: Path) -> Path:
        """The unpacked, checked segment: from the deep store, else from the first peer that has this very version."""
        url, tar = meta.download_url, work / "segment.tar.gz"
        faults: list[PinotAdminError] = []
        if url:
            try:
                with self._parts.downloads.counted(table, segment, "deep_store"):
                    taken: list[Path] = []
                    self._parts.downloader.fetch(
                        url, table, segment, crc, tar, lambda: taken.append(self._unpacked(tar, segment, crc, work))
                    )
                    return taken[0]
            except (PinotAdminError, OSError) as error:
                faults.append(_as_fault(error))
        for peer in self._parts.peers.urls(table, segment, crc, only_copy=not url):
            try:
                with self._parts.downloads.counted(table, segment, "peer"):
                    self._parts.downloader.fetch_from_peer(peer, tar)
                    unpacked = self._unpacked(tar, segment, crc, work)
            except (PinotAdminError, OSError) as error:
                faults.append(_as_fault(error))
                continue
            log.info("Segment %s of %s came from %s", segment, table, peer)
            return unpacked
        if not faults:
            raise NotFound(
                f"Segment '{segment}' is not in the deep store, and no live server has it.",
                remedy="The server tries again.",
            )
        if len(faults) > 1:
            log.info("Segment %s of %s: %s", segment, table, " ".join(str(fault) for fault in faults))
        raise faults[0]

    def _unpacked(self, tar: Path, segment: str, crc: int, work: Path) -> Path:
        unpacked = extract_tar(tar, work, max_bytes=self._parts.max_bytes)
        _check_crc(unpacked, segment, crc)
        return unpacked


def _as_fault(error: PinotAdminError | OSError) -> PinotAdminError:
    return (
        error
        if isinstance(error, PinotAdminError)
        else Unavailable(f"The file could not be copied: {error}.", remedy="It is tried again.")
    )


def _check_crc(folder: Path, segment: str, crc: int) -> None:
    """Raises SegmentCorrupt unless the file claims this CRC and its bytes have it."""
    claimed = read_info(folder).crc
    actual = compute_crc(folder) if claimed == crc else claimed
    if actual != crc:
        raise SegmentCorrupt(
            f"Segment '{segment}' has CRC {actual}, but its record says {crc}.",
            remedy="Upload it again; it is not served until file and record agree.",
        )
