"""The copy of a segment whose commit has started and not ended: its record has an end, and no CRC yet.

A local folder or another server's copy is taken if it holds exactly the rows from start to end and its bytes have the
CRC that it claims (rule `crc-of-the-bytes`). Where there is none yet, the segment is waited for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.held.load_parts import LoadParts
from segments.domain.realtime.commit.fields import END_OFFSET, START_OFFSET
from segments.domain.realtime.streams.stream_config import DEFAULT_DOWNLOAD_WAIT_S, stream_configs
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables import table_config as configs
from segments.errors import PinotAdminError, SegmentCorrupt, Unavailable
from segments.segmentfile import compute_crc, extract_tar, read_info
from segments.segmentfile.format.crc import NO_CRC
from segments.store import paths

log = logging.getLogger(__name__)


class NotCommittedYet(Unavailable):
    """No copy is to be had yet. ``wait_s``: how long the table wants its servers to wait for one."""

    def __init__(self, segment: str, wait_s: int) -> None:
        super().__init__(
            f"Segment '{segment}' is being committed, and no live server has its file yet.",
            remedy="The server tries again; the validation pass repairs a commit that does not end.",
        )
        self.wait_s = wait_s


class UnfinishedCommits:
    """Finds such copies, and calls ``note(table, segment)`` with each one that this server has now. Safe between
    threads.
    """

    def __init__(self, parts: LoadParts, note: Callable[[str, str], object]) -> None:
        self._parts, self._note = parts, note

    def load(self, table: str, segment: str, meta: SegmentMetadata, *, was_dropped: bool) -> HeldSegment:
        """The copy of this server, or else of another one. NotCommittedYet while there is none.

        What lies here of a segment that was dropped meanwhile goes: no CRC on record could show it to be another one.
        """
        if was_dropped:
            self._parts.folders.remove(table, segment)
        found = self._local(table, segment, meta) or self._from_peer(table, segment, meta)
        if found is None:
            raise NotCommittedYet(segment, self._wait_s(table))
        self._note(table, segment)
        return found

    def _local(self, table: str, segment: str, meta: SegmentMetadata) -> HeldSegment | None:
        """What this server built before it was restarted."""
        folder = self._parts.folders.path(table, segment)
        if not folder.is_dir():
            return None
        try:
            return HeldSegment(segment, folder, _checked_crc(folder, meta), self._parts.cache)
        except (PinotAdminError, OSError) as error:
            log.info("The local copy of segment %s of %s is not used: %s", segment, table, error)
            return None

    def _from_peer(self, table: str, segment: str, meta: SegmentMetadata) -> HeldSegment | None:
        for peer in self._parts.peers.urls(table, segment, None, only_copy=True):
            try:
                with self._parts.folders.workspace() as work, self._parts.downloads.awaited(table, segment, "peer"):
                    tar = work / "segment.tar.gz"
                    self._parts.downloader.fetch_from_peer(peer, tar)
                    unpacked = extract_tar(tar, work, max_bytes=self._parts.max_bytes)
                    crc = _checked_crc(unpacked, meta)
                    log.info("Segment %s of %s, which is being committed, came from %s", segment, table, peer)
                    return HeldSegment(
                        segment, self._parts.folders.install(unpacked, table, segment), crc, self._parts.cache
                    )
            except (PinotAdminError, OSError) as error:
                log.info("Segment %s of %s was not taken from %s: %s", segment, table, peer, error)
        return None

    def _wait_s(self, table: str) -> int:
        node = self._parts.store.get(paths.table_config(table))
        try:
            if node is not None and node.record is not None:
                return stream_configs(configs.from_record(node.record))[0].download_wait_s
        except PinotAdminError as error:
            log.warning("%s", error)
        return DEFAULT_DOWNLOAD_WAIT_S


def _checked_crc(folder: Path, meta: SegmentMetadata) -> int:
    """The CRC of the copy. SegmentCorrupt unless its bytes have it and its rows are those of the record's range."""
    info = read_info(folder)
    if info.crc == NO_CRC or compute_crc(folder) != info.crc:
        raise SegmentCorrupt(f"The copy of segment '{meta.name}' does not have the CRC {info.crc} that it claims.")
    held = (info.name, info.realtime_start_offset, info.realtime_end_offset)
    if held != (meta.name, meta.fields.get(START_OFFSET), meta.fields.get(END_OFFSET)):
        raise SegmentCorrupt(f"The copy is of {held}, which are not the rows of segment '{meta.name}'.")
    return info.crc
