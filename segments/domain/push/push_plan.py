"""A push's frozen plan: input files with fingerprints, parts (one segment each), and which steps are still to do.

Nothing in a plan depends on who carries it out or how often: names, order and cuts are fixed when it is made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import Entry, State
from segments.errors import InvalidInput

#: Segments of one push: its plan names every one of them.
MOST_PARTS: Final = 100_000


@dataclass(frozen=True)
class InputFile:
    """One file as listed: ``path`` is a plain path of this machine or else a URI; ``size`` bytes, ``mtime_ns`` of its
    last change and, where its store gives one, ``etag`` are its fingerprint. ``checksum`` is that of its bytes, where
    the store gives it.
    """

    path: str
    size: int
    mtime_ns: int
    etag: str = ""
    checksum: str = ""

    def is_same(self, other: InputFile) -> bool:
        """Has it the other's fingerprint? Etags count where both are known: listings do not give them."""
        mine, its = (self.path, self.size, self.mtime_ns), (other.path, other.size, other.mtime_ns)
        return mine == its and (self.etag == other.etag or not self.etag or not other.etag)


class Unit(StrEnum):
    """What a piece counts: rows; bytes of a file that is not compressed, from the beginning of a row to the beginning
    of another; row groups of Parquet or stripes of ORC.
    """

    ROWS = "rows"
    BYTES = "bytes"
    GROUPS = "groups"


@dataclass(frozen=True)
class Piece:
    """Rows, bytes or groups [start, stop) of a file; ``stop`` None: to its end. ``size``: about how many bytes these
    are, 0: as many as the file has.
    """

    file: InputFile
    start: int = 0
    stop: int | None = None
    unit: Unit = Unit.ROWS
    size: int = 0

    @property
    def is_whole(self) -> bool:
        """All of the file."""
        return self.start == 0 and self.stop is None

    @property
    def weight(self) -> int:
        """About how many bytes are read for it."""
        return self.size or self.file.size

    def __str__(self) -> str:
        return self.file.path + ("" if self.is_whole else f" {self.unit} {self.start + 1}-{self.stop or 'end'}")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Part:
    """One segment: ``ordinal`` within the push, ``sequence`` for its name, and where its rows come from."""

    ordinal: int
    sequence: int
    pieces: tuple[Piece, ...]

    @property
    def source(self) -> str:
        """Its files, for people."""
        return ", ".join(map(str, self.pieces))

    @property
    def weight(self) -> int:
        """About how many bytes are read for it."""
        return sum(p.weight for p in self.pieces)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the database and the executors."""
        return {"ordinal": self.ordinal, "sequence": self.sequence, "pieces": [p.to_json() for p in self.pieces]}


def part_from_json(body: Mapping[str, Any]) -> Part:
    """Back from ``Part.to_json``."""
    pieces = tuple(_piece(p) for p in body["pieces"])
    return Part(body["ordinal"], body["sequence"], pieces)


def _piece(body: Mapping[str, Any]) -> Piece:
    unit = Unit(body.get("unit", Unit.ROWS))
    return Piece(InputFile(**body["file"]), body["start"], body["stop"], unit, body.get("size", 0))


def parts_by_file(files: Sequence[InputFile]) -> list[Part]:
    """One segment per file, in the order of their paths; ``sequence_ids.numbered`` says how they are counted."""
    return [Part(i, i, (Piece(f),)) for i, f in enumerate(sorted(files, key=lambda f: f.path))]


def parts_by_rows(files: Sequence[InputFile], rows: Mapping[str, int], target: int) -> list[Part]:
    """Segments of ``target`` rows (the last may have fewer), cut through and across files in the order
    of their paths. InvalidInput for more than ``MOST_PARTS``.
    """
    total = sum(rows.values())
    if total > MOST_PARTS * target:
        raise InvalidInput(
            f"{counted(total, 'row')} in segments of {target:,} are more than {MOST_PARTS:,} segments.",
            remedy="Raise segmentTargetRows, or push folder by folder.",
            field="segmentTargetRows",
        )
    parts: list[Part] = []
    pieces: list[Piece] = []
    room = target
    for file, start, stop in _stretches(files, rows, target):
        pieces.append(Piece(file, start, stop))
        room -= stop - start
        if room == 0:
            parts.append(Part(len(parts), len(parts), tuple(pieces)))
            pieces, room = [], target
    if pieces:
        parts.append(Part(len(parts), len(parts), tuple(pieces)))
    return parts


def _stretches(
    files: Sequence[InputFile], rows: Mapping[str, int], target: int
) -> Iterator[tuple[InputFile, int, int]]:
    """Row ranges of files in order, none crossing a multiple of ``target`` counted over all files."""
    passed = 0
    for file in sorted(files, key=lambda f: f.path):
        start, total = 0, rows[file.path]
        while start < total:
            stop = min(total, start + target - passed % target)
            yield file, start, stop
            passed += stop - start
            start = stop


def still_to_build(parts: Sequence[Part], staged: Collection[int]) -> list[Part]:
    """Parts whose ordinal is not staged yet."""
    return [p for p in parts if p.ordinal not in staged]


class Step(StrEnum):
    """What to do about the push's lineage entry."""

    START = "START"
    UPLOAD = "UPLOAD"
    NOTHING = "NOTHING"
    GIVE_UP = "GIVE_UP"


def next_step(entry: Entry | None, *, started: bool) -> Step:
    """From our entry as it is in the lineage now (None: not there) and whether we know that it was started.

    An entry that somebody reverted, or that is gone after it was started, is never opened again: what it replaced may
    have changed. A COMPLETED one needs nothing: the reply was lost, not the switch.
    """
    if entry is None:
        return Step.GIVE_UP if started else Step.START
    return {State.IN_PROGRESS: Step.UPLOAD, State.COMPLETED: Step.NOTHING, State.REVERTED: Step.GIVE_UP}[entry.state]


def must_revert(entry: Entry | None) -> bool:
    """A failed push takes back only what is its own and still open; a completed switch is never undone by a late
    failure.
    """
    return entry is not None and entry.state is State.IN_PROGRESS
