"""The mirror row of one segment: its record, and what ideal state and external view say of it. A million of them are
in memory, so a row is a tuple that shares with others what is equal, and records are not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from sys import intern
from typing import Any, Final, NamedTuple

from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, SERVING
from segments.domain.segments.segment_metadata import UPLOADED, SegmentMetadata
from segments.secret_texts import mask_text

Rows = Mapping[str, Mapping[str, str]]

_NOWHERE: Final[Mapping[str, str]] = {}
#: Numbers that a push or a commit gives to many segments.
_OFTEN_EQUAL: Final = ("status", "total_docs", "start_ms", "end_ms", "creation_ms", "push_ms", "refresh_ms")


class SegmentRow(NamedTuple):
    """Column values in the order in which they are written; of a segment without a record those of an empty one."""

    status: str = UPLOADED
    crc: int | None = None
    total_docs: int | None = None
    size_bytes: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    creation_ms: int | None = None
    push_ms: int | None = None
    refresh_ms: int | None = None
    download_url: str = ""
    start_offset: str = ""
    end_offset: str = ""
    flush_rows: int | None = None
    partition: int | None = None
    sequence: int | None = None
    is_visible: bool = True
    is_consuming: bool = False
    replicas: Mapping[str, str] = {}
    replicas_wanted: int = 0
    replicas_online: int = 0


COLUMNS: Final = SegmentRow._fields
#: Columns before these come of the record; these and the next come of the name, the rest of where the segment is.
_OF_NAME, _OF_PLACE = COLUMNS.index("partition"), COLUMNS.index("is_visible")
_NO_RECORD: Final = SegmentRow()[:_OF_NAME]


class Places:
    """Where the segments of one table should be and are: ``ideal`` and ``view``; ``hidden`` are those that queries do
    not see. What is the same for many rows is computed once.
    """

    def __init__(self, ideal: Rows, view: Rows, hidden: Collection[str]) -> None:
        self._ideal, self._view, self._hidden = ideal, view, hidden
        self._known: dict[tuple[int, int], tuple[Any, ...]] = {}

    def row(self, name: str, record: SegmentMetadata | None) -> SegmentRow:
        """Of a segment whose record was read; None: it has none."""
        of_record = _columns_of(record) if record is not None else _NO_RECORD
        parts = parse_llc_name(name) if is_llc_name(name) else None
        of_name = (parts.partition, parts.sequence) if parts else (None, None)
        return SegmentRow._make((*of_record, *of_name, name not in self._hidden, *self._place(name)))

    def moved(self, name: str, row: SegmentRow) -> SegmentRow:
        """Of a segment whose record is as it was when ``row`` was made."""
        return SegmentRow._make((*row[:_OF_PLACE], name not in self._hidden, *self._place(name)))

    def _place(self, name: str) -> tuple[Any, ...]:
        wanted, states = self._ideal.get(name, _NOWHERE), self._view.get(name, _NOWHERE)
        key = id(wanted), id(states)  # large records share equal rows
        if key not in self._known:
            replicas = {i: states.get(i, OFFLINE) for i in sorted({*wanted, *states})}
            online = sum(states.get(i) in SERVING for i in wanted)
            self._known[key] = CONSUMING in wanted.values(), replicas, len(wanted), online
        return self._known[key]


def has_record(row: SegmentRow | None, record: SegmentMetadata | None) -> bool:
    """Does the row show what this record holds?"""
    return row is not None and row[:_OF_NAME] == (_columns_of(record) if record is not None else _NO_RECORD)


def shared_rows(rows: Iterable[tuple[str, SegmentRow]]) -> dict[str, SegmentRow]:
    """{segment: row} of rows that come from elsewhere, with equal parts shared as in those that are made here."""
    replicas: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
    return {
        intern(name): row._replace(
            replicas=replicas.setdefault(tuple(row.replicas.items()), row.replicas),
            **{column: _shared(getattr(row, column)) for column in _OFTEN_EQUAL},
        )
        for name, row in rows
    }


def _columns_of(record: SegmentMetadata) -> tuple[Any, ...]:
    flush = record.fields.get("segment.flush.threshold.size", "")
    return (
        record.status,
        record.crc,
        _shared(record.total_docs),
        record.size_bytes,
        _shared(record.start_ms),
        _shared(record.end_ms),
        _shared(record.creation_ms),
        _shared(record.push_ms),
        _shared(record.refresh_ms),
        mask_text(record.download_url or ""),
        record.fields.get("segment.realtime.startOffset", ""),
        record.fields.get("segment.realtime.endOffset", ""),
        int(flush) if flush.isdigit() else None,
    )


@lru_cache(maxsize=10_000)
def _shared(value: Any) -> Any:
    """The same object for equal values."""
    return value
