"""Ends commits that have started and lost their committer, with the sealed copy that this server has on disk.

A server that is restarted after its build has the file and no consuming segment any more. It reports at the end like
any other replica, and the controller's answer decides: one of those that have the file ends the commit, the others keep
what they have (rules `winner-only` and `repeats-are-harmless`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from segments.dataplane.server.consuming.commit.commit import METADATA_FILES
from segments.dataplane.server.consuming.commit.location import upload_for_commit
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.consuming.source import Source, read_source
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.errors import NotFound, PinotAdminError
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Report

log = logging.getLogger(__name__)

#: Seconds before the first try and between two checks, between two tries of a segment, and that one upload is waited
#: for; it goes on, and the next try finds what it brought.
_POLL_S: Final = 1.0
_AGAIN_S: Final = 10.0
_UPLOAD_S: Final = 2.0


class LeftCommits:
    """A thread of its own. ``serving(table)`` gives what this server holds. Safe between threads."""

    def __init__(self, parts: SharedResources, serving: Callable[[str], Mapping[str, HeldSegment]]) -> None:
        self._parts, self._serving = parts, serving
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._due: dict[tuple[str, str], float] = {}
        self._thread = threading.Thread(target=self._run, name=f"left-commits-{parts.instance}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; a message that is under way is waited for a while."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10.0)

    def note(self, table: str, segment: str) -> None:
        """This server has, or will have in a moment, the copy of a segment of this typed table that is COMMITTING."""
        with self._lock:
            self._due.setdefault((table, segment), time.monotonic() + _POLL_S)

    def _run(self) -> None:
        while not self._stopping.wait(_POLL_S):
            now = time.monotonic()
            with self._lock:
                due = sorted(key for key, at in self._due.items() if at <= now)
            for table, segment in due:
                if not self._stopping.is_set():
                    self._settle(table, segment)

    def _settle(self, table: str, segment: str) -> None:
        is_over = False
        try:
            is_over = self._is_over(table, segment)
        except NotFound as error:
            log.info("The commit of %s is not wanted any more: %s", segment, error)
            is_over = True
        except (PinotAdminError, OSError) as error:
            log.info("The commit of %s is tried again: %s", segment, error)
        except Exception:
            log.exception("The commit of %s is tried again", segment)
        with self._lock:
            if is_over:
                self._due.pop((table, segment), None)
            else:
                self._due[table, segment] = time.monotonic() + _AGAIN_S

    def _is_over(self, table: str, segment: str) -> bool:
        """Has it ended, here or elsewhere? Raises NotFound when table or segment are gone."""
        source = read_source(self._parts.store, table, segment, self._parts.instance)
        if source.end is None:
            return True
        held = self._serving(table).get(segment)
        return held is not None and held.info.realtime_end_offset == source.end.text and self._ends(source, held)

    def _ends(self, source: Source, held: HeldSegment) -> bool:
        """Every answer but the wanted one means that somebody else may be at it, or nobody could be asked."""
        controller = self._parts.controller
        end = str(held.info.realtime_end_offset)
        report = Report(held.name, self._parts.instance, end, rows=held.num_docs, size_bytes=held.disk_bytes)
        if controller.consumed(report).status != protocol.COMMIT:
            return False
        if controller.commit_start(report).status != protocol.COMMIT_CONTINUE:
            return False
        with self._parts.folders.workspace() as work:
            location = upload_for_commit(self._parts, source, held.crc, held.folder, work, report, _UPLOAD_S)
        if location is None:
            return False
        files = {name: next(iter(sorted(held.folder.rglob(name)))) for name in METADATA_FILES}
        if controller.commit_end(report, location, files).status != protocol.COMMIT_SUCCESS:
            return False
        log.info("Committed segment %s with the copy that was left here, at %s", held.name, location)
        return True
