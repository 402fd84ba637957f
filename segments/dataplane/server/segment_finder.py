"""What of this server answers a query, all of it at one moment: segments, what was read behind open ones, and which
rows of each key count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.primary_keys.table_keys import TableKeys, locked
from segments.dataplane.query import RowMask
from segments.dataplane.server.held.slots import Answering, Slots
from segments.dataplane.server.http.query_request import QueryRequest

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
    """``missing``: segments that cannot answer. ``masks``: {name of rows: which of them count, None: all}."""

    pieces: Sequence[Piece]
    missing: Sequence[str]
    masks: Mapping[str, RowMask | None] = field(default_factory=dict)


class SegmentFinder:
    """Safe between threads."""

    def __init__(self, slots: Slots, keys: ServerKeys, tail_of: TailOf) -> None:
        self._slots, self._keys, self._tail_of = slots, keys, tail_of

    def find(self, request: QueryRequest) -> Found:
        """One that is behind what the broker has seen elsewhere gets a moment (rule `never-backwards`)."""
        until = time.monotonic() + _BEHIND_S
        while True:
            found = self._find(request)
            if found.missing or not _is_behind(found, request) or time.monotonic() >= until:
                return found
            time.sleep(_POLL_S)

    def _find(self, request: QueryRequest) -> Found:
        keys = self._keys.known(request.table)
        with locked(keys):
            segments, missing = self._slots.find(request.table, request.segments)
            pieces = [Piece(s.name, s) for s in segments]
            for segment in segments:
                if segment.name in (request.tails or {}):
                    pieces += [Piece(segment.name, rows, is_tail=True) for rows in self._tail(request, segment, keys)]
            masks = {} if keys is None else keys.masks([piece.rows for piece in pieces])
        return Found(pieces, missing, masks)

    def _tail(self, request: QueryRequest, segment: Answering, keys: TableKeys | None) -> Sequence[Answering]:
        """Where later rows hide earlier ones, all later rows have to be there: also those of segments that the broker
        does not know yet.
        """
        if keys is None:
            return self._tail_of(request.table, segment.name, segment.num_docs)
        later, _ = self._slots.find(request.table, keys.behind(segment.name))
        return [rows for rows in later if rows.name not in request.segments]


def _is_behind(found: Found, request: QueryRequest) -> bool:
    tails, min_docs = request.tails or {}, request.min_docs or {}
    behind = dict.fromkeys((p.name for p in found.pieces if p.name in tails), 0)
    for piece in found.pieces:
        if piece.is_tail:
            behind[piece.name] += piece.rows.num_docs
    # What was seen behind the segment before may be more than this one can hold: the rest is behind it.
    return any(
        p.rows.is_growing and not p.is_tail and p.rows.num_docs + behind.get(p.name, 0) < min_docs.get(p.name, 0)
        for p in found.pieces
    ) or any(rows < tails[name] for name, rows in behind.items())
