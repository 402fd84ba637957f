"""The reingestions of this server: how one begins, how many run at a time, and what an earlier life left unfinished.

A job is on record in ZooKeeper before it begins, one per segment in the whole cluster; so it outlives the process, and
another server takes over what a dead one had.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.reingestion.job_run import JobRun, Tools, read_metadata
from segments.domain.realtime.llc_name import LLCName, parse_llc_name
from segments.domain.realtime.pause import stream_partition
from segments.domain.realtime.reingestion.job import Job, taken
from segments.domain.realtime.reingestion.rules import Range, range_of
from segments.domain.realtime.streams.stream_config import stream_maps, stream_of
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.domain.tables import table_config
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, PinotAdminError, StateConflict, Unavailable
from segments.gateways.reingested_uploads import ReingestedUploads
from segments.gateways.streams.lost_range import lost_range
from segments.names import REALTIME
from segments.store import paths
from segments.store.records.instances import live_instances
from segments.store.records.reingestions import JOBS, all_jobs

log = logging.getLogger(__name__)

#: Seconds between two attempts to read what an earlier life left unfinished.
_AGAIN_S: Final = 1.0


class Reingestions:
    """One for a server. ``workers``: jobs at a time; None: half of the processors. Safe between threads."""

    def __init__(
        self, parts: SharedResources, slots: Slots, uploads: ReingestedUploads, *, workers: int | None = None
    ) -> None:
        self._parts, self._stopping = parts, threading.Event()
        self._uploads = uploads
        self._tools = Tools(parts, slots, uploads, self._stopping)
        self._pool = ThreadPoolExecutor(
            workers or max((os.cpu_count() or 1) // 2, 1), thread_name_prefix=f"reingest-{parts.instance}"
        )
        self._lock = threading.Lock()
        self._runs: dict[str, JobRun] = {}
        self._thread = threading.Thread(target=self._take_up, name=f"reingest-{parts.instance}", daemon=True)

    def start(self) -> None:
        """Go on with what an earlier life of this server left unfinished."""
        self._thread.start()

    def stop(self) -> None:
        """End; what is under way goes on after the next start."""
        self._stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._uploads.close()

    def jobs(self) -> list[Job]:
        """Those that are queued or under way here, oldest first."""
        with self._lock:
            runs = list(self._runs.values())
        return sorted((run.job for run in runs), key=lambda job: job.started_ms)

    def begin(self, segment: str, *, accepts_loss: bool = False, by: str = "") -> Job:
        """Put a job on record and queue it. Blocks for a moment.

        InvalidInput: no name of a consumed segment, or one that was committed. NotFound: no such table or segment.
        StateConflict: its end is not known, it is being reingested already, or (unless ``accepts_loss``) the stream has
        lost rows of its range, which the text names.
        """
        name = parse_llc_name(segment)
        table, config = f"{name.raw}_{REALTIME}", self._config(f"{name.raw}_{REALTIME}")
        wanted = range_of(read_metadata(self._parts.store, table, segment))
        if not accepts_loss:
            self._check_range(config, name, wanted)
        job = Job(
            str(uuid.uuid4()), table, segment, self._parts.instance, time.time_ns() // 1_000_000, wanted.start,
            wanted.end, wanted.start, accepts_loss=accepts_loss, by=by,
        )  # fmt: skip
        JOBS.change(
            self._parts.store,
            paths.reingestion(table, segment),
            lambda before: taken(before, job, is_owner_live=before is not None and self._is_at_work(before)),
        )
        self._submit(job)
        return job

    def _config(self, table: str) -> TableConfig:
        node = self._parts.store.get(paths.table_config(table))
        if node is None or node.record is None:
            raise NotFound(f"Table '{table}' does not exist.", remedy="Check the segment's name.")
        return table_config.from_record(node.record)

    def _check_range(self, config: TableConfig, name: LLCName, wanted: Range) -> None:
        """StateConflict when rows of the range have left the stream. One that does not answer is waited for later."""
        stream = stream_of(config, name.partition)
        own = stream_partition(name.partition, len(stream_maps(config)))
        start, end = parse_offset(stream.type, wanted.start), parse_offset(stream.type, wanted.end)
        try:
            lost = lost_range(self._parts.streams.stream(stream), own, start, end)
        except Unavailable as error:
            log.info("Whether the stream has all rows of %s is seen when it answers: %s", name, error)
            return
        if lost is not None:
            raise StateConflict(
                f"The stream has lost rows of segment '{name}': those from {lost[0]} to {lost[1]}.",
                remedy="Restore the segment's file, or accept the loss: the segment is built without them.",
                missing=[lost[0].text, lost[1].text],
            )

    def _is_at_work(self, job: Job) -> bool:
        """Is the server of this job alive, and if it is this one, at it?"""
        if job.instance == self._parts.instance:
            with self._lock:
                return job.id in self._runs
        return job.instance in live_instances(self._parts.store)

    def _submit(self, job: Job) -> None:
        run = JobRun(self._tools, job)
        with self._lock:
            if job.id in self._runs:
                return
            self._runs[job.id] = run

        def carry_out() -> None:
            try:
                run.run()
            finally:
                with self._lock:
                    del self._runs[job.id]

        self._pool.submit(carry_out)

    def _take_up(self) -> None:
        while not self._stopping.is_set():
            try:
                for job in all_jobs(self._parts.store):
                    if job.is_active and job.instance == self._parts.instance:
                        log.info("The reingestion of %s goes on from its beginning", job.segment)
                        self._submit(job)
                return
            except PinotAdminError as error:
                log.warning("What was left of reingestions is read again in a moment: %s", error)
                self._stopping.wait(_AGAIN_S)
