"""Cuts listed files into parts of about the same size: small files share a part, big ones are several.

One part is one segment. The same files, cuts and target give the same parts, in the order of the files' paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from segments.domain.push.push_plan import InputFile, Part, Piece

#: Bytes of input, unpacked, of which a segment is made when nobody says otherwise.
USUAL_BYTES: Final = 128 << 20
#: A part of more holds too much in the memory of an executor.
MOST_BYTES: Final = 256 << 20
#: Files that share a part at most: a bad one fails its part.
MOST_FILES_OF_PART: Final = 1_000
#: By how much a file is larger than it is on disk, about, if its name or format says that it is compressed.
_PACKED_TEXT: Final = 6
_PACKED_COLUMNS: Final = 3
#: What text shrinks to at most, as a rule.
_MOST_PACKED_TEXT: Final = 20
_SUFFIXES: Final = (".gz", ".gzip", ".zst", ".zstd", ".bz2")
_COLUMNAR: Final = ("parquet", "orc")


def unpacked_size(file: InputFile, data_format: str) -> int:
    """About how many bytes a file has unpacked, by its name and format."""
    if file.path.lower().endswith(_SUFFIXES):
        return file.size * _PACKED_TEXT
    return file.size * (_PACKED_COLUMNS if data_format in _COLUMNAR else 1)


def files_to_cut(files: Sequence[InputFile], data_format: str, target: int = USUAL_BYTES) -> list[InputFile]:
    """Files that are worth more than one part of ``target`` bytes: where they can be cut has to be found in them first
    (``SparkBuilder.find_cuts``). Of compressed files also those that may be, if they are unusually compressible.
    """
    return [f for f in files if _largest_size(f, data_format) > target * 5 // 4]


def _largest_size(file: InputFile, data_format: str) -> int:
    if file.path.lower().endswith(_SUFFIXES):
        return file.size * _MOST_PACKED_TEXT
    return unpacked_size(file, data_format)


def parts_by_size(
    files: Sequence[InputFile],
    data_format: str,
    target: int = USUAL_BYTES,
    *,
    cuts: Mapping[str, Sequence[Piece]] | None = None,
    most_files: int = MOST_FILES_OF_PART,
) -> list[Part]:
    """Parts of about ``target`` bytes, and of at most ``most_files`` files.

    ``cuts``: {path: pieces} of the files that were cut; a file that is not there stays whole. Several pieces of one
    file are a part each. ``most_files=1`` gives every file parts of its own. Raises ValueError for
    a target or number that is not positive.
    """
    if target < 1 or most_files < 1:
        raise ValueError("A part has at least one byte and one file.")
    groups = _packed(files, data_format, target, cuts or {}, most_files)
    return [Part(i, i, pieces) for i, pieces in enumerate(groups)]


def _packed(
    files: Sequence[InputFile], data_format: str, target: int, cuts: Mapping[str, Sequence[Piece]], most_files: int
) -> Iterator[tuple[Piece, ...]]:
    waiting: list[Piece] = []
    room = target
    for file in sorted(files, key=lambda f: f.path):
        pieces = cuts.get(file.path, ())
        if len(pieces) > 1:
            yield from ((piece,) for piece in pieces)
            continue
        piece = pieces[0] if pieces else Piece(file, size=unpacked_size(file, data_format))
        if waiting and (piece.weight > room or len(waiting) >= most_files):
            yield tuple(waiting)
            waiting, room = [], target
        waiting.append(piece)
        room -= piece.weight
    if waiting:
        yield tuple(waiting)
