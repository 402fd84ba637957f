"""The primary keys of all tables of a server that have them."""

from __future__ import annotations

import threading

from segments.dataplane.primary_keys.table_keys import TableKeys
from segments.domain.tables import schema as schemas
from segments.domain.tables import table_config as configs
from segments.domain.tables.keyed_tables import key_rules
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.names import REALTIME, split_table_name
from segments.store import paths
from segments.store.base import Store


class ServerKeys:
    """By typed table. A table that comes again with other keys begins with none. Safe between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._tables: dict[str, TableKeys] = {}

    def known(self, table: str) -> TableKeys | None:
        """The table's keys if it was read before; never waits. Nothing of a table answers before."""
        return self._tables.get(table)

    def of(self, table: str) -> TableKeys | None:
        """The table's keys; None when every row counts. Raises PinotAdminError when its config cannot be read."""
        raw, kind = split_table_name(table)
        if kind != REALTIME:
            return None
        config, schema = self._store.get_many([paths.table_config(table), paths.schema(raw)])
        if config is None or config.record is None or schema is None or schema.record is None:
            return None
        return self.given(configs.from_record(config.record), schemas.from_record(schema.record))

    def given(self, config: TableConfig, schema: Schema) -> TableKeys | None:
        """The same, of a config and schema that were read already."""
        rules, table = key_rules(config, schema), config.table.typed
        with self._lock:
            known = self._tables.get(table)
            if rules is None:
                self._tables.pop(table, None)
                return None
            if known is None or known.rules != rules:
                known = self._tables[table] = TableKeys(rules, schema)
            return known

    def forget(self, table: str) -> None:
        """The table is gone."""
        with self._lock:
            self._tables.pop(table, None)
