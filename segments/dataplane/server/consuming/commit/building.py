"""Turns the rows of a consuming segment into a segment directory, once per end offset, and puts it in its place."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from segments import traces
from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.dataplane.server.segment_lives import BUILD
from segments.domain.realtime.streams.stream_offset import Offset
from segments.metrics import servers
from segments.segmentfile import SegmentInfo

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Built:
    """A segment directory, complete. ``size_bytes`` of its files; ``build_ms`` and ``wait_ms`` (for a free place) say
    what it took.

    ``work`` is where files next to it may be made; it goes when the builder is closed.
    """

    folder: Path
    work: Path
    info: SegmentInfo
    end: Offset
    size_bytes: int
    build_ms: int
    wait_ms: int

    def file(self, name: str) -> Path:
        """One of its small files (``metadata.properties``, ``creation.meta``)."""
        return next(iter(sorted(self.folder.rglob(name))))


@contextmanager
def _failures_counted(table: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        servers.SEGMENT_BUILD_FAILURES.add(table)
        raise


class Builder:
    """Builds the segment of one worker. What was built for an offset is kept for the next try; ``close`` removes it."""

    def __init__(self, parts: SharedResources, intake: PartitionReader, segment: str) -> None:
        self._parts, self._intake, self._segment = parts, intake, segment
        self._work = ExitStack()
        self._built: Built | None = None

    def close(self) -> None:
        """Remove what was not put in place."""
        self._work.close()

    def build(self) -> Built:
        """The directory of the rows read so far. Raises what the build raises."""
        end = self._intake.offset
        if self._built is not None and self._built.end == end and self._built.folder.is_dir():
            return self._built
        asked = time.monotonic()
        table = self._intake.source.table
        with self._parts.builds, self._parts.lives.step(table, self._segment, BUILD), _failures_counted(table):
            began = time.monotonic()
            work = self._work.enter_context(self._parts.folders.workspace())
            snapshot = replace(self._intake.segment.snapshot(), name=self._segment)
            source = self._intake.source
            with traces.step("build"):
                info = snapshot.build(
                    work, start_offset=source.start.text, end_offset=end.text, creation_time_ms=source.created_ms
                )
        folder = work / self._segment
        size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
        ended = time.monotonic()
        self._built = Built(folder, work, info, end, size, round((ended - began) * 1000), round((began - asked) * 1000))
        servers.SEGMENT_BUILD_SECONDS.observe(ended - began, table)
        log.info("Built segment %s of %d rows in %d ms", self._segment, info.total_docs, self._built.build_ms)
        return self._built

    def put_in_place(self, built: Built) -> Built:
        """Put it where the server's segments lie; there it outlives this process, and counts if its CRC is the one on
        record.
        """
        table = self._intake.source.table
        if built.folder != self._parts.folders.path(table, self._segment):
            built = self._built = replace(built, folder=self._parts.folders.install(built.folder, table, self._segment))
        return built

    def install(self, built: Built) -> HeldSegment:
        """Put it where the server's segments lie and open it."""
        return HeldSegment(self._segment, self.put_in_place(built).folder, built.info.crc, self._parts.cache)
