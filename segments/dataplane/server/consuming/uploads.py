"""Best-effort upload of a built segment with a time limit: to the deep store, or through the controller (storage-zk.md 2.4)."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

from segments.errors import PinotAdminError
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Controller, Report
from segments.gateways.deepstore import DeepStore, encode
from segments.segmentfile import write_tar

log = logging.getLogger(__name__)

_Run = Callable[[str, Path, Report], str | None]


class Uploader:
    """Writes ``<deep store>/<raw table>/<segment>.tmp.<uuid>``; the controller moves it to its place. Safe between threads.

    An upload that outlives its time counts as failed; what it still writes is removed when it ends.
    """

    def __init__(self, deep_store: DeepStore | None, controller: Controller, timeout_s: float, threads: int = 4) -> None:
        self._deep_store, self._controller, self._timeout_s = deep_store, controller, timeout_s
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="upload")

    @property
    def has_store(self) -> bool:
        """Is there a deep store that this server writes to itself?"""
        return self._deep_store is not None

    def close(self) -> None:
        """Start no more; those that run are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def upload(
        self, raw: str, folder: Path, work: Path, report: Report, *, through_controller: bool, timeout_s: float | None = None
    ) -> str | None:
        """Where the file lies now, or None: failed, too slow, or no place to put it. ``folder`` is the segment's; its tar is
        made in ``work`` and kept there for the next try."""
        if self._deep_store is None and not through_controller:
            return None
        abandoned = threading.Event()
        run = self._through_controller if through_controller else self._to_store
        task: Future[str | None] = self._pool.submit(self._guarded, run, raw, folder, work, report, abandoned)
        limit = timeout_s if timeout_s is not None and timeout_s > 0 else self._timeout_s
        if not wait([task], limit).done:
            abandoned.set()
            task.cancel()
            log.warning("Segment %s was not uploaded within %.0f s", report.segment, limit)
            return None
        return task.result()

    def _guarded(self, run: _Run, raw: str, folder: Path, work: Path, report: Report, abandoned: threading.Event) -> str | None:
        try:
            location = run(raw, _tar_of(folder, work), report)
        except (PinotAdminError, OSError) as error:
            log.warning("Segment %s could not be uploaded: %s", report.segment, error)
            return None
        if location is not None and abandoned.is_set():
            self._remove(location)
        return location

    def _to_store(self, raw: str, tar: Path, report: Report) -> str | None:
        assert self._deep_store is not None
        path = f"{encode(raw)}/{encode(report.segment)}.tmp.{uuid.uuid4()}"
        self._deep_store.put(tar, path)
        return self._deep_store.uri(path)

    def _through_controller(self, _: str, tar: Path, report: Report) -> str | None:
        answer = self._controller.upload(report, tar)
        return answer.location if answer.status == protocol.UPLOAD_SUCCESS else None

    def _remove(self, location: str) -> None:
        path = self._deep_store.path_of(location) if self._deep_store is not None else None
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
