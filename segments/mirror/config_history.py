"""Keeps versions of schemas and table configs that were written elsewhere, such as over a Pinot's own REST API."""

from __future__ import annotations

from typing import Any

from segments.domain.tables.edits.document_version import version_of
from segments.mirror.rows import TableState
from segments.names import split_table_name
from segments.services.tables.edits.versions import Document, newest_versions, note_seen
from segments.store import paths


class ConfigHistory:
    """What is on record of one cluster's documents; ``see`` adds what is not."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, str], str] | None = None
        #: {(document, name): the record that was compared last}: one that was not written again is the very same.
        self._compared: dict[tuple[str, str], object] = {}

    def see(self, state: TableState) -> None:
        """Keep the table's config and schema if they are versions that are not on record."""
        raw, _ = split_table_name(state.name)
        self._see("config", state.name, state.config, state.documents[paths.TABLE_CONFIGS])
        if state.documents[paths.SCHEMAS] is not None:
            self._see("schema", raw, state.schema, state.documents[paths.SCHEMAS])

    def see_deleted(self, name: str) -> None:
        """The table is gone."""
        key = ("config", name)
        self._compared.pop(key, None)
        if self._versions().get(key) and note_seen(self._cluster, "config", name, None):
            self._versions()[key] = ""

    def forget(self) -> None:
        """Read again what is on record."""
        self._known = None
        self._compared.clear()

    def _see(self, document: Document, name: str, body: dict[str, Any], record: object) -> None:
        key = (document, name)
        if self._compared.get(key) is record:
            return
        version = version_of(body)
        if self._versions().get(key) == version or note_seen(self._cluster, document, name, body):
            self._versions()[key] = version
            self._compared[key] = record

    def _versions(self) -> dict[tuple[str, str], str]:
        if self._known is None:
            self._known = newest_versions(self._cluster)
        return self._known
