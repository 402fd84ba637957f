"""Rows of Avro container files: all blocks, or those from one sync marker to another.

Blocks are unpacked here and given to fastavro as a container without compression, so that every codec works. The file
itself may be compressed, as text files may: then it is read from its beginning only.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import fastavro
import pyarrow as pa
import zstandard

from segments.datatypes.avro_schema import check_bounded, numbers_as_stored
from segments.domain.push.push_plan import Piece, Unit
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput
from segments.gateways.input_files.source import InputSource
from segments.segmentfile.columns.complex_type import ComplexType
from segments.spark.reading.joined import joined
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.raw_rows import raw_rows
from segments.spark.reading.text import Text, brief
from segments.spark.reading.unnested import Unnesting

_MAGIC: Final = b"Obj\x01"
_SYNC: Final = 16
_META: Final = fastavro.parse_schema({"type": "map", "values": "bytes"})
#: A block of more, packed or unpacked, is not a block that anybody wrote on purpose.
_MOST_OF_BLOCK: Final = 256 << 20
_READ: Final = 1 << 20
#: Rows that become a table together.
_ROWS: Final = 50_000
_NUMBER: Final = 10
#: Logical types whose values are not numbers.
_NO_NUMBERS: Final = ("decimal", "uuid")


class _Damaged(Exception):
    """What is wrong with the file."""


@dataclass(frozen=True)
class _Header:
    """``schema``: the writer's; ``sync``: the marker after every block."""

    schema: Any
    codec: str
    sync: bytes


@dataclass(frozen=True)
class AvroFile:
    """An Avro container file. ``raw_times``: times and dates stay the numbers they are stored as."""

    path: str
    source: InputSource
    raw_times: bool = False

    def count(self) -> int:
        """How many rows it has."""
        with self._reading() as file:
            return sum(rows for rows, _ in _blocks(file, _header(file), None))

    @property
    def is_packed(self) -> bool:
        """Is the file compressed as a whole, so that it can only be read from its beginning?"""
        return self._text.packing() is not None

    @property
    def _text(self) -> Text:
        return Text(self.path, "utf-8", self.source)

    def open(self) -> io.BufferedReader:
        """The container's bytes, unpacked."""
        if self.is_packed:
            return self._text.stream()
        raw: Any = self.source.open(self.path)  # a raw stream, but not by its stubs
        return io.BufferedReader(raw, _READ)

    def cuts(self, near: Sequence[int]) -> list[int]:
        """Offsets at which pieces after the first may begin: ends of blocks at or after each of these.
        Not of a packed file.
        """
        with self._reading() as file:
            header, end, size = _header(file), file.tell(), self.source.stat(self.path).size
            found: list[int] = []
            for at in near:
                place = _after_sync(file, max(at, end), header.sync)
                if place is not None and (found[-1] if found else 0) < place < size:
                    found.append(place)
            return found

    def first_rows(self, most: int) -> list[dict[str, Any]]:
        """The first ``most`` rows, with all keys. Raises InvalidInput naming the file."""
        found: list[dict[str, Any]] = []
        with self._reading() as file:
            header = _header(file)
            for count, packed in _blocks(file, header, None):
                found += islice(_records(header, count, packed, self.raw_times), most - len(found))
                if len(found) >= most:
                    break
        return found

    def rows(self, piece: Piece, schema: Schema, notes: FileNotes | None, complex_type: ComplexType | None) -> pa.Table:
        """The schema's columns of a piece. Raises InvalidInput naming the file."""
        unnesting = None if complex_type is None else Unnesting(self.path, complex_type, schema, notes)
        with self._reading() as file:
            header = _header(file)
            names = _names(header.schema)
            found = [
                unnesting.table(rows) if unnesting is not None else raw_rows(rows, schema)
                for rows in self._rows(file, header, piece)
            ]
        if notes is not None and piece.unit is Unit.BYTES and piece.start:
            notes.first_row = None
        if unnesting is not None:
            return joined(found).select(sorted(unnesting.mentioned)) if found else raw_rows((), schema)
        known = [n for n in names if n in schema.by_name]
        if not known:
            raise InvalidInput(
                f"Input file '{self.path}' has no column of schema '{schema.name}'.", remedy="Check the columns' names."
            )
        if notes is not None:
            notes.ignored = [n for n in names if n not in schema.by_name]
        return (joined(found) if found else raw_rows((), schema)).select(known)

    def _rows(self, file: Any, header: _Header, piece: Piece) -> Iterator[list[dict[str, Any]]]:
        is_bytes = piece.unit is Unit.BYTES
        if is_bytes and piece.start:
            file.seek(piece.start)
        start, stop = (0, None) if is_bytes else (piece.start, piece.stop)
        waiting: list[dict[str, Any]] = []
        passed = 0
        for count, packed in _blocks(file, header, piece.stop if is_bytes else None):
            if passed + count > start:
                rows = _records(header, count, packed, self.raw_times)
                for row in islice(rows, max(start - passed, 0), None if stop is None else max(stop - passed, 0)):
                    waiting.append(row)
                    if len(waiting) >= _ROWS:  # a block of few bytes may hold very many
                        yield waiting
                        waiting = []
            passed += count
            if stop is not None and passed >= stop:
                break
        if waiting:
            yield waiting

    def _reading(self) -> _Reading:
        return _Reading(self)


class _Reading:
    """The open file; what is wrong with it becomes InvalidInput."""

    def __init__(self, of: AvroFile) -> None:
        self._of = of

    def __enter__(self) -> io.BufferedReader:
        self._file = self._of.open()
        return self._file

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._file.close()
        if isinstance(error, _ERRORS):
            raise InvalidInput(
                f"Input file '{self._of.path}' cannot be read: {brief(error) or type(error).__name__}.",
                remedy="Check that it is an Avro container file, and whole.",
            ) from error


_ERRORS: Final = (
    _Damaged, OSError, EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError,
    StopIteration, RecursionError, MemoryError, pa.ArrowException, zlib.error, lzma.LZMAError, zstandard.ZstdError,
    fastavro.schema.SchemaParseException, fastavro.schema.UnknownType,
)  # fmt: skip


def _header(file: io.BufferedReader) -> _Header:
    if file.read(4) != _MAGIC:
        raise _Damaged("it does not begin as an Avro file")
    meta: Any = fastavro.schemaless_reader(file, _META, None)
    codec = bytes(meta.get("avro.codec", b"null")).decode()
    if codec not in _UNPACK:
        raise _Damaged(f"its codec '{codec[:40]}' is not supported: {', '.join(_UNPACK)} are")
    schema = json.loads(meta["avro.schema"])
    check_bounded(schema)
    sync = _exactly(file, _SYNC)
    return _Header(schema, codec, sync)


def _blocks(file: io.BufferedReader, header: _Header, stop: int | None) -> Iterator[tuple[int, bytes]]:
    """(rows, packed bytes) of the blocks from here to the offset ``stop`` or the end."""
    while stop is None or file.tell() < stop:
        if not file.peek(1):
            return
        rows, size = _number(file), _number(file)
        if not (0 <= rows <= _MOST_OF_BLOCK and 0 <= size <= _MOST_OF_BLOCK):
            raise _Damaged("a block has an impossible length")
        packed = _exactly(file, size)
        if _exactly(file, _SYNC) != header.sync:
            raise _Damaged("a block does not end with the file's marker")
        yield rows, packed


def _records(header: _Header, count: int, packed: bytes, raw_times: bool) -> Iterator[dict[str, Any]]:
    data = _UNPACK[header.codec](packed)
    if len(data) > _MOST_OF_BLOCK:
        raise _Damaged(f"a block has more than {_MOST_OF_BLOCK >> 20} MB, unpacked")
    schema = numbers_as_stored(header.schema, _NO_NUMBERS) if raw_times else header.schema
    whole = io.BytesIO()
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    whole.write(_MAGIC)
    fastavro.schemaless_writer(whole, _META, meta)
    whole.write(header.sync + _zigzag(count) + _zigzag(len(data)) + data + header.sync)
    whole.seek(0)
    for row in fastavro.reader(whole):
        if not isinstance(row, dict):
            raise _Damaged("its schema is not a record")
        yield row


def _names(schema: Any) -> list[str]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list):
        raise _Damaged("its schema is not a record")
    return [str(f["name"]) for f in fields]


def _after_sync(file: io.BufferedReader, start: int, sync: bytes) -> int | None:
    """The first place after ``start`` at which a block begins."""
    file.seek(start)
    kept = b""
    while chunk := file.read(_READ):
        kept = kept[-_SYNC:] + chunk
        at = kept.find(sync)
        if at >= 0:
            return int(file.tell()) - len(kept) + at + _SYNC
    return None


def _number(file: io.BufferedReader) -> int:
    value = shift = 0
    for _ in range(_NUMBER):
        byte = _exactly(file, 1)[0]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # the last byte of a number
            return (value >> 1) ^ -(value & 1)
    raise _Damaged("a block's length is not a number")


def _zigzag(value: int) -> bytes:
    value, out = value << 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _exactly(file: io.BufferedReader, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise _Damaged("it ends within a block")
    return data


def _snappy(packed: bytes) -> bytes:
    """Snappy's own length comes first, and a checksum last."""
    body = packed[:-4]
    size = shift = 0
    for at, byte in enumerate(body[:5]):
        size |= (byte & 0x7F) << (7 * at)
        shift = at
        if byte < 0x80:
            break
    if size > _MOST_OF_BLOCK or not body[: shift + 1]:
        raise _Damaged("a block has an impossible length")
    data: bytes = pa.decompress(body, size, "snappy", asbytes=True)
    if zlib.crc32(data) != int.from_bytes(packed[-4:], "big"):
        raise _Damaged("a block's checksum is wrong")
    return data


def _deflate(packed: bytes) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, _MOST_OF_BLOCK + 1)


_UNPACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    "null": lambda packed: packed,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": lambda packed: zstandard.ZstdDecompressor().stream_reader(packed).read(_MOST_OF_BLOCK + 1),
    "bzip2": lambda packed: bz2.BZ2Decompressor().decompress(packed, _MOST_OF_BLOCK + 1),
    "xz": lambda packed: lzma.LZMADecompressor(memlimit=_MOST_OF_BLOCK).decompress(packed, _MOST_OF_BLOCK + 1),
}
