"""One reingestion: read exactly the range, build the segment, upload it, have it registered."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from segments.dataplane.server.consuming.commit.building import Builder, Built
from segments.dataplane.server.consuming.commit.uploads import Build
from segments.dataplane.server.consuming.partition_reader import PartitionReader, RowsGone
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.source import Source, read_source
from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.reingestion.job_record import JobRecord, NotWanted
from segments.dataplane.server.reingestion.rows_before import follow_rows_before
from segments.domain.realtime.reingestion.job import Job, State
from segments.domain.realtime.reingestion.rules import range_of
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, SegmentMetadata
from segments.errors import NotFound, PinotAdminError, Rejected, Unavailable
from segments.gateways.controller_protocol import Report
from segments.gateways.reingested_uploads import ReingestedUploads
from segments.metrics import servers
from segments.segmentfile import write_tar
from segments.store import paths
from segments.store.base import Store
from segments.store.records.instances import live_instances
from segments.store.records.reingestions import read_job

log = logging.getLogger(__name__)

#: The two files that describe a segment.
_DESCRIPTIONS: Final = ("metadata.properties", "creation.meta")
#: Seconds without a message or an answer of the stream after which reading is given up; between two tries after a
#: fault.
_LONGEST_SILENCE_S: Final = 1800.0
_AGAIN_S: Final = 0.5
#: How many times a segment is described to web processes that do not answer, and the seconds between.
_REGISTRATIONS: Final = 10
_REGISTER_AGAIN_S: Final = 2.0


@dataclass(frozen=True)
class Tools:
    """What every job of a server uses."""

    parts: SharedResources
    slots: Slots
    uploads: ReingestedUploads
    stopping: threading.Event


class JobRun:
    """Carries one job out, to the end or until it is not wanted any more."""

    def __init__(self, tools: Tools, job: Job) -> None:
        self._parts, self._uploads, self._stopping = tools.parts, tools.uploads, tools.stopping
        self._slots = tools.slots
        self._record = JobRecord(tools.parts.store, job, tools.stopping)
        self._end: Offset | None = None

    @property
    def job(self) -> Job:
        """As it stands."""
        return self._record.job

    def run(self) -> None:
        """Raises nothing: how it ended is on record."""
        job, began = self.job, time.monotonic()
        try:
            if self._carry_out(job):
                servers.REINGESTIONS.add(job.table)
                servers.REINGESTION_SECONDS.observe(time.monotonic() - began, job.table)
        except NotWanted:
            log.info("The reingestion of %s is not wanted any more, or goes on after a restart", job.segment)
        except RowsGone as error:
            lost = error.data["lost"]
            end = min(lost[1], self._end) if self._end is not None else lost[1]
            self._failed(str(error), missing=(lost[0].text, end.text))
        except PinotAdminError as error:
            log.warning("Segment %s cannot be reingested: %s", job.segment, error)
            self._failed(str(error))
        except Exception as error:
            log.exception("Segment %s cannot be reingested", job.segment)
            self._failed(f"{type(error).__name__}: {error}")

    def _failed(self, error: str, **more: Any) -> None:
        servers.REINGESTION_FAILURES.add(self.job.table)
        self._record.ended(State.FAILED, error=error, **more)

    def _carry_out(self, job: Job) -> bool:
        """True when it was built here; False when an earlier life of this server had come so far."""
        if read_metadata(self._parts.store, job.table, job.segment).status in COMPLETED_STATUSES:
            self._record.ended(State.DONE)
            return False
        source = read_source(self._parts.store, job.table, job.segment, self._parts.instance)
        wanted = range_of(read_metadata(self._parts.store, job.table, job.segment))
        self._end = end = parse_offset(source.stream.type, wanted.end)
        self._record.moved(state=State.READING, at=source.start.text, rows=0, lost=())
        reader = PartitionReader(source, source.start, self._parts.streams)
        try:
            follow_rows_before(reader, self._slots, self._stopping, self._is_read)
            self._read(reader, end)
        finally:
            reader.rest()
        builder = Builder(self._parts, reader, job.segment)
        try:
            self._hand_over(source, reader, builder)
        finally:
            builder.close()
        return True

    def _is_read(self, segment: str) -> bool:
        """Is a live server at work on that segment of this table? One whose job is queued may wait for this one."""
        job = read_job(self._parts.store, self.job.table, segment)
        if job is None or not job.is_active or job.state is State.QUEUED:
            return False
        return job.instance in live_instances(self._parts.store)

    def _read(self, reader: PartitionReader, end: Offset) -> None:
        """Read up to ``end`` and not a row further; where the loss of rows is accepted, go on behind each gap."""
        settings, accepts = self._parts.settings, self.job.accepts_loss
        patient_until = time.monotonic() + _LONGEST_SILENCE_S
        while reader.offset < end:
            self._record.reached(at=reader.offset.text, rows=reader.segment.rows)
            before = reader.offset
            try:
                reader.read(settings.fetch_messages, settings.fetch_s, stop=end, accepts_loss=accepts)
                if reader.offset == before:
                    self._skip_what_never_comes(reader, end)
            except RowsGone:
                raise
            except Unavailable as error:
                log.info("Reading %s again waits for its stream: %s", self.job.segment, error)
                self._stopping.wait(_AGAIN_S)
            reader.set_aside.hand_over(self._parts.set_aside, reader.source)
            if reader.offset != before:
                patient_until = time.monotonic() + _LONGEST_SILENCE_S
            elif time.monotonic() > patient_until:
                raise Unavailable(
                    f"The stream gave nothing behind {reader.offset} for half an hour.", remedy="Check the stream."
                )
        reader.offset = end
        self._record.moved(
            at=end.text, rows=reader.segment.rows, lost=tuple((a.text, min(b, end).text) for a, b in reader.lost)
        )

    def _skip_what_never_comes(self, reader: PartitionReader, end: Offset) -> None:
        """The stream may end before the range does: its topic was made again. RowsGone unless that is accepted."""
        source = reader.source
        latest = self._parts.streams.stream(source.stream).latest(source.stream_partition)
        if latest >= end:
            return
        lost = (max(reader.offset, latest), end)
        if not self.job.accepts_loss:
            raise RowsGone(f"Rows from {lost[0]} to {lost[1]} are not in the stream.", lost=lost)
        reader.lost.append(lost)
        reader.offset = end

    def _hand_over(self, source: Source, reader: PartitionReader, builder: Builder) -> None:
        self._record.moved(state=State.BUILDING)
        built = builder.build()
        self._record.moved(state=State.UPLOADING)
        location = self._uploaded(source, built)
        if self._serves(source):
            built = builder.put_in_place(built)  # it need not fetch what it has
        reader.set_aside.hand_over(self._parts.set_aside, source, is_last=True)
        self._record.moved()  # the last moment to cancel it
        with self._parts.folders.workspace() as work:
            self._register(source, built, location, _described(built, work))
        reader.set_aside.settle(self._parts.set_aside, source, reader.offset)
        self._record.ended(State.DONE)
        log.info("Reingested segment %s: %d rows, at %s", source.name, built.info.total_docs, location)

    def _uploaded(self, source: Source, built: Built) -> str:
        """Where its file is."""
        uploader = self._parts.uploader
        location = uploader.upload(
            Build(source.config.table.raw, source.name.text, built.info.crc), built.folder, built.work,
            Report(source.name.text, self._parts.instance, built.end.text, size_bytes=built.size_bytes),
            through_controller=not uploader.has_store, wait_s=self._parts.settings.upload_s,
        )  # fmt: skip
        if location is None:
            raise Unavailable(
                f"Segment '{source.name}' was read again, but could not be uploaded.",
                remedy="Check the deep store and reingest it again.",
            )
        return location

    def _serves(self, source: Source) -> bool:
        ideal = self._parts.store.get(paths.ideal_state(source.table))
        rows = ideal.record.maps if ideal and ideal.record else {}
        return self._parts.instance in rows.get(source.name.text, {})

    def _register(self, source: Source, built: Built, location: str, metadata: Path) -> None:
        """Describe it until a web process has answered; a lost answer is verified in the record."""
        for tried in range(1, _REGISTRATIONS + 1):
            try:
                return self._uploads.register(source.config.table.raw, source.name.text, location, metadata)
            except (Rejected, Unavailable) as error:
                now = read_metadata(self._parts.store, source.table, source.name.text)
                if now.status in COMPLETED_STATUSES and now.crc == built.info.crc:
                    return None
                if isinstance(error, Rejected) or tried == _REGISTRATIONS:
                    raise
                log.warning("Segment %s is described again in a moment: %s", source.name, error)
            if self._stopping.wait(_REGISTER_AGAIN_S):
                raise NotWanted
        return None


def read_metadata(store: Store, table: str, segment: str) -> SegmentMetadata:
    """The segment's record. NotFound when there is none."""
    node = store.get(paths.segment(table, segment))
    if node is None or node.record is None:
        raise NotFound(f"Segment '{segment}' of table '{table}' has no record.", remedy="It was deleted meanwhile.")
    return segment_metadata.from_record(node.record)


def _described(built: Built, work: Path) -> Path:
    """A tar of the two small files."""
    folder = work / built.info.name
    folder.mkdir()
    for name in _DESCRIPTIONS:
        (folder / name).write_bytes(built.file(name).read_bytes())
    tar = work / "metadata.tar.gz"
    write_tar(folder, tar)
    return tar
