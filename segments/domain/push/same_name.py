"""A push that would take the place of segments by giving new ones their names: what it says, and how it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict

#: Segments named in the sentence, and in the data with it.
_SHOWN: Final = 3
_LISTED: Final = 100


@dataclass(frozen=True)
class SameName:
    """One segment that would be replaced: its rows now, and after it; None where that is not known (yet)."""

    segment: str
    rows_before: int | None
    rows_after: int | None = None

    def __str__(self) -> str:
        now = "rows not known" if self.rows_before is None else f"{counted(self.rows_before, 'row')} now"
        return f"'{self.segment}' ({now}{'' if self.rows_after is None else f', {self.rows_after:,} after'})"


def would_replace(config: TableConfig, found: Sequence[SameName]) -> StateConflict:
    """The refusal of a push that did not ask to replace what is there."""
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    names = ", ".join(str(f) for f in found[:_SHOWN])
    return StateConflict(
        f"The push would replace {counted(len(found), 'segment')} of table '{config.table}' by name: {names}{more}.",
        remedy="Push with overwrite=true to replace them; what is replaced is kept, and listed under Deleted. Or "
        f"{_other_way(config)}.",
        segments=[f.segment for f in found[:_LISTED]],
        count=len(found),
        rowsBefore=_sum([f.rows_before for f in found]),
        rowsAfter=_sum([f.rows_after for f in found]),
    )


def _other_way(config: TableConfig) -> str:
    if config.is_refresh:
        return (
            "set ingestionConfig.batchIngestionConfig.consistentDataPush, and every push replaces the whole table in "
            "one switch"
        )
    return "leave segmentNameGeneratorSpec out, and every push adds segments with names of its own"


def _sum(rows: Sequence[int | None]) -> int | None:
    known = [r for r in rows if r is not None]
    return sum(known) if len(known) == len(rows) else None
