"""Takes messages that were set aside and sends them to the web process, at its own pace and within bounds.

Consumption never waits for it, whatever the web process or the database does: what does not fit is dropped and counted,
and the count is sent with the next report. Before a commit ends ``flush`` puts what there is on disk; what a killed
process had not written yet belongs to a segment that is not committed, whose messages are read again.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from segments.dataplane.server.set_aside.spool import Spool, Waiting
from segments.domain.set_aside import Message, Report, Settled
from segments.errors import InvalidInput, PinotAdminError
from segments.gateways.rate_limited_log import RateLimitedLog
from segments.gateways.set_aside_reports import Reports

log = logging.getLogger(__name__)
_seldom = RateLimitedLog(log)
#: Messages of one table that wait at most, in memory and on disk; bytes of their payloads in memory; bytes of all
#: reports on disk.
MOST_MESSAGES: Final = 5_000
_MOST_IN_MEMORY: Final = 16 << 20
MOST_BYTES: Final = 64 << 20
#: Of one report: messages, and bytes of their payloads.
_REPORT_MESSAGES: Final = 1_000
_REPORT_BYTES: Final = 2 << 20
#: Seconds between two rounds in which each table sends one report; after a round that failed, up to the longest.
_ROUND_S: Final = 0.5
_LONGEST_S: Final = 30.0


@dataclass
class _Pending:
    """Of one table, in memory."""

    messages: list[Message] = field(default_factory=list)
    size: int = 0
    settled: list[Settled] = field(default_factory=list)
    dropped: int = 0


class Outbox:
    """One for a server. Safe between threads; nothing raises for a disk or a web process that does not work."""

    def __init__(self, folder: Path, instance: str, reports: Reports, *, round_s: float = _ROUND_S) -> None:
        self._instance, self._reports, self._round_s = instance, reports, round_s
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._spool = Spool(folder)
        self._pending: dict[str, _Pending] = defaultdict(_Pending)
        #: Messages of each table from ``add`` until they were sent.
        self._held: Counter[str] = Counter(
            {t: sum(w.messages for w in waiting) for t, waiting in self._spool.waiting.items()}
        )
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="set-aside", daemon=True)

    def start(self) -> None:
        """Begin to send; first what an earlier life of the process left."""
        self._thread.start()
        if self._spool.waiting:
            self._wake.set()

    def stop(self) -> None:
        """Write what is in memory to disk and end; it is sent after the next start."""
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(5.0)
        self.flush()
        self._reports.close()

    def add(self, table: str, messages: Sequence[Message], dropped: int = 0) -> None:
        """Take messages of a typed table; ``dropped`` more were not even kept until now."""
        with self._lock:
            pending = self._pending[table]
            is_full = self._spool.size >= MOST_BYTES or pending.size >= _MOST_IN_MEMORY
            room = 0 if is_full else max(0, min(len(messages), MOST_MESSAGES - self._held[table]))
            self._held[table] += room
            pending.messages += messages[:room]
            pending.size += sum(len(m.payload) for m in messages[:room])
            pending.dropped += dropped + len(messages) - room
        self._wake.set()

    def settle(self, table: str, settled: Settled) -> None:
        """A segment was committed by this server: what it says of its range of the stream is final."""
        with self._lock:
            listed = self._pending[table].settled
            if len(listed) < MOST_MESSAGES:
                listed.append(settled)
        self._wake.set()

    def flush(self) -> None:
        """Put on disk what is in memory. A disk that takes nothing leaves it there."""
        with self._writing:
            with self._lock:
                taken, self._pending = self._pending, defaultdict(_Pending)
            for table, pending in taken.items():
                try:
                    self._write(table, pending)
                except OSError as error:
                    _seldom.warning(table, "Messages of %s that were set aside cannot be written: %s", table, error)
                    self._put_back(table, pending)

    def _write(self, table: str, pending: _Pending) -> None:
        while pending.messages or pending.settled or pending.dropped:
            count = _fitting(pending.messages)
            is_last = count == len(pending.messages)
            report = Report(
                uuid.uuid4().hex, self._instance, pending.messages[:count], pending.settled if is_last else [],
                pending.dropped if is_last else 0,
            )  # fmt: skip
            written = self._spool.write(table, count, msgspec.json.encode(report))
            with self._lock:
                self._spool.add(written)
            del pending.messages[:count]
            if is_last:
                pending.settled, pending.dropped = [], 0

    def _put_back(self, table: str, pending: _Pending) -> None:
        pending.size = sum(len(m.payload) for m in pending.messages)
        with self._lock:
            later = self._pending[table]
            pending.messages += later.messages
            pending.settled += later.settled
            pending.size, pending.dropped = pending.size + later.size, pending.dropped + later.dropped
            self._pending[table] = pending

    # The thread

    def _run(self) -> None:
        pause_s = self._round_s
        while True:
            self._wake.wait()
            if self._stopping.is_set():
                return
            self._wake.clear()
            self.flush()
            pause_s = self._round_s if self._send_round() else min(_LONGEST_S, pause_s * 2)
            with self._lock:
                is_more = bool(self._spool.waiting or self._pending)
            if is_more:
                self._wake.set()
            # One round at a time: a flood keeps neither the web process nor this one busy.
            self._stopping.wait(pause_s)

    def _send_round(self) -> bool:
        """The oldest report of each table; False when the web process does not answer."""
        with self._lock:
            oldest = [listed[0] for listed in self._spool.waiting.values()]
        sent = [self._send(report) for report in oldest]
        return all(sent)

    def _send(self, report: Waiting) -> bool:
        try:
            self._reports.send(report.table, report.path.read_bytes())
        except InvalidInput as error:
            _seldom.warning(report.table, "Messages of %s that were set aside are not kept: %s", report.table, error)
            with self._lock:
                self._pending[report.table].dropped += report.messages
        except FileNotFoundError:
            log.warning("%s is gone from the disk; its messages are not kept", report.path)
        except (PinotAdminError, OSError) as error:
            _seldom.warning(report.table, "Messages of %s that were set aside are sent later: %s", report.table, error)
            return False
        with self._lock:
            self._spool.remove(report)
            self._held[report.table] -= report.messages
            if not self._held[report.table]:
                del self._held[report.table]
        return True


def _fitting(messages: Sequence[Message]) -> int:
    """How many of the first messages one report takes."""
    size = 0
    for count, message in enumerate(messages[:_REPORT_MESSAGES]):
        size += len(message.payload)
        if size > _REPORT_BYTES and count:
            return count
    return min(len(messages), _REPORT_MESSAGES)
