"""Remembers how far this broker has read each consuming partition, so that no later query of it sees fewer rows (rule
`never-backwards`).

Replicas consume on their own, one may be ahead of another. Two things keep answers from going back: queries of a
partition stay with one server while it is up, and each request says how many rows were seen before; a server that is
behind waits a moment for them. When the only replica left cannot get there (the one that was ahead is dead), what it
has is the truth from then on.

A partition's newest segment is *open*: while it is being committed, servers answer it together with rows that they have
read behind its end, its tail. Once the next segment is routed these rows are that segment's first ones.
"""

from __future__ import annotations

import threading
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from segments.dataplane.broker.routing import Routing, ServerRef
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name, partition_stem


@dataclass(frozen=True)
class Least:
    """What an answer must have at least: rows of growing segments, and rows behind the end of open ones;
    0: any number. ``together``: segments that are read with all others of their partition from one server.
    """

    docs: Mapping[str, int] = field(default_factory=dict)
    tails: Mapping[str, int] = field(default_factory=dict)
    together: frozenset[str] = frozenset()

    @property
    def segments(self) -> frozenset[str]:
        """Segments that are read where the partition was read before."""
        return frozenset(self.docs) | frozenset(self.tails) | self.together


@dataclass
class _Table:
    """``docs``: rows seen of growing segments; ``tails``: {partition: (sequence of the open segment, rows seen behind
    it)}.
    """

    docs: dict[str, int] = field(default_factory=dict)
    tails: dict[str, tuple[int, int]] = field(default_factory=dict)


class Progress:
    """Rows seen of each partition, and the server that it was read from. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[str, _Table] = defaultdict(_Table)
        self._server: dict[str, str] = {}

    def least(self, routing: Routing) -> Least:
        """What a query of this routing must see, because an earlier one has."""
        if not (routing.growing or routing.open):
            return Least()
        with self._lock:
            known = self._tables[routing.table.typed]
            docs = {s: max(known.docs.get(s, 0), _tail_before(known, s)) for s in routing.growing}
            tails = {
                s: rows if sequence == _sequence(s) else 0 for s in routing.open for sequence, rows in [_tail(known, s)]
            }
        return Least(docs, tails)

    def note(self, routing: Routing, asked: Least, docs: Mapping[str, int], tails: Mapping[str, int]) -> None:
        """A query that required at least ``asked`` was answered from so many rows of growing segments, and behind open
        ones.
        """
        with self._lock:
            known = self._tables[routing.table.typed]
            for segment in [s for s in known.docs if s not in routing.growing]:
                del known.docs[segment]
            for segment, rows in docs.items():
                if _counts(rows, known.docs.get(segment, 0), asked.docs.get(segment, 0)):
                    known.docs[segment] = rows
            for segment, rows in tails.items():
                sequence, before = _tail(known, segment)
                is_next = _sequence(segment) > sequence
                if is_next or (_sequence(segment) == sequence and _counts(rows, before, asked.tails.get(segment, 0))):
                    known.tails[partition_stem(segment)] = (_sequence(segment), rows)

    def choose(self, segment: str, choice: Sequence[ServerRef], sure: Sequence[ServerRef] | None = None) -> ServerRef:
        """The server of ``choice`` (not empty) that this segment's partition was read from before; else one by its
        name, so that partitions spread. One of ``sure``, where these are given (not empty): the partition's other
        segments stay where they are.
        """
        partition, sure = partition_stem(segment), choice if sure is None else sure
        with self._lock:
            before = self._server.get(partition)
            found = next((s for s in sure if s.instance == before), None)
            if found is None:
                found = sorted(sure, key=lambda s: s.instance)[zlib.crc32(partition.encode()) % len(sure)]
                if before not in [s.instance for s in choice]:
                    self._server[partition] = found.instance
            return found


def _counts(rows: int, before: int, asked: int) -> bool:
    """More than before, or fewer than were required: then nobody left has them."""
    return rows > before or (rows < asked and before == asked)


def _tail(known: _Table, segment: str) -> tuple[int, int]:
    return known.tails.get(partition_stem(segment), (-1, 0))


def _tail_before(known: _Table, segment: str) -> int:
    """Rows that were seen behind the segment before this one: now they are its own."""
    sequence, rows = _tail(known, segment)
    return rows if sequence == _sequence(segment) - 1 else 0


def _sequence(segment: str) -> int:
    return parse_llc_name(segment).sequence if is_llc_name(segment) else -2
