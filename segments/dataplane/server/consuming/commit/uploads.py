"""Uploads of built segments, to the deep store or through the controller; one that hangs holds nobody but itself.

Each upload has a thread of its own and goes on when nobody waits for it any more. What it brings then is kept for
whoever asks next: the commit's next try, or the pass that repairs records of segments that only servers have.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from segments.dataplane.server.segment_lives import UPLOAD, SegmentLives
from segments.domain.segments.store_address import path_of, recorded
from segments.errors import PinotAdminError
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Controller, Report
from segments.gateways.deep_store.deepstore import DeepStore, encode
from segments.metrics import servers
from segments.names import REALTIME, TableName
from segments.secret_texts import mask_text
from segments.segmentfile import write_tar

log = logging.getLogger(__name__)

#: Uploads that nobody waits for any more, beyond which no other is begun that its commit can do without.
_MOST_LATE: Final = 4
#: An upload is taken for dead after so many times the patience of who asks for it; then another one is begun.
_DEAD_AFTER: Final = 3.0
#: Uploads at a time, hanging ones too: beyond this many nothing is begun before one ends.
_MOST: Final = 256
#: Ended uploads whose address nobody has requested yet.
_MOST_KEPT: Final = 1_000


@dataclass(frozen=True)
class Build:
    """What is uploaded: one segment of raw table ``raw`` as it was built; another build of it has another CRC."""

    raw: str
    segment: str
    crc: int


@dataclass(eq=False)
class _Upload:
    """``began``: of ``time.monotonic``; ``is_late``: nobody waits for it; ``is_unwanted``: what it
    brings is removed; ``problem``: why it failed.
    """

    began: float
    ended: threading.Event = field(default_factory=threading.Event)
    location: str | None = None
    is_late: bool = False
    is_unwanted: bool = False
    problem: str = "The controller did not take it."


class Uploader:
    """Writes ``<deep store>/<raw table>/<segment>.tmp.<uuid>``; the controller moves it to its place. Safe between
    threads.

    ``workspace`` gives a folder that lasts as long as its block, on the disk of the segments. ``timeout_s``: patience
    where none is named.
    """

    def __init__(
        self, deep_store: DeepStore | None, controller: Controller, timeout_s: float,
        workspace: Callable[[], AbstractContextManager[Path]], lives: SegmentLives | None = None,
    ) -> None:  # fmt: skip
        self._deep_store, self._controller, self._timeout_s = deep_store, controller, timeout_s
        self._workspace, self._lives = workspace, lives
        self._lock = threading.Lock()
        self._uploads: dict[Build, _Upload] = {}
        self._alive = 0
        self._is_closed = False

    @property
    def has_store(self) -> bool:
        """Is there a deep store that this server writes to itself?"""
        return self._deep_store is not None

    def close(self) -> None:
        """Start no more; those that run end with the process."""
        self._is_closed = True

    def upload(
        self,
        build: Build,
        folder: Path,
        work: Path,
        report: Report,
        *,
        through_controller: bool,
        wait_s: float | None = None,
        is_optional: bool = False,
    ) -> str | None:
        """Where the file lies now, as records hold it, or None: failed, not there yet, or no place to put it.

        ``folder`` is the segment's; its tar is made in ``work`` and kept there for the next try. After ``wait_s``
        seconds the upload goes on in the background, and the next call for the same build waits for it.
        ``is_optional``: not begun while several others are late.
        """
        if self._is_closed or (self._deep_store is None and not through_controller):
            return None
        wait_s = wait_s if wait_s is not None and wait_s > 0 else self._timeout_s
        upload = self._running(build, wait_s)
        if upload is None and not self._has_place(is_optional=is_optional):
            log.warning("Segment %s is not uploaded now: too many uploads are under way and do not end", build.segment)
            return None
        try:
            upload = upload or self._begin(build, folder, work, report, through_controller=through_controller)
        except (PinotAdminError, OSError) as error:
            log.warning("Segment %s could not be packed: %s", build.segment, error)
            return None
        return self._location(build, upload, wait_s)

    def forget(self, raw: str, segment: str | None = None) -> None:
        """Nobody wants what is being uploaded of this table, or this segment of it: it is removed when it comes."""
        with self._lock:
            for build in [b for b in self._uploads if b.raw == raw and segment in (None, b.segment)]:
                self._uploads.pop(build).is_unwanted = True

    def _running(self, build: Build, wait_s: float) -> _Upload | None:
        """The upload of this build that is under way or has come, unless it is dead."""
        with self._lock:
            upload = self._uploads.get(build)
            if (
                upload is None
                or upload.ended.is_set()
                or time.monotonic() - upload.began < _DEAD_AFTER * max(wait_s, self._timeout_s)
            ):
                return upload
            log.warning("The upload of segment %s does not end and is begun again", build.segment)
            self._uploads.pop(build).is_unwanted = True
            return None

    def _has_place(self, *, is_optional: bool) -> bool:
        with self._lock:
            late = sum(u.is_late and not u.ended.is_set() for u in self._uploads.values())
            return self._alive < _MOST and not (is_optional and late >= _MOST_LATE)

    def _begin(self, build: Build, folder: Path, work: Path, report: Report, *, through_controller: bool) -> _Upload:
        """The tar is linked, so that it outlives ``work``."""
        with ExitStack() as stack:
            tar = stack.enter_context(self._workspace()) / f"{build.segment}.tar.gz"
            os.link(_tar_of(folder, work), tar)
            upload = _Upload(time.monotonic())
            kept = stack.pop_all()

        def run() -> None:
            try:
                location = self._through_controller(report, tar) if through_controller else self._to_store(build, tar)
            except Exception as error:
                level = logging.WARNING if isinstance(error, (PinotAdminError, OSError)) else logging.ERROR
                log.log(
                    level, "Segment %s could not be uploaded: %s", build.segment, error, exc_info=level == logging.ERROR
                )
                location, upload.problem = None, mask_text(str(error) or type(error).__name__)
            self._end(build, upload, location, kept)

        with self._lock:
            self._uploads[build] = upload
            self._alive += 1
        threading.Thread(target=run, name=f"upload-{build.segment}", daemon=True).start()
        return upload

    def _end(self, build: Build, upload: _Upload, location: str | None, kept: ExitStack) -> None:
        with self._lock:
            self._alive -= 1
            upload.location = location
            upload.ended.set()
            if location is None and self._uploads.get(build) is upload:
                del self._uploads[build]
            ended = [b for b, u in self._uploads.items() if u.ended.is_set()]
            for old in ended[:-_MOST_KEPT]:
                del self._uploads[old]  # its record is repaired with another upload
        self._note(build, upload)
        try:
            if location is not None and upload.is_late:
                took = time.monotonic() - upload.began
                log.info(
                    "The upload of segment %s came after %.0f s%s",
                    build.segment,
                    took,
                    ", unwanted" if upload.is_unwanted else "",
                )
            if location is not None and upload.is_unwanted:
                self._remove(location)
            kept.close()
        except RuntimeError as error:  # the server has stopped meanwhile
            log.info("After the upload of segment %s: %s", build.segment, error)

    def _note(self, build: Build, upload: _Upload) -> None:
        """Count one that ended."""
        table, took_s, is_done = TableName(build.raw, REALTIME).typed, time.monotonic() - upload.began, upload.location
        servers.SEGMENT_UPLOADS.add(table, "success" if is_done else "failure")
        if is_done:
            servers.SEGMENT_UPLOAD_SECONDS.observe(took_s, table)
        if self._lives is not None:
            self._lives.took(table, build.segment, UPLOAD, took_s, "" if is_done else upload.problem)

    def _location(self, build: Build, upload: _Upload, wait_s: float) -> str | None:
        if not upload.ended.wait(wait_s):
            upload.is_late = True
            servers.SEGMENT_UPLOADS.add(TableName(build.raw, REALTIME).typed, "timeout")
            log.warning("Segment %s is not uploaded after %.1f s; the upload goes on", build.segment, wait_s)
            return None
        with self._lock:
            if self._uploads.get(build) is upload:
                del self._uploads[build]
        return upload.location

    def _to_store(self, build: Build, tar: Path) -> str | None:
        assert self._deep_store is not None
        path = f"{encode(build.raw)}/{encode(build.segment)}.tmp.{uuid.uuid4()}"
        self._deep_store.put(tar, path)
        return recorded(path)

    def _through_controller(self, report: Report, tar: Path) -> str | None:
        answer = self._controller.upload(report, tar)
        return answer.location if answer.status == protocol.UPLOAD_SUCCESS else None

    def _remove(self, location: str) -> None:
        path = path_of(location)
        if self._deep_store is None or path is None:
            return
        try:
            self._deep_store.delete(path)
        except (PinotAdminError, OSError) as error:
            log.warning("The late upload %s could not be removed: %s", location, error)


def _tar_of(folder: Path, work: Path) -> Path:
    """The segment's tar, made once."""
    tar = work / f"{folder.name}.tar.gz"
    if not tar.exists():
        partial = work / f".{uuid.uuid4()}"
        write_tar(folder, partial)
        partial.rename(tar)
    return tar
