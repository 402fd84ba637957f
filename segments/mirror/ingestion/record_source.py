"""Sessions as ZooKeeper and their manifests have them, for as long as a cluster is mirrored."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from segments.domain.ingestion.session import FileRecord, IngestionSession
from segments.mirror.ingestion.session_follower import SessionFollower
from segments.models import Cluster
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.core.context import Context
from segments.services.ingestion import session_store
from segments.services.ingestion.manifest import read_manifest
from segments.store.base import Store


class RecordSource:
    """Reads a cluster's sessions."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.prefix = session_store.root(ctx)

    @property
    def store(self) -> Store:
        """The cluster's."""
        return self._ctx.store

    def tables(self) -> list[str]:
        """Typed names of OFFLINE tables that have any record of a task."""
        return [name for name in self._ctx.store.children(self.prefix) if split_table_name(name)[1] == OFFLINE]

    def sessions(self, table: str) -> Sequence[IngestionSession]:
        """Those on record; none of what is not an OFFLINE table."""
        raw, kind = split_table_name(table)
        return session_store.all_sessions(self._ctx, TableName(raw, OFFLINE)) if kind == OFFLINE else []

    def files(self, table: str, session: IngestionSession) -> Sequence[FileRecord]:
        """All files of a session. Unavailable when its manifest was just replaced."""
        return read_manifest(self._ctx, session).files


@contextmanager
def sessions_followed(ctx: Context, cluster: Cluster) -> Iterator[SessionFollower]:
    """Mirror the cluster's sessions while the block runs, on a thread of its own."""
    follower = SessionFollower(RecordSource(ctx), cluster)
    thread = threading.Thread(target=follower.run, name=f"mirror-sessions-{cluster.name}", daemon=True)
    thread.start()
    try:
        yield follower
    finally:
        follower.stop()
        thread.join(timeout=10.0)
