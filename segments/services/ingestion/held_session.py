"""A session whose lease this process holds: every write is refused once somebody else holds it, or it has ended."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any, Final

from segments.domain.ingestion.registry import IngestedFiles
from segments.domain.ingestion.session import FileRecord, IngestionSession, Run, count
from segments.errors import Conflict, StateConflict, Unavailable
from segments.names import TableName
from segments.secret_texts import mask_text
from segments.services.core.context import Context
from segments.services.ingestion.manifest import Manifest, read_manifest, write_manifest, write_registry
from segments.services.ingestion.session_store import change_session, finish_session, read_task
from segments.services.jobs.heartbeat import heartbeat
from segments.spark.build_part import Built

log = logging.getLogger(__name__)
_HEARTBEAT_S: Final = 3.0
#: A run that no worker took up for this long is handed to the queue again.
PICKUP_MS: Final = 20_000


class HeldSession:
    """``session`` and ``manifest`` as this holder knows them; nobody else writes them while the lease lives."""

    def __init__(self, ctx: Context, table: TableName, session: IngestionSession, owner: str) -> None:
        self.ctx, self.table, self.session, self.owner = ctx, table, session, owner
        self.manifest = read_manifest(ctx, session)
        #: Parts that this holder saw staged, by ordinal: they need not be searched for.
        self.staged: dict[int, Built] = {}
        self.is_lost = False
        self._one_writer = threading.Lock()

    def change(self, **fields: Any) -> None:
        """Write fields, if the lease is still ours. Conflict when it is not: stop at once and touch nothing more."""
        with self._one_writer:
            self.session = change_session(self.ctx, self.table, self.session.id, lambda s: self._mine(s, fields))

    def save(self, manifest: Manifest, **fields: Any) -> None:
        """Write the manifest, then the session that names it."""
        fields = self._with_manifest(manifest, fields)
        self.change(**fields)
        self._use(manifest)

    def finish(self, manifest: Manifest, ingested: IngestedFiles, **fields: Any) -> None:
        """As ``save``, together with what is ingested from now on."""
        fields = self._with_manifest(manifest, fields)
        old, new = read_task(self.ctx, self.table).registry_uri, write_registry(self.ctx, self.table, ingested)
        with self._one_writer:
            self.session = finish_session(self.ctx, self.table, self.session.id, lambda s: self._mine(s, fields), new)
        self._use(manifest)
        self._drop(old)

    def check(self) -> None:
        """Conflict when the lease is known to be lost."""
        if self.is_lost:
            raise self._lost()

    def release(self, after_s: float = 0.0, **fields: Any) -> None:
        """Let go; nobody is to take it up before ``after_s`` seconds have passed."""
        until = self.ctx.clock() + int(after_s * 1000)
        self.change(owner="", lease_until_ms=until, **fields)

    def end_run(self, error: str = "", **fields: Any) -> None:
        """Close the run: the session waits for a trigger, or is over. Counts of the run are written down."""
        self.change(**self._closed(self.manifest) | {"error": mask_text(error)} | fields)

    def heartbeat(self) -> AbstractContextManager[None]:
        """Renew the lease from a thread while the block runs."""
        return heartbeat(f"session {self.session.id}", self._renew, _HEARTBEAT_S)

    def _renew(self) -> bool:
        if not self.is_lost:
            with suppress(Conflict):
                self.change()
        return not self.is_lost

    def _mine(self, now: IngestionSession, fields: dict[str, Any]) -> IngestionSession:
        if now.owner != self.owner or not (now.is_open or now.has_leftovers):
            self.is_lost = True
            raise self._lost()
        clock = self.ctx.clock()
        lists = {"segments_from": self.manifest.segments_from, "segments_to": self.manifest.segments_to}
        lease = {"lease_until_ms": clock + int(self.ctx.limits.push_lease_s * 1000)}
        return now.changed(clock, **lists | lease | fields)

    def _closed(self, manifest: Manifest) -> dict[str, Any]:
        """Fields of a session without a run under way. A run that ended before the session was given up keeps its
        end.
        """
        counts, runs = count(manifest.files), self.session.runs
        if runs:
            end_ms = runs[-1].end_ms or self.ctx.clock()
            runs = (*runs[:-1], replace(runs[-1], ok=counts.done, failed=counts.failed, end_ms=end_ms))
        return {"task": "", "owner": "", "lease_until_ms": 0, "error": "", "runs": runs, "spark_ui": ""}

    def _lost(self) -> Conflict:
        return Conflict(f"Session '{self.session.id}' of table '{self.table}' is in other hands now.")

    def _with_manifest(self, manifest: Manifest, fields: dict[str, Any]) -> dict[str, Any]:
        uri = write_manifest(self.ctx, self.table, self.session.id, manifest)
        self._replaced = self.session.manifest_uri
        sums = {"rows": sum(f.rows for f in manifest.files), "bytes": sum(f.bytes for f in manifest.files)}
        version = self.session.manifest_version + 1
        return {
            "counts": count(manifest.files), "manifest_uri": uri, "manifest_version": version,
            "segments_from": manifest.segments_from, "segments_to": manifest.segments_to, **sums, **fields,
        }  # fmt: skip

    def _use(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._drop(self._replaced)

    def _drop(self, path: str) -> None:
        """Delete a list that nothing names any more. Where the store does not, it stays and does no harm: the session
        goes on.
        """
        try:
            if path:
                self.ctx.deep_store.delete(path)
        except (OSError, Unavailable) as error:
            log.warning("'%s' stays in the deep store: %s", path, error)


def acquire(ctx: Context, table: TableName, session_id: str, owner: str) -> HeldSession | None:
    """Take the lease of a session with a run under way; None when it has none. StateConflict while somebody else holds
    it.
    """

    def take(now: IngestionSession) -> IngestionSession:
        if not (now.is_running or now.has_leftovers):
            return now
        if now.owner not in ("", owner) and ctx.clock() < now.lease_until_ms:
            raise StateConflict(f"Session '{session_id}' is being worked on by {now.owner}.")
        until = ctx.clock() + int(ctx.limits.push_lease_s * 1000)
        return now.changed(ctx.clock(), owner=owner, lease_until_ms=until)

    taken = change_session(ctx, table, session_id, take)
    return HeldSession(ctx, table, taken, owner) if taken.owner == owner and taken.task else None


def next_run(session: IngestionSession, now_ms: int) -> dict[str, Any]:
    """Fields of a session of which another run begins: a worker is to take it up soon."""
    task = f"Task_FileIngestionTask_{uuid.uuid4()}_{now_ms}"
    number = session.runs[-1].number + 1 if session.runs else 0  # the record keeps the newest runs only
    return {
        "task": task, "owner": "", "lease_until_ms": now_ms + PICKUP_MS, "error": "", "blocked": False,
        "runs": (*session.runs, Run(number, task, now_ms)),
    }  # fmt: skip


def with_files(manifest: Manifest, files: Sequence[FileRecord]) -> Manifest:
    """The manifest with some files changed, by URI."""
    changed = {f.uri: f for f in files}
    return replace(manifest, files=tuple(changed.get(f.uri, f) for f in manifest.files))
