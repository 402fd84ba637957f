"""The committer's part of the protocol: build, commitStart, best-effort upload, commitEnd; a pauseless commit starts
first and is built afterwards.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from segments import traces
from segments.dataplane.server.consuming.commit.building import Builder, Built
from segments.dataplane.server.consuming.commit.lease import Lease
from segments.dataplane.server.consuming.commit.location import peer_location, upload_for_commit
from segments.dataplane.server.consuming.decisions import Committed
from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.source import Source, is_pauseless_now
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.errors import PinotAdminError
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Report
from segments.metrics import servers

log = logging.getLogger(__name__)

#: The two files that show the controller what was built.
METADATA_FILES = ("metadata.properties", "creation.meta")


#: Answers that do not say whether the message was taken in.
_UNKNOWN = (protocol.NOT_SENT, protocol.NOT_LEADER, protocol.FAILED)


class BuildFailed(Exception):
    """The rows cannot be made a segment; trying again gives the same."""


class BeginAgain(Exception):
    """The controller lowered the segment's row limit: it has to be consumed again, from its start."""


class Commit:
    """Commits one segment, or builds the copy of what another server committed. ``report`` gives the message of the
    moment; ``seal`` takes the file of a commit that has started, before it is uploaded.

    ``has_started``: its end is on record. ``is_under_way``: it may be, and this server is to end it: whatever the ideal
    state says, the controller is asked.
    """

    def __init__(
        self,
        parts: SharedResources,
        source: Source,
        intake: PartitionReader,
        report: Callable[[str | None], Report],
        seal: Callable[[HeldSegment], object],
    ) -> None:
        self._parts, self._source, self._report, self._seal = parts, source, report, seal
        self._builder, self._intake = Builder(parts, intake, source.name.text), intake
        self._is_committed = False
        self._sealed: HeldSegment | None = None
        self.has_started, self.is_under_way = False, False

    def close(self) -> None:
        """Remove what was built and not put in place, and what is uploaded of a segment that was not committed here."""
        if not self._is_committed:
            self._parts.uploader.forget(self._source.config.table.raw, self._source.name.text)
        self._builder.close()

    def run(self, build_time_s: int, reason: str | None = None) -> HeldSegment | None:
        """The whole way; the held segment, or None when the controller wants something else or could not be reached.

        ``reason``: why the segment ended. Raises OSError, BuildFailed and BeginAgain. Nothing is lost in any case:
        until the controller says COMMIT_SUCCESS, the rows are where they were; and a file that only servers will have
        is on disk before that, so that a process killed right after it comes back with it.
        """
        table, began, held = self._source.table, time.monotonic(), None
        try:
            is_pauseless = self.is_under_way or self._is_pauseless()
            run = self._run_pauseless if is_pauseless else self._run_standard
            with traces.span("commit", table=table, segment=self._source.name.text):
                held = run(build_time_s, reason)
        finally:
            servers.SEGMENT_COMMITS.add(table, "not_committed" if held is None else "committed")
        if held is not None:
            servers.SEGMENT_COMMIT_SECONDS.observe(time.monotonic() - began, table)
        return held

    def _run_standard(self, build_time_s: int, reason: str | None) -> HeldSegment | None:
        """Build, start, upload, end: the next segment begins with the end."""
        with Lease(self._parts.controller, lambda: self._report(None), build_time_s):
            built = self._build()
            if built is None or not self._starts(self._described(built, reason)):
                return None
            location = self._upload(built)
            if location is None:
                return None
            if location == peer_location(self._source):
                built = self._builder.put_in_place(built)
            if not self._ends(built, reason, location):
                return None
        return self._builder.install(built)

    def _run_pauseless(self, build_time_s: int, reason: str | None) -> HeldSegment | None:
        """The same with the start first: the next segment consumes while this one is built and uploaded.

        An answer to the start that was lost may have been yes, so from here on the controller is asked.
        """
        self.is_under_way = True
        if not self._starts(self._report(reason)):
            return None
        self.has_started = True
        with Lease(self._parts.controller, lambda: self._report(None), build_time_s):
            built, sealed = self._build_sealed()
            location = self._upload(built)
            if location is None or not self._ends(built, reason, location):
                return None
        return sealed

    def _is_pauseless(self) -> bool:
        """As the table's config is now: switching it counts for the next commit that starts."""
        try:
            return is_pauseless_now(self._parts.store, self._source)
        except PinotAdminError as error:
            log.info("Segment %s is committed as its table was when it began: %s", self._source.name, error)
            return self._source.config.is_pauseless

    def _starts(self, report: Report) -> bool:
        start = self._parts.controller.commit_start(report)
        if start.status == protocol.COMMIT_CONTINUE:
            return True
        log.info("Commit of %s does not start: %s", self._source.name, start.status)
        self.is_under_way &= start.status in _UNKNOWN
        return False

    def _build_sealed(self) -> tuple[Built, HeldSegment]:
        """Built once and put in place, where it outlives this process. Raises BuildFailed and OSError."""
        try:
            built = self._builder.put_in_place(self._builder.build())
        except OSError:
            raise  # a full disk says nothing about the rows
        except Exception as error:
            raise BuildFailed(f"Segment {self._source.name} cannot be built: {error}") from error
        if self._sealed is None:
            self._sealed = self._builder.install(built)
            self._seal(self._sealed)
        return built, self._sealed

    def _ends(self, built: Built, reason: str | None, location: str) -> bool:
        self._intake.set_aside.hand_over(self._parts.set_aside, self._source, is_last=True)
        files = {name: built.file(name) for name in METADATA_FILES}
        end = self._parts.controller.commit_end(self._described(built, reason), location, files)
        if end.status != protocol.COMMIT_SUCCESS:
            log.warning("Commit of %s did not end: %s", self._source.name, end.status)
            return False
        self._is_committed = True
        self._intake.set_aside.settle(self._parts.set_aside, self._source, self._intake.offset)
        log.info(
            "Committed segment %s: %d rows, %d bytes, at %s",
            self._source.name,
            built.info.total_docs,
            built.size_bytes,
            location,
        )
        return True

    def rebuild(self, committed: Committed) -> HeldSegment | None:
        """The same rows as the committed file; None when the build fails or gives another CRC than the one on record
        (rule `crc-of-the-bytes`).
        """
        try:
            built = self._builder.build()
            if committed.crc is None or built.info.crc == committed.crc:
                return self._builder.install(built)
            log.warning(
                "Segment %s built here has CRC %s, committed %s; it is downloaded",
                self._source.name,
                built.info.crc,
                committed.crc,
            )
        except Exception:
            log.exception("Segment %s could not be built; it is downloaded", self._source.name)
        return None

    def _build(self) -> Built | None:
        """None when it fails and the controller, after the report, does not lower the row limit: somebody else is
        committing.
        """
        try:
            return self._builder.build()
        except OSError:
            raise  # a full disk says nothing about the rows
        except Exception as error:
            if not self._source.tells_build_failures:
                raise BuildFailed(f"Segment {self._source.name} cannot be built: {error}") from error
            log.warning("Segment %s cannot be built: %s", self._source.name, error)
            if self._parts.controller.build_failed(self._report(None)).status == protocol.PROCESSED:
                raise BeginAgain from error
            return None

    def _described(self, built: Built, reason: str | None) -> Report:
        return replace(
            self._report(reason), build_ms=built.build_ms, wait_ms=built.wait_ms, size_bytes=built.size_bytes
        )

    def _upload(self, built: Built) -> str | None:
        parts, report = self._parts, self._described(built, None)
        folder, work, wait_s = built.folder, built.work, parts.settings.upload_s
        with traces.step("upload", bytes=built.size_bytes):
            return upload_for_commit(parts, self._source, built.info.crc, folder, work, report, wait_s)
