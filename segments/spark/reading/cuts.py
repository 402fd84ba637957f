"""Where an input file may be cut into pieces of about a size: found in the file, by tasks that may run anywhere.

A file is described first: its pieces, or, of a CSV file, the windows to examine. Text that is
compressed, of a wide encoding or no lines is cut by rows, which are counted; its pieces are read from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Final

from segments.domain.push.push_plan import InputFile, Piece, Unit
from segments.domain.push.reader_spec import ReaderSpec
from segments.errors import InvalidInput
from segments.gateways.input_files.access import access_from_json
from segments.gateways.input_files.source import InputSource, input_source
from segments.spark.reading.avro_rows import AvroFile
from segments.spark.reading.columnar import Columnar
from segments.spark.reading.csv_cuts import Window, record_starts, scan_window
from segments.spark.reading.json_text import has_object_lines
from segments.spark.reading.rows import count_rows
from segments.spark.reading.text import Text

_HEAD: Final = 1 << 16
#: A file of several pieces has a multiple of so many: two or four cores end together.
_TURNS: Final = 4
#: Pieces that are enough for many cores. Of a file that has fewer they are smaller, which costs less a byte, too.
_ENOUGH: Final = 32
#: Of files with at least so many pieces the last ones are halved.
_HALVED_FROM: Final = 12
#: Plain values: they travel to the executors and back.
Item = dict[str, Any]
Answer = dict[str, Any]


def describe(file: InputFile, reader: ReaderSpec, target: int, source: InputSource) -> dict[str, Any]:
    """``{"pieces": [...]}`` or, of a CSV file, ``{"windows": [(start, stop), ...]}``, in plain values.

    Raises InvalidInput for a file that cannot be read.
    """
    if reader.format in ("parquet", "orc"):
        sizes = Columnar(file.path, reader.format, source).group_sizes()
        return _answer(_grouped(file, sizes, target))
    if reader.format == "avro":
        avro = AvroFile(file.path, source)
        if avro.is_packed:
            return by_rows(file, reader, target, source)
        return _answer(_between(file, avro.cuts(places(file.size, target))))
    text = Text(file.path, reader.encoding, source)
    if text.is_seekable():
        near = places(file.size, target)
        if reader.format == "csv" and reader.escape is None:
            return {"windows": list(pairwise([0, *near, file.size]))}
        if reader.format == "json" and has_object_lines(next(text.chunks(size=_HEAD), b"")):
            return _answer(_between(file, _line_starts(text, file.size, near)))
    return by_rows(file, reader, target, source)


def by_rows(file: InputFile, reader: ReaderSpec, target: int, source: InputSource) -> dict[str, Any]:
    """Pieces of rows, of a file that is only read from its beginning."""
    size = sum(map(len, Text(file.path, reader.encoding, source).chunks()))
    rows = count_rows(file.path, reader, source)
    count = min(max(-(-size // target), 1), max(rows, 1))
    ends = [rows * i // count for i in range(count)]
    starts: list[int | None] = [*ends, None]
    return _answer([Piece(file, a or 0, b, Unit.ROWS, size // count) for a, b in pairwise(starts)])


def scan(file: InputFile, reader: ReaderSpec, start: int, stop: int, source: InputSource) -> dict[str, Any]:
    """A window of a CSV file, in plain values."""
    return asdict(scan_window(Text(file.path, reader.encoding, source), reader, start, stop))


def pieces_of_windows(file: InputFile, windows: Sequence[Mapping[str, Any]]) -> list[Piece] | None:
    """The pieces of a CSV file from all its windows in order; None when it cannot be cut by bytes."""
    starts = record_starts([Window(tuple(w["first"]), tuple(w["is_possible"]), w["flips"]) for w in windows])
    return None if starts is None else _between(file, starts)


def find_cuts(
    files: Sequence[InputFile],
    reader: ReaderSpec,
    target: int,
    access: Mapping[str, Any],
    run: Callable[[Sequence[Item], Callable[[Item], Answer]], Sequence[Answer]],
) -> dict[str, list[Piece]]:
    """{path: pieces} of files that can be cut. One that cannot be read is left out: building it says why.

    ``access`` is a ``FileAccess`` in plain values. ``run`` carries out a function for every item, anywhere, and gives
    the answers in the order of the items.
    """
    first = run([_item(f) for f in files], lambda item: _tried(_file(item), reader, target, _source(access)))
    windows = [{**_item(f), "window": w} for f, a in zip(files, first, strict=True) for w in a.get("windows", ())]
    scanned = run(windows, lambda item: _scanned(item, reader, _source(access)))
    found, again = dict[str, list[Piece]](), list[InputFile]()
    for file, answer in zip(files, first, strict=True):
        if "pieces" in answer:
            found[file.path] = pieces_of(file, answer)
        elif "windows" in answer:
            own = [a for w, a in zip(windows, scanned, strict=True) if w["path"] == file.path]
            pieces = pieces_of_windows(file, own) if all("flips" in a for a in own) else None
            if pieces is None:
                again.append(file)
            else:
                found[file.path] = pieces
    rows_only = run(
        [_item(f) for f in again], lambda item: _tried(_file(item), reader, target, _source(access), only_rows=True)
    )
    found.update({f.path: pieces_of(f, a) for f, a in zip(again, rows_only, strict=True) if "pieces" in a})
    return found


def _tried(file: InputFile, reader: ReaderSpec, target: int, source: InputSource, *, only_rows: bool = False) -> Answer:
    try:
        return (by_rows if only_rows else describe)(file, reader, target, source)
    except InvalidInput:
        return {}


def _scanned(item: Item, reader: ReaderSpec, source: InputSource) -> Answer:
    start, stop = item["window"]
    try:
        return scan(_file(item), reader, start, stop, source)
    except InvalidInput:
        return {}


def _source(access: Mapping[str, Any]) -> InputSource:
    return input_source(access_from_json(access))


def _item(file: InputFile) -> Item:
    return asdict(file)


def _file(item: Item) -> InputFile:
    return InputFile(item["path"], item["size"], item["mtime_ns"], item["etag"])


def _answer(pieces: Sequence[Piece]) -> dict[str, Any]:
    return {"pieces": [(p.start, p.stop, str(p.unit), p.size) for p in pieces]}


def pieces_of(file: InputFile, answer: Mapping[str, Any]) -> list[Piece]:
    """Back from the answer of ``describe`` or ``by_rows``."""
    return [Piece(file, start, stop, Unit(unit), size) for start, stop, unit, size in answer["pieces"]]


def places(size: int, target: int) -> list[int]:
    """Offsets near which a file is cut: into equal pieces of about ``target`` bytes, at most an eighth more, or of down
    to half as many where these would be too few for many cores. Of many the last are halves: they are built last, and
    the core that ends last ends sooner.
    """
    target = min(target, max(target // 2, size // _ENOUGH))
    count = max(-(-size * 8 // (target * 9)), 1)
    if count > 2:
        count += -count % _TURNS
    step = max(-(-size // count), 1)
    whole = list(range(step, size, step))
    if len(whole) + 1 < _HALVED_FROM:
        return whole
    return sorted({*whole, *(at + step // 2 for at in whole[-_TURNS:] if at + step // 2 < size)})


def _between(file: InputFile, starts: Sequence[int]) -> list[Piece]:
    """Pieces of bytes from 0 and each start to the next."""
    places = [0, *starts]
    ends: list[int | None] = [*starts, None]
    return [
        Piece(file, a, b, Unit.BYTES, (file.size if b is None else b) - a) for a, b in zip(places, ends, strict=True)
    ]


def _line_starts(text: Text, size: int, near: Sequence[int]) -> list[int]:
    """The beginning of a line at or after each of these offsets."""
    found: list[int] = []
    for at in near:
        place = at
        for chunk in text.chunks(at, None, _HEAD):
            end = chunk.find(b"\n")
            place += end + 1 if end >= 0 else len(chunk)
            if end >= 0:
                break
        if place < size and place > (found[-1] if found else 0):
            found.append(place)
    return found


def _grouped(file: InputFile, sizes: Sequence[int], target: int) -> list[Piece]:
    """Neighbouring groups together up to about ``target`` bytes."""
    pieces: list[Piece] = []
    first, size = 0, 0
    for number, one in enumerate(sizes):
        if number > first and size + one > target:
            pieces.append(Piece(file, first, number, Unit.GROUPS, size))
            first, size = number, 0
        size += one
    pieces.append(Piece(file, first, None, Unit.GROUPS, size))
    return pieces
