"""May this replacement start? The table's quota against what the client says it will upload (rule
`declared-size-fits`), before anything is uploaded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.whole_number import whole_number
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.segments import admission
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.services.core.context import Context
from segments.services.segments.segments import read_segments

#: Keys of a start's ``customMap``, whole numbers as text: bytes of all new tars in one copy, and their rows.
DECLARED_BYTES: Final = "pinotadmin.declaredBytes"
DECLARED_ROWS: Final = "pinotadmin.declaredRows"
#: Notes of a lineage entry that keep them.
_BYTES_NOTE: Final = "declared.bytes"
_ROWS_NOTE: Final = "declared.rows"


@dataclass(frozen=True)
class Declared:
    """What a client says that it will upload; None: it did not say."""

    bytes: int | None = None
    rows: int | None = None

    @property
    def notes(self) -> dict[str, str]:
        """For the lineage entry."""
        given = {_BYTES_NOTE: self.bytes, _ROWS_NOTE: self.rows}
        return {k: str(v) for k, v in given.items() if v is not None}


def declare(size: int, rows: int) -> dict[str, str]:
    """The ``customMap`` that declares these."""
    return {DECLARED_BYTES: str(size), DECLARED_ROWS: str(rows)}


def read_declared(custom_map: Mapping[str, str] | None) -> Declared:
    """What a ``customMap`` declares; other keys are none of ours. Raises InvalidInput for what is not a
    whole number.
    """
    found: list[int | None] = []
    for key in (DECLARED_BYTES, DECLARED_ROWS):
        text = (custom_map or {}).get(key)
        number = None if text is None else whole_number(str(text).strip())
        if text is not None and number is None:
            raise InvalidInput(
                f"'customMap.{key}' must be a whole number from 0 on, not {text!r}.", field=f"customMap.{key}"
            )
        found.append(number)
    return Declared(*found)


def declared_rows(entry: Entry) -> int | None:
    """Rows that the start of this entry declared; None: it did not say."""
    text = entry.notes.get(_ROWS_NOTE, "")
    return int(text) if text.isdecimal() else None


def admit(ctx: Context, config: TableConfig, lineage: Lineage, declared: Declared, leaving: Collection[str]) -> None:
    """Forbidden, with numbers, when stored, promised and declared bytes together exceed the table's quota.

    A client that declares nothing is refused on a table that is over its quota already: each of its uploads would be.
    Stored is every segment with a record, hidden snapshots too, as Pinot counts (rule `declared-size-fits`), without
    those that ``leaving`` takes out with this start. Promised is what other open entries declared and have not uploaded
    yet, so that two pushes do not share one room.
    """
    if admission.quota_bytes(config) is None:
        return
    sizes = {m.name: m.size_bytes or 0 for m in read_segments(ctx, config.table)}
    stored = sum(sizes.values()) - sum(sizes.get(s, 0) for s in set(leaving))
    promised = 0
    for entry in lineage.entries.values():
        if entry.state is State.IN_PROGRESS and entry.notes.get(_BYTES_NOTE, "").isdecimal():
            promised += max(0, int(entry.notes[_BYTES_NOTE]) - sum(sizes.get(s, 0) for s in entry.segments_to))
    admission.check_projected(config, stored, promised, declared.bytes or 0)
