"""The schemas that queries are planned with, as of one version of their record; followed by watch."""

from __future__ import annotations

import threading

from segments.domain import schema as schemas
from segments.domain.schema import Schema
from segments.errors import NotFound
from segments.store import paths
from segments.store.base import Store, Watch


class SchemaCache:
    """Schemas by raw table name. What was read while a change came in is not kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Schema, int]] = {}
        self._changes = 0
        self._watch: Watch | None = None

    def start(self) -> None:
        """Follow changes."""
        self._watch = self._store.watch(paths.SCHEMAS, self._on_change)

    def stop(self) -> None:
        """Stop following."""
        if self._watch is not None:
            self._watch.close()

    def get(self, raw: str, at_least: int = 0) -> tuple[Schema, int]:
        """(schema, zxid of its record), read again when the one known is older than ``at_least``. NotFound when there is none."""
        with self._lock:
            found, changes = self._known.get(raw), self._changes
        if found is not None and found[1] >= at_least:
            return found
        node = self._store.get(paths.schema(raw))
        if node is None or node.record is None:
            raise NotFound(f"Schema '{raw}' does not exist.", remedy="Create it with POST /schemas.")
        fresh = schemas.from_record(node.record), node.mzxid
        with self._lock:
            if changes == self._changes:
                self._known[raw] = fresh
        return fresh

    def _on_change(self, path: str | None) -> None:
        with self._lock:
            self._changes += 1
            if path is None:
                self._known.clear()
            else:
                self._known.pop(path.rpartition("/")[2], None)
