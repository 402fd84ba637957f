"""What of this server answers a query, all of it at one moment: segments, what was read behind open ones, and which
rows of each key count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.primary_keys.table_keys import TableKeys, locked
from segments.dataplane.query import RowMask, shows_all_rows
from segments.dataplane.server.held.slots import Answering, Slots
from segments.dataplane.server.http.query_request import QueryRequest
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name, partition_stem

#: Seconds that a query waits for rows which another replica already showed, and between two checks.
_BEHIND_S: Final = 0.5
_POLL_S: Final = 0.002

#: (typed table, segment, its rows) -> rows that were read behind exactly these, in pieces.
TailOf = Callable[[str, str, int], Sequence[Answering]]


@dataclass(frozen=True)
class Piece:
    """Rows that answer as part of segment ``name``; ``is_tail``: they were read behind its end."""

    name: str
    rows: Answering
    is_tail: bool = False


@dataclass(frozen=True)
class Found:
    """``missing``: segments that cannot answer. ``behind``: those with fewer rows than asked for. ``masks``: {name of
    rows: which of them count, None: all}.
    """

    pieces: Sequence[Piece]
    missing: Sequence[str]
    masks: Mapping[str, RowMask | None] = field(default_factory=dict)
    behind: Sequence[str] = ()


class SegmentFinder:
    """Safe between threads."""

    def __init__(self, slots: Slots, keys: ServerKeys, tail_of: TailOf) -> None:
        self._slots, self._keys, self._tail_of = slots, keys, tail_of

    def find(self, request: QueryRequest) -> Found:
        """One that is behind what the broker has seen elsewhere gets a moment (rule `never-backwards`)."""
        until = time.monotonic() + _BEHIND_S
        while True:
            found = self._find(request)
            behind = () if found.missing else _behind(found, request)
            if not behind or time.monotonic() >= until:
                found = replace(found, masks=self._masks_alone(request, found)) if request.is_alone else found
                return replace(found, behind=behind) if behind else found
            time.sleep(_POLL_S)

    def _find(self, request: QueryRequest) -> Found:
        keys = self._keys.known(request.table)
        with locked(keys):
            segments, missing = self._slots.find(request.table, request.segments)
            pieces = [Piece(s.name, s) for s in segments]
            for segment in segments:
                if segment.name in (request.tails or {}):
                    pieces += [Piece(segment.name, rows, is_tail=True) for rows in self._tail(request, segment, keys)]
            rows = [piece.rows for piece in pieces]
            masks = {} if keys is None or request.is_alone else keys.masks(rows)
        return Found(pieces, missing, masks)

    def _masks_alone(self, request: QueryRequest, found: Found) -> Mapping[str, RowMask | None]:
        keys = self._keys.known(request.table)
        if keys is None or found.missing or shows_all_rows(request.options or {}):
            return {}
        return keys.masks_alone([piece.rows for piece in found.pieces])

    def _tail(self, request: QueryRequest, segment: Answering, keys: TableKeys | None) -> Sequence[Answering]:
        """Where later rows hide earlier ones, all later rows have to be there: also those of segments that the broker
        does not know yet.
        """
        if keys is None:
            return self._tail_of(request.table, segment.name, segment.num_docs)
        later, _ = self._slots.find(request.table, keys.behind(segment.name))
        return [rows for rows in later if rows.name not in request.segments]


def _behind(found: Found, request: QueryRequest) -> tuple[str, ...]:
    """Segments that have fewer rows than the request asks for."""
    tails, min_docs = request.tails or {}, request.min_docs or {}
    past_end = dict.fromkeys((p.name for p in found.pieces if p.name in tails), 0)
    for piece in found.pieces:
        if piece.is_tail:
            past_end[piece.name] += piece.rows.num_docs
    short = {
        p.name
        for p in found.pieces
        if p.rows.is_growing
        and not p.is_tail
        and p.rows.num_docs < (wanted := min_docs.get(p.name, 0))
        and p.rows.num_docs + _rows_behind(found, p.name) < wanted
    }
    return tuple(short | {name for name, rows in past_end.items() if rows < tails[name]})


def _rows_behind(found: Found, segment: str) -> int:
    """Rows of its partition behind the segment: what was seen behind the one before may be more than this one holds."""
    if not is_llc_name(segment):
        return 0
    stem, sequence = partition_stem(segment), parse_llc_name(segment).sequence
    later = [p for p in found.pieces if is_llc_name(p.name) and partition_stem(p.name) == stem]
    return sum(
        p.rows.num_docs
        for p in later
        if (p.is_tail and p.name == segment) or parse_llc_name(p.name).sequence > sequence
    )
