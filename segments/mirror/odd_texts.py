"""The finding about what ZooKeeper holds of a table and the database cannot keep, opened and closed by the mirror."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segments.domain.upkeep.findings import Found
from segments.mirror.fitting import sentence
from segments.models import Finding
from segments.services.upkeep.validation import keep_findings

CODE: Final = "mirror-text"


class OddTexts:
    """Those of one cluster; writes only what is news."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._said: dict[str, str] | None = None

    def note(self, table: str, odd: Mapping[str, str]) -> None:
        """``odd``: {what it is about: column}, all that is known of the table."""
        if self._said is None:
            known = Finding.objects.filter(cluster=self._cluster, code=CODE, closed_at=None)
            self._said = dict(known.values_list("table_name", "message"))
        message = sentence(odd)
        if self._said.get(table, "") == message:
            return
        found = [Found(CODE, "", "warning", message)] if message else []
        keep_findings(self._cluster, table, found, owns=lambda code: code == CODE)
        self._said[table] = message

    def forget(self) -> None:
        """Read again what is on record."""
        self._said = None
