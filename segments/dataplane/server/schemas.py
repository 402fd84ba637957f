"""The schemas that queries are planned with: the broker's own version of them, or for others the one in
ZooKeeper now.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final

from segments.domain.tables import schema as schemas
from segments.domain.tables.schema import Schema, parse_schema
from segments.errors import NotFound
from segments.store import paths
from segments.store.base import Store

_REMEMBER_MOST: Final = 500


class SchemaCache:
    """Schemas by raw table name and version (zxid of the record). A version never changes, so what is known stays
    right.

    A broker names the version that it planned with and sends the schema itself when the server does not know it: broker
    and servers plan alike, and no query needs ZooKeeper.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], Schema] = OrderedDict()

    def get(self, raw: str, version: int, body: Any = None) -> Schema | None:
        """The schema of that version, from memory or from ``body`` (schema JSON); None when it is not known."""
        with self._lock:
            found = self._known.get((raw, version))
        if found is not None or body is None:
            return found
        return self._keep(raw, version, parse_schema(body))

    def read(self, raw: str) -> Schema:
        """The schema in ZooKeeper now. NotFound when there is none."""
        node = self._store.get(paths.schema(raw))
        if node is None or node.record is None:
            raise NotFound(f"Schema '{raw}' does not exist.", remedy="Create it with POST /schemas.")
        return self.get(raw, node.mzxid) or self._keep(raw, node.mzxid, schemas.from_record(node.record))

    def _keep(self, raw: str, version: int, schema: Schema) -> Schema:
        with self._lock:
            self._known[raw, version] = schema
            while len(self._known) > _REMEMBER_MOST:
                self._known.popitem(last=False)
        return schema
