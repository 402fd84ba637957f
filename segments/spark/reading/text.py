"""The text of an input file as UTF-8 bytes: unpacked by its first bytes, decoded, without byte order mark.

All of a file, or the bytes from one row's beginning to another's if it is neither compressed nor of a wide encoding.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from segments.domain.push.push_plan import Piece, Unit
from segments.errors import InvalidInput
from segments.gateways.input_files.source import InputSource

#: First bytes of compressed files, and Arrow's names of what unpacks them.
_MAGIC: Final[dict[bytes, Any]] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_BOM: Final = codecs.BOM_UTF8
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF8: Final = ("utf-8", "utf8", "utf-8-sig", "utf_8", "us-ascii", "ascii")
#: Encodings in which the bytes below 128 are ASCII wherever they stand, so that a line end is found in the bytes.
_NARROW: Final = ("iso8859", "cp125", "koi8", "mac-")
CHUNK: Final = 4 << 20
#: Unpacked bytes that are taken into memory at once at most.
MOST_AT_ONCE: Final = 512 << 20


@dataclass(frozen=True)
class Text:
    """The text of ``path`` in ``encoding``."""

    path: str
    encoding: str
    source: InputSource

    def packing(self) -> str | None:
        """How the file is compressed, in Arrow's word; None: it is not."""
        with self._file() as file:
            return _packing(file.read(4))

    def is_seekable(self) -> bool:
        """Can the text be read from the middle on: is it neither compressed nor in an encoding of wide characters?"""
        with self._file() as file:
            first = file.read(4)
        return _packing(first) is None and not first.startswith(_WIDE_MARKS) and is_narrow(self.encoding)

    def chunks(self, start: int = 0, stop: int | None = None, size: int = CHUNK) -> Iterator[bytes]:
        """The text in bytes of about ``size``; from ``start`` to ``stop`` of a seekable one.

        Raises InvalidInput naming the file, and the line of bytes that are not text.
        """
        try:
            with self._file() as file:
                first = file.read(4)
                packing = _packing(first)
                file.seek(start)
                raw = _reads(_unpacking(file, packing), size, None if stop is None else stop - start)
                yield from self._decoded(raw, first if packing is None else b"", is_first=start == 0)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise self.unreadable(error) from error

    def whole(self, piece: Piece) -> bytes:
        """All of a piece that counts bytes, or of the file. Raises InvalidInput also for more than ``MOST_AT_ONCE``."""
        start, stop = (piece.start, piece.stop) if piece.unit is Unit.BYTES else (0, None)
        size = min(max((stop or piece.file.size) - start + 1, CHUNK), MOST_AT_ONCE)
        found: list[bytes] = []
        total = 0
        for chunk in self.chunks(start, stop, size):
            found.append(chunk)
            total += len(chunk)
            if total > MOST_AT_ONCE:
                raise InvalidInput(
                    f"Input file '{self.path}' holds more than {MOST_AT_ONCE >> 20} MB of text, unpacked.",
                    remedy="Split it into smaller files, or leave it uncompressed: then it is read in pieces.",
                )
        return found[0] if len(found) == 1 else b"".join(found)

    def stream(self, start: int = 0, stop: int | None = None) -> io.BufferedReader:
        """The same as a file."""
        return io.BufferedReader(_Stream(self.chunks(start, stop)), CHUNK)

    def lines(self, piece: Piece) -> io.TextIOWrapper:
        """A piece as lines of text, line ends kept; what is not text is replaced. Rows count from the file's first."""
        span = (piece.start, piece.stop) if piece.unit is Unit.BYTES else (0, None)
        return io.TextIOWrapper(self.stream(*span), "utf-8", errors="replace", newline="")

    def lines_before(self, piece: Piece) -> int:
        """How many line ends stand before a piece."""
        if piece.unit is not Unit.BYTES or not piece.start:
            return 0
        return sum(chunk.count(b"\n") for chunk in self.chunks(0, piece.start))

    def unreadable(self, error: BaseException) -> InvalidInput:
        """The error of a file that is no good as a whole."""
        return InvalidInput(
            f"Input file '{self.path}' cannot be read: {brief(error)}.", remedy="Check that it is whole and readable."
        )

    def _decoded(self, raw: Iterator[bytes], first: bytes, *, is_first: bool) -> Iterator[bytes]:
        """``first`` are the first bytes of a file that is not compressed."""
        ahead = next(raw, b"")
        mark = (first or ahead)[:4]
        encoding = "utf-16" if mark.startswith(_WIDE_MARKS) and self.encoding in _UTF8 else self.encoding
        pieces = _followed(ahead, raw)
        if encoding in _UTF8:
            yield from _without_mark(pieces) if is_first else pieces
            return
        decoder, lines = codecs.getincrementaldecoder(encoding)(), 0
        for chunk, is_last in _and_last(pieces):
            try:
                text = decoder.decode(chunk, is_last)
            except UnicodeError as error:
                begin = getattr(error, "start", 0)
                line = lines + chunk[:begin].decode(encoding, "ignore").count("\n") + 1
                raise InvalidInput(
                    f"Input file '{self.path}' line {line}: a character is not of encoding '{encoding}'.",
                    remedy="Set recordReaderSpec.configs.encoding to the file's encoding.",
                    line=line,
                ) from error
            lines += text.count("\n")
            yield text.removeprefix("\ufeff").encode()

    def _file(self) -> Any:
        return self.source.open(self.path)


def is_narrow(encoding: str) -> bool:
    """Is a line end found in the bytes of a text in this encoding?"""
    return encoding in _UTF8 or codecs.lookup(encoding).name.startswith(_NARROW)


def brief(error: BaseException) -> str:
    """What Arrow says, on one short line."""
    return " ".join(str(error).split())[:300].rstrip(".")


def _packing(first: bytes) -> str | None:
    return next((name for magic, name in _MAGIC.items() if first.startswith(magic)), None)


def _unpacking(file: Any, packing: Any) -> Any:
    return file if packing is None else pa.CompressedInputStream(pa.BufferedInputStream(file, 1 << 20), packing)


def _reads(file: Any, size: int, left: int | None) -> Iterator[bytes]:
    while left is None or left > 0:
        chunk = file.read(size if left is None else min(size, left))
        if not chunk:
            return
        left = None if left is None else left - len(chunk)
        yield chunk


def _followed(ahead: bytes, raw: Iterator[bytes]) -> Iterator[bytes]:
    if ahead:
        yield ahead
    yield from raw


def _without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(chunks, b"")
    if first.startswith(_BOM):
        first = first[len(_BOM) :]
    yield from _followed(first, chunks)


def _and_last(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    before = next(chunks, b"")
    for chunk in chunks:
        yield before, False
        before = chunk
    yield before, True


class _Stream(io.RawIOBase):
    """Chunks as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks, self._left = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
