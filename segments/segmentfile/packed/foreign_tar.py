"""Opens a compressed tar that somebody sent and hands out its entries, within bounds on everything that reading it
could cost.

Bounded are the bytes it unpacks to (also those that are only passed over), the ratio of these to the bytes sent, the
number of entries and the bytes of headers, which Python's tarfile would read into memory whatever length they claim.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

import lz4.frame
import zstandard

from segments.errors import SegmentCorrupt, SegmentTooLarge

BLOCK: Final = 1 << 20
#: What every tar may unpack to, however small it is, and how many times its own size a larger one may.
FREE_BYTES: Final = 256 << 20
MOST_TIMES: Final = 200
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_LZ4: Final = b"\x04\x22\x4d\x18"
_USTAR_AT: Final = 257
#: Bytes of one header next to an entry (its long name, say), and of all that precede one entry or hold for the whole
#: tar.
_MAX_HEADER: Final = 64 << 10
_MAX_HEADERS: Final = 1 << 20
#: Bytes that an entry may cost besides its contents: its header, padding, a long name.
_PER_ENTRY: Final = 4096
_BAD_STREAM = (
    tarfile.TarError,
    zlib.error,
    zstandard.ZstdError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
)


@dataclass(frozen=True)
class Bounds:
    """What one tar may cost: the sum of its files' sizes in bytes, and the number of its entries."""

    unpacked_bytes: int
    entries: int

    def bytes_for(self, packed_bytes: int) -> int:
        """The sum that holds for a tar of this size: one that unpacks to much more than itself is made
        to fill a disk.
        """
        return min(self.unpacked_bytes, max(FREE_BYTES, MOST_TIMES * packed_bytes))


class ForeignTar:
    """The entries of an open tar, once, in order. Get one from :func:`open_foreign`."""

    def __init__(self, tar: _Archive, name: str, bounds: Bounds, most_bytes: int) -> None:
        self._tar, self._name, self._bounds, self._most_bytes = tar, name, bounds, most_bytes

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        """Every entry. Raises SegmentTooLarge at the first that breaks a bound, before its contents are read."""
        count = total = 0
        while (entry := self._tar.next()) is not None:
            self._tar.members.clear()  # type: ignore[attr-defined]  # which tarfile keeps for links and for a second pass
            self._tar.header_bytes = 0
            count, total = count + 1, total + (entry.size if entry.isreg() else 0)
            if count > self._bounds.entries:
                raise too_many(self._name, self._bounds.entries)
            if total > self._most_bytes:
                raise too_large(self._name, self._most_bytes)
            yield entry

    def contents(self, entry: tarfile.TarInfo) -> IO[bytes]:
        """The bytes of a regular file, before the next entry is read."""
        file = self._tar.extractfile(entry)
        assert file is not None  # a regular file
        return file


def too_large(name: str, most: int) -> SegmentTooLarge:
    """The refusal of a tar that unpacks to more than ``most`` bytes."""
    return SegmentTooLarge(
        f"{name} unpacks to more than {most} bytes, or to more than {MOST_TIMES} times its size.",
        remedy="Split it, or raise PINOTADMIN_MAX_UNPACKED_BYTES.",
    )


def too_many(name: str, most: int) -> SegmentTooLarge:
    """The refusal of a tar with more than ``most`` entries."""
    return SegmentTooLarge(f"{name} has more than {most} entries.", remedy="Split it.")


@contextmanager
def open_foreign(path: Path, bounds: Bounds) -> Iterator[ForeignTar]:
    """The tar in a gzip, zstd or framed LZ4 file, recognised by its magic bytes; every fault in it becomes
    SegmentCorrupt.
    """
    member: _GzipMember | None = None
    try:
        source = path.open("rb")
    except OSError as error:
        raise SegmentCorrupt(f"{path.name} cannot be opened: {error.strerror}.") from error
    with source:
        head = source.read(_USTAR_AT + 5)
        most = bounds.bytes_for(source.seek(0, io.SEEK_END))
        source.seek(0)
        try:
            stream, member = _decompressor(source, head, path.name)
            counted = _Counted(stream, path.name, most, most + bounds.entries * _PER_ENTRY)
            with _Archive.open(fileobj=cast("IO[bytes]", counted), mode="r|", bufsize=BLOCK, tarinfo=_Entry) as tar:
                yield ForeignTar(tar, path.name, bounds, most)
        except _BAD_STREAM as error:
            if member is not None and member.has_more_members:
                raise SegmentCorrupt(
                    f"{path.name} consists of several gzip members; Pinot reads only the first.",
                    remedy="Compress it with plain gzip (not pigz --independent or concatenated files).",
                ) from error
            raise SegmentCorrupt(f"{path.name} is damaged or cut short: {error}.", remedy="Upload it again.") from error


class _Archive(tarfile.TarFile):
    """Counts the bytes of extended headers: before the next entry, which are held in a recursion, and for the whole
    tar, which stay.
    """

    header_bytes = 0
    global_bytes = 0

    def count_header(self, kind: bytes, size: int) -> None:
        """Raises SegmentCorrupt before a header is read that is too long alone or with those before it."""
        if kind == tarfile.XGLTYPE:
            self.global_bytes += size
        else:
            self.header_bytes += size
        if size > _MAX_HEADER or max(self.header_bytes, self.global_bytes) > _MAX_HEADERS:
            raise SegmentCorrupt(
                f"A tar header claims {size} bytes, at most {_MAX_HEADER} are allowed, {_MAX_HEADERS} in a row."
            )


class _Entry(tarfile.TarInfo):
    """An entry whose extended headers (long name, PAX) are counted before they are read; sparse files, whose maps are
    long, are refused.
    """

    _EXTENDED = (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )

    def _proc_member(self, archive: _Archive) -> tarfile.TarInfo:
        if self.type in self._EXTENDED:
            archive.count_header(self.type, self.size)
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]  # the only hook before tarfile reads the header

    def _proc_sparse(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        raise SegmentCorrupt(f"Entry '{self.name}' is a sparse file; only plain files and directories are allowed.")

    def _proc_gnusparse_10(self, entry: tarfile.TarInfo, pax_headers: Any, archive: tarfile.TarFile) -> None:
        raise SegmentCorrupt(f"Entry '{entry.name}' is a sparse file; only plain files and directories are allowed.")


class _Counted:
    """A stream that ends with SegmentTooLarge once more than ``most`` bytes came out of it; ``stated`` is the limit
    people know.
    """

    def __init__(self, stream: IO[bytes], name: str, stated: int, most: int) -> None:
        self._stream, self._name, self._stated, self._left = stream, name, stated, most

    def read(self, size: int) -> bytes:
        """The next bytes, at most ``size``."""
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise too_large(self._name, self._stated)
        return data


class _GzipMember(io.RawIOBase):
    """The first gzip member of a file, which is all that Pinot reads; knows whether another one follows."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._unpacker = zlib.decompressobj(31)

    @property
    def has_more_members(self) -> bool:
        return self._unpacker.eof and (self._unpacker.unused_data or self._source.read(2))[:2] == _GZIP

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = len(buffer)
        while not self._unpacker.eof:
            data = self._unpacker.unconsumed_tail or self._source.read(BLOCK)
            out = self._unpacker.decompress(data, room)
            if out:
                buffer[: len(out)] = out
                return len(out)
            if not data:
                raise EOFError("the gzip stream ends too early")
        return 0


def _decompressor(source: IO[bytes], head: bytes, name: str) -> tuple[IO[bytes], _GzipMember | None]:
    if head.startswith(_GZIP):
        member = _GzipMember(source)
        return cast("IO[bytes]", io.BufferedReader(member, BLOCK)), member
    if head.startswith(_ZSTD):
        return cast("IO[bytes]", zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(source)), None
    if head.startswith(_LZ4):
        return cast("IO[bytes]", lz4.frame.open(source, "rb")), None
    if head[_USTAR_AT:] == b"ustar":
        raise SegmentCorrupt(
            f"{name} is a tar without compression, which Pinot refuses.", remedy="Compress it: gzip SEGMENT.tar"
        )
    raise SegmentCorrupt(f"{name} is not a gzip, zstd or LZ4 file.", remedy="Upload the tar.gz of a segment directory.")
