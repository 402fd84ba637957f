"""Ranges and numbers of values of columns of a real Pinot's segments: its servers know them, and its controller asks
them for us.

Old controllers are asked about one segment at a time, newer ones about many; ``MOST`` segments in all, on request only.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, zip_longest
from typing import Any, Final

from segments.clusters.pinot.calls import controller, quoted, refusals_translated, version
from segments.domain.formats.plural import counted
from segments.domain.pinot import capabilities
from segments.domain.segments.column_profile import ColumnProfile, profile_of
from segments.domain.tables.schema import STORED_TYPES
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core.context import Context

log = logging.getLogger(__name__)

#: Segments that are asked about for one comparison.
MOST: Final = 200
#: Names in one question, which stand in its address; questions at the same time.
_BATCH: Final = 25
_AT_ONCE: Final = 4
#: Seconds for one answer: the controller waits for its servers.
_WAIT_S: Final = 20.0


class PinotColumns:
    """Reads columns of segments of one table; remembers what was not reported. ``wanted`` are all that may be asked
    about, by importance.
    """

    def __init__(self, ctx: Context, table: TableName, *wanted: Sequence[str]) -> None:
        self._ctx, self._table = ctx, table
        everything = _in_turns(wanted)
        self._chosen, self._all = set(everything[:MOST]), len(everything)
        self._has_batches = capabilities.has_surely(version(ctx), capabilities.SEGMENT_METADATA)
        self._missing: list[str] = []
        self._why = ""

    def read(self, segments: Collection[str]) -> list[ColumnProfile]:
        """Columns of those of them that are among the chosen ones, one item per column and segment."""
        names = sorted(set(segments) & self._chosen)
        found: list[ColumnProfile] = []
        size = _BATCH if self._has_batches else 1
        batches = [names[at : at + size] for at in range(0, len(names), size)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for asked, answered in zip(batches, pool.map(self._ask, batches), strict=True):
                found.extend(chain.from_iterable(answered.values()))
                self._missing.extend(name for name in asked if name not in answered)
        return found

    def notes(self) -> list[str]:
        """What is missing from the columns."""
        notes = []
        if self._all > MOST:
            notes.append(
                f"The columns of {MOST} of {self._all:,} segments were read, those that differ first: "
                "ranges and numbers are of these."
            )
        if self._missing:
            why = f" {self._why}" if self._why else " No server that is alive serves them."
            notes.append(
                f"The columns of {counted(len(self._missing), 'segment')} are not counted, "
                f"e.g. of '{self._missing[0]}'.{why}"
            )
        return notes

    def _ask(self, names: Sequence[str]) -> dict[str, list[ColumnProfile]]:
        """{segment: its columns} of those that the controller reports."""
        try:
            with refusals_translated(is_change=False):
                bodies = self._many(names) if self._has_batches else self._one(names[0])
        except PinotAdminError as error:
            log.warning("the columns of %s of %s could not be read: %s", names, self._table, error)
            self._why = self._why or error.message
            return {}
        return {
            name: list(_profiles(body))
            for name, body in bodies.items()
            if isinstance(body, dict) and body.get("columns")
        }

    def _one(self, name: str) -> dict[str, Any]:
        path = f"/segments/{quoted(self._table.typed)}/{quoted(name)}/metadata"
        return {name: controller(self._ctx).get(path, {"columns": "*"}, timeout=_WAIT_S)}

    def _many(self, names: Sequence[str]) -> dict[str, Any]:
        params = {"type": self._table.type, "columns": "*", "segments": list(names)}
        found = controller(self._ctx).get(f"/segments/{quoted(self._table.typed)}/metadata", params, timeout=_WAIT_S)
        return {name: found[name] for name in names if name in found} if isinstance(found, dict) else {}


def _in_turns(groups: Sequence[Sequence[str]]) -> list[str]:
    """The first of each group, then the second of each: a long one takes nothing from the others. The last group only
    after them all.
    """
    *first, last = groups
    turns = [name for row in zip_longest(*first) for name in row if name is not None]
    return list(dict.fromkeys([*turns, *last]))


def _profiles(body: Mapping[str, Any]) -> Iterator[ColumnProfile]:
    for column in body.get("columns") or ():
        if isinstance(column, dict) and column.get("columnName"):
            kind = str(column.get("dataType") or "")
            docs, cardinality = column.get("totalDocs"), column.get("cardinality")
            yield profile_of(
                str(column["columnName"]),
                kind,
                STORED_TYPES.get(kind, kind),
                low=_text(column.get("minValue")),
                high=_text(column.get("maxValue")),
                cardinality=cardinality if isinstance(cardinality, int) else 0,
                has_rows=docs != 0,
            )


def _text(value: Any) -> str | None:
    """A value as text; None for what is none, such as bytes, which come as an object."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
