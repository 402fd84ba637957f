"""Columns of segments of the embedded cluster: the servers that hold them add theirs up."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from segments.domain.formats.plural import counted
from segments.domain.segments.column_profile import ColumnProfile
from segments.domain.segments.ideal_state import serving
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.snapshots import ProfileReader
from segments.store import paths
from segments.store.records.instances import instance_configs

log = logging.getLogger(__name__)


class ServerColumns:
    """Reads columns from servers, each segment once; remembers what none reported (all, without ``read_profile``)."""

    def __init__(self, ctx: Context, table: TableName, read_profile: ProfileReader | None) -> None:
        self._table, self._read_profile = table, read_profile
        view = ctx.store.get(paths.external_view(table.typed))
        live = set(ctx.store.children(paths.LIVE_INSTANCES))
        rows = view.record.maps if view and view.record else {}
        self._replicas = {s: [i for i in serving(r) if i in live] for s, r in rows.items()}
        self._urls = {i: c.admin_url for i, c in instance_configs(ctx.store).items()}
        self._silent: set[str] = set()
        self._missing: list[str] = []

    def read(self, segments: Collection[str]) -> list[ColumnProfile]:
        """Columns of all these segments, one item per column and server. Another replica is asked where one does not
        answer.
        """
        profiles: list[ColumnProfile] = []
        left, asked = list(segments), {s: set[str]() for s in segments}
        while left:
            batches: dict[str, list[str]] = {}
            for number, segment in enumerate(left):
                usable = [
                    i
                    for i in self._replicas.get(segment, [])
                    if i in self._urls and i not in self._silent and i not in asked[segment]
                ]
                if usable:
                    chosen = usable[number % len(usable)]
                    batches.setdefault(chosen, []).append(segment)
                    asked[segment].add(chosen)
                else:
                    self._missing.append(segment)
            left = [s for instance, names in batches.items() for s in self._ask(instance, names, profiles)]
        return profiles

    def _ask(self, instance: str, names: list[str], profiles: list[ColumnProfile]) -> Sequence[str]:
        """Add what the server reports; returns the segments of which it reports nothing."""
        if self._read_profile is None:
            self._silent.add(instance)
            return names
        try:
            found = self._read_profile(self._urls[instance], self._table.typed, names)
        except PinotAdminError as error:
            log.warning("%s does not report the columns of %s: %s", instance, self._table, error)
            self._silent.add(instance)
            return names
        profiles.extend(found.columns)
        return found.missing

    def notes(self) -> list[str]:
        """What is missing from the columns."""
        found = [f"Server {i} did not answer." for i in sorted(self._silent)]
        if self._missing:
            text = (
                f"The columns of {counted(len(self._missing), 'segment')} are not counted, "
                f"e.g. of '{self._missing[0]}': no live server serves them."
            )
            found.append(text)
        return found
