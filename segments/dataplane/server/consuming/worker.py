"""One consuming segment on this server: a thread reads its partition, then commits it or follows somebody else's
commit.

The thread alone changes the segment. Others set flags (``force``, ``go_online``, ``stop``) and wake it; queries take a
``view``. The segment answers from its buffer until the committed file stands in its place, so no query ever finds it
missing or shorter.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from segments.dataplane.primary_keys.table_keys import locked
from segments.dataplane.server.consuming import decisions
from segments.dataplane.server.consuming.commit.commit import BeginAgain, BuildFailed, Commit
from segments.dataplane.server.consuming.decisions import Committed, Limits, Next, Online, Progress, State
from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.query_readiness import QueryReadiness
from segments.dataplane.server.consuming.reading.keyed_reading import key_rows
from segments.dataplane.server.consuming.reading.losses import Losses
from segments.dataplane.server.consuming.reading.patient_reading import Reading
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.source import Source, read_committed, read_source
from segments.dataplane.server.consuming.view import View
from segments.dataplane.server.consuming.waiting import FIRST_RETRY_S, Stopped, Waiting
from segments.dataplane.server.consuming.worker_host import Host
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.errors import InvalidInput, PinotAdminError
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Report

log = logging.getLogger(__name__)

#: Seconds between two attempts to report to the controller that this replica stopped.
_REPORT_AGAIN_S: Final = 10.0
#: Longest seconds until a full segment, behind which rows come into sight already, is to be committed (another time for
#: each partition, the same for its replicas, which wait for one another), and until a replica builds the file of what
#: another one commits. Nobody waits for either.
_APART_S: Final = 0.5


class Worker:
    """The consuming segment ``segment`` of typed ``table``. ``problem`` says why nothing is read just now, empty when
    all is well.
    """

    def __init__(
        self, parts: SharedResources, host: Host, table: str, segment: str, *, is_forced: bool = False
    ) -> None:
        self.table, self.segment = table, segment
        self._parts, self._host = parts, host
        self.state = State.STARTING
        self.source: Source | None = None
        self.intake: PartitionReader | None = None
        self.is_reported = False
        self._limit: int | None = None
        self._is_hidden = False
        self._waiting = Waiting(segment, is_forced=is_forced)
        self._commit: Commit | None = None
        self._gate: QueryReadiness | None = None
        self._losses = Losses(parts, table, segment)
        self._thread = threading.Thread(target=self._run, name=f"consume-{segment}", daemon=True)

    # For other threads

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def force(self) -> None:
        """Commit at the present offset (FORCE_COMMIT, pause)."""
        if not self._waiting.is_forced:
            self._waiting.is_forced = True
            self._rouse()

    def go_online(self) -> None:
        """The ideal state says ONLINE: become the committed segment."""
        if not self._waiting.is_online:
            self._waiting.is_online = True
            self._rouse()

    def stop(self) -> None:
        """End soon, wherever it is; a commit that runs is finished. What was read still answers."""
        self._waiting.is_stopped = True
        self._rouse()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end; False when it has not come."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def view(self) -> View | None:
        """The rows of this moment; None when it cannot answer (not begun, or more was read than was committed)."""
        intake = self.intake
        if intake is None or self._is_hidden:
            return None
        return View(self.segment, intake.segment.snapshot(), self._limit, intake.segment.totals)

    @property
    def problem(self) -> str:
        """Why nothing is read just now, empty when all is well."""
        return self._waiting.problem

    @property
    def is_over(self) -> bool:
        """Will nothing more come of it? Then what was committed elsewhere has to be downloaded."""
        return self.state.is_final

    @property
    def is_settled(self) -> bool:
        """Can no replica's row behind the committed end be shown with the next segment's? One that is downloaded is not
        here yet.
        """
        return self.state in (State.CATCHING_UP, State.RETAINING, State.RETAINED, State.COMMITTED) or (
            self._commit is not None and self._commit.has_started
        )

    @property
    def is_reading(self) -> bool:
        """Does it read from the stream, as far as anybody knows?"""
        return self.state.is_reading and not self.problem and self._thread.is_alive()

    def ends_at(self, offset: Offset) -> bool:
        """Has it exactly the rows before this offset?"""
        intake = self.intake
        return intake is not None and (intake.offset == offset or self._limit is not None)

    def let_in(self) -> None:
        """The segment before this one is settled: nothing may keep this one from being reported."""
        self._report_if_open()

    def _rouse(self) -> None:
        self._waiting.end()
        intake = self.intake
        if intake is not None:
            intake.wake()

    # The thread

    def _run(self) -> None:
        try:
            self._live()
        except Stopped:
            log.info("Segment %s of %s is not consumed here any more", self.segment, self.table)
        except BeginAgain:
            log.warning("Segment %s of %s begins again with the row limit on record", self.segment, self.table)
            self._set(State.ERROR)
            self._host.failed(self, "")
        except Exception as error:
            log.exception("Segment %s of %s cannot be consumed", self.segment, self.table)
            self._fail(error)
        finally:
            if self.intake is not None:
                self.intake.rest()
            self._host.ended(self)

    def _live(self) -> None:
        source = self.source = self._open()
        if source.is_done:
            self._set(State.DISCARDED)
            return
        intake = self._host.take_ahead(source) or PartitionReader(source, source.start, self._parts.streams)
        key_rows(self._parts, intake, self._waiting, lambda: self._host.is_before_complete(self, source.start))
        self.intake = intake
        self._waiting.is_forced |= source.is_paused
        self._set(State.CONSUMING)
        self._gate = QueryReadiness(self._parts, source, lambda: self._host.is_before_settled(self))
        self._report_if_open()
        reading = Reading(self._parts, self.intake, self._losses, self._waiting, self._report_if_open)
        commit = self._commit = Commit(self._parts, source, self.intake, self.report, self._seal)
        try:
            self._complete(commit, reading, self._consume(source, self.intake, reading), self.intake)
        finally:
            commit.close()

    def _open(self) -> Source:
        """The record, however long ZooKeeper takes to answer."""
        retry_s = FIRST_RETRY_S
        while True:
            self._waiting.check()
            try:
                source = read_source(self._parts.store, self.table, self.segment, self._parts.instance)
                self._waiting.problem = ""
                return source
            except PinotAdminError as error:
                if error.permanent:
                    raise
                retry_s = self._waiting.after(error, retry_s)

    def _consume(self, source: Source, intake: PartitionReader, reading: Reading) -> str | None:
        """Read until the segment is full or ends for another reason; None: it went ONLINE meanwhile, or its end was
        fixed before and is reached.
        """
        while source.end is not None and intake.offset < source.end and not self._waiting.is_online:
            reading.read(self._parts.settings.fetch_messages, 1000, stop=source.end)
        seen = self._host.seen_to(source)
        if seen is not None:  # a pause commits what queries saw, also where it has to be read again
            reading.up_to(seen, self._parts.settings.catch_up_s, most_rows=source.rows)
        settings, now_ms = self._parts.settings, self._parts.now_ms
        limits = Limits.of(
            rows=source.rows, created_ms=source.created_ms, flush_ms=source.stream.flush.time_ms,
            bytes_=settings.segment_bytes, now_ms=now_ms(),
        )  # fmt: skip
        while source.end is None and not self._waiting.is_online:
            is_forced = self._waiting.is_forced
            progress = Progress(intake.segment.rows, intake.messages, intake.segment.bytes, is_forced=is_forced)
            limits = limits.seen(progress, now_ms())
            reason = decisions.stop_reason(limits, progress, now_ms())
            if reason is not None:
                log.info("Segment %s ends at %s with %d rows: %s", self.segment, intake.offset, progress.rows, reason)
                return reason
            reading.read(limits.rows - progress.rows, limits.until_ms - now_ms())
        return None

    def _complete(self, commit: Commit, reading: Reading, reason: str | None, intake: PartitionReader) -> None:
        """Ask the controller what to do until the segment is in its final state."""
        holds, ended_by = 0, reason
        self._hand_over(intake, reason)
        while True:
            self._waiting.check()
            self._report_if_open()
            if self._waiting.is_online and not commit.is_under_way:
                return self._become_online(commit, reading, intake)
            self._set(State.HOLDING)
            answer = self._parts.controller.consumed(self.report(reason))
            match decisions.next_step(answer.status, intake.offset, self._offset(answer.offset)):
                case Next.CATCH_UP:
                    reason, holds = None, holds + 1
                    if not self._catch_up(reading, self._offset(answer.offset)):
                        self._waiting.pause(decisions.hold_pause_s(holds))
                case Next.COMMIT:
                    if self._commit_here(commit, intake, answer.build_time_s, ended_by):
                        return None
                    holds += 1
                    self._waiting.pause(decisions.hold_pause_s(holds))
                case Next.KEEP:
                    return self._become_online(commit, reading, intake)
                case Next.DISCARD:
                    return self._discard(intake, self._committed())
                case Next.HOLD:
                    holds += 1
                    self._waiting.pause(decisions.hold_pause_s(holds))

    def _hand_over(self, intake: PartitionReader, reason: str | None) -> None:
        """The connection is free for the partition's next segment; after a full one that is read at once."""
        intake.rest()
        if reason == decisions.ROW_LIMIT:
            self._has_all()
        is_full = reason in (decisions.ROW_LIMIT, decisions.TIME_LIMIT, decisions.INDEX_FULL)
        if is_full and self._parts.settings.reads_ahead and not self._waiting.is_forced:
            self._host.read_ahead(intake)
            if self._host.has_read_on(intake):
                self._waiting.keep_apart(_APART_S, self.segment)

    # Ends

    def _commit_here(self, commit: Commit, intake: PartitionReader, build_time_s: int, reason: str | None) -> bool:
        """Commit it; True when nothing more is to be done here."""
        self._has_all()
        self._set(State.COMMITTING)
        try:
            held = commit.run(build_time_s, reason)
        except OSError as error:  # a full disk, say: the rows stay where they are until there is room
            log.warning("Segment %s cannot be written now: %s", self.segment, error)
            self._waiting.problem = str(error)
            return False
        except BuildFailed as error:
            if not commit.has_started:
                raise
            self._leave_to_others(intake, error)
            return True
        if held is None:
            return False
        self._waiting.problem = ""
        self._host.install(self, held)
        self._set(State.COMMITTED)
        return True

    def _seal(self, held: HeldSegment) -> None:
        """The file that is being committed answers already, in place of the rows that it was built of."""
        self._host.seal(self, held)

    def _leave_to_others(self, intake: PartitionReader, error: BuildFailed) -> None:
        """Its commit has started, and it cannot be built here: these rows answer until another copy is found."""
        log.error("%s", error)
        self._waiting.problem = str(error)
        self._parts.controller.stopped(self.report(type(error).__name__))
        self._discard(intake, self._committed())

    def _become_online(self, commit: Commit, reading: Reading, intake: PartitionReader) -> None:
        """The segment's end is fixed: be its copy, by building, by reading on and building, or by a download."""
        committed = self._committed()
        source = intake.source
        if committed is None:
            return self._discard(intake, None)
        may_catch_up = True
        while True:
            step = decisions.online_step(
                committed, intake.offset, downloads_only=source.downloads_only, has_peers=source.has_peers,
                may_catch_up=may_catch_up,
            )  # fmt: skip
            match step:
                case Online.CATCH_UP:
                    may_catch_up = self._catch_up(reading, committed.end) and intake.offset == committed.end
                case Online.DOWNLOAD:
                    return self._discard(intake, committed)
                case Online.BUILD:
                    self._has_all()
                    self._set(State.RETAINING)
                    if not self._waiting.is_forced:
                        self._waiting.keep_apart(_APART_S, f"{self.segment} {self._parts.instance}")
                    held = commit.rebuild(committed)
                    if held is None:
                        return self._discard(intake, committed)
                    self._host.install(self, held)
                    return self._set(State.RETAINED)

    def _discard(self, intake: PartitionReader, committed: Committed | None) -> None:
        """Somebody else's rows count. Until they are here, this copy answers with no more than was committed."""
        if committed is not None and intake.offset > committed.end:
            with locked(self._parts.keys.known(self.table)):
                self._limit = intake.rows_at(committed.end)
                self._is_hidden = self._limit is None
                if intake.keyed is not None:
                    intake.keyed.cut(self._limit)
        self._set(State.DISCARDED)

    def _catch_up(self, reading: Reading, to: Offset | None) -> bool:
        self._set(State.CATCHING_UP)
        return reading.up_to(to, self._parts.settings.catch_up_s)

    def _fail(self, error: Exception) -> None:
        """ERROR here, reported to the controller until it answers, so that the others do not wait for this replica."""
        self._set(State.ERROR)
        text = str(error) if isinstance(error, PinotAdminError) else f"{type(error).__name__}: {error}"
        self._host.failed(self, text)
        if self.source is None:
            return
        while not (self._waiting.is_stopped or self._waiting.is_online):
            if self._parts.controller.stopped(self.report(type(error).__name__)).status == protocol.PROCESSED:
                return
            self._waiting.pause(_REPORT_AGAIN_S)

    # Steps

    def _report_if_open(self) -> None:
        """A replica that begins again while another answers is no help before it has read what is there (rule
        `never-backwards`).
        """
        gate, intake = self._gate, self.intake
        if gate is not None and intake is not None and gate.is_open(intake.offset):
            self._gate, self.is_reported = None, True
            self._host.changed(self)

    def _has_all(self) -> None:
        """It has all the rows that it will have: others show no more of it, only the next segment's."""
        gate = self._gate
        if gate is not None:
            gate.is_full()
            self._report_if_open()

    def _committed(self) -> Committed | None:
        """What is or will be committed; None when the record does not say (yet)."""
        assert self.source is not None
        retry_s = FIRST_RETRY_S
        while True:
            self._waiting.check()
            try:
                return read_committed(self._parts.store, self.source)
            except PinotAdminError as error:
                if error.permanent:
                    log.warning("Segment %s: %s", self.segment, error)
                    return None
                retry_s = self._waiting.after(error, retry_s)

    def report(self, reason: str | None = None) -> Report:
        """The message about this segment as it stands."""
        assert self.source is not None
        intake = self.intake
        offset = intake.offset if intake is not None else self.source.start
        rows, size = (intake.segment.rows, intake.segment.bytes) if intake is not None else (0, 0)
        has_read_on = intake is not None and self._host.has_read_on(intake)
        return Report(self.segment, self._parts.instance, offset.text, reason, rows, size, has_read_on=has_read_on)

    def _offset(self, text: str | None) -> Offset | None:
        assert self.source is not None
        try:
            return parse_offset(self.source.stream.type, text) if text else None
        except InvalidInput:
            return None

    def _set(self, state: State) -> None:
        self.state = state
        self._parts.lives.entered(self.table, self.segment, state)
