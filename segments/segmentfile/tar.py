"""Packs a segment directory into a tar.gz that every Pinot accepts, and unpacks foreign ones safely (segment-format.md 1).

Pinot tells the compressor by magic bytes and reads one gzip member; servers take the first entry as the segment's directory.
What Pinot's servers would choke on later is refused here with the reason.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

import lz4.frame
import zstandard

from segments.errors import SegmentCorrupt
from segments.segmentfile.crc import CREATION_META
from segments.segmentfile.info import METADATA, SegmentInfo, parse_info

_BLOCK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_LZ4: Final = b"\x04\x22\x4d\x18"
_USTAR_AT: Final = 257
_MAX_HEADER: Final = 1 << 20
_MAX_META: Final = 64 << 20
_BAD_STREAM = (tarfile.TarError, zlib.error, zstandard.ZstdError, EOFError, OSError, RuntimeError, ValueError, OverflowError)


def write_tar(segment_dir: Path, tar_path: Path) -> int:
    """Pack ``segment_dir`` (its name becomes the top directory) and return the tar's size in bytes.

    One gzip member at level 1; directories first, then the small files, then ``columns.psf``. Same files, same bytes.
    """
    paths = sorted(
        segment_dir.rglob("*"), key=lambda p: (not p.is_dir(), p.name not in (METADATA, CREATION_META), p.suffix == ".psf", str(p))
    )
    with tar_path.open("wb") as target:
        with (
            gzip.GzipFile("", "wb", compresslevel=1, fileobj=target, mtime=0) as packed,
            tarfile.TarFile(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, copybufsize=_BLOCK) as tar,
        ):
            for path in [segment_dir, *paths]:
                _add(tar, path, segment_dir.parent)
        target.flush()
        return target.tell()


def _add(tar: tarfile.TarFile, path: Path, base: Path) -> None:
    entry = tarfile.TarInfo(path.relative_to(base).as_posix())
    if path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(entry)
        return
    entry.size, entry.mode = path.stat().st_size, 0o644
    with path.open("rb") as file:
        tar.addfile(entry, file)


def extract_tar(tar_path: Path, dest: Path, *, max_bytes: int | None = None, max_members: int = 10_000) -> Path:
    """Unpack below ``dest`` and return the segment's directory there.

    Takes gzip, zstd and framed LZ4, told by their magic bytes. Raises SegmentCorrupt, and leaves nothing new in ``dest``, for links,
    special files, paths that leave ``dest``, a missing directory entry, damaged or cut streams, several gzip members, a bare tar, and
    when ``max_bytes`` (sum of file sizes) or ``max_members`` is exceeded.
    """
    dest.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".unpack-", dir=dest))
    try:
        with _open(tar_path) as tar:
            top = _extract_all(tar, work, tar_path.name, max_bytes, max_members)
        final = dest / top
        if final.is_symlink() or final.is_file():
            final.unlink()
        elif final.exists():
            shutil.rmtree(final)
        os.rename(work / top, final)
        return final
    finally:
        shutil.rmtree(work, ignore_errors=True)


def read_info_from_tar(tar_path: Path) -> SegmentInfo:
    """Describe the segment in a tar, or in a metadata tar of just the two small files, reading no further than needed.

    Raises SegmentCorrupt when there is no ``metadata.properties`` or the tar can not be read.
    """
    found = read_descriptions(tar_path)
    return parse_info(found[METADATA], found.get(CREATION_META, b""))


def read_descriptions(tar_path: Path) -> dict[str, bytes]:
    """{name: contents} of the two small files that describe a segment; ``creation.meta`` may be missing.

    Raises as ``read_info_from_tar``.
    """
    found: dict[str, tuple[bool, bytes]] = {}
    with _open(tar_path) as tar:
        for entry in tar:
            path = PurePosixPath(entry.name)
            if not entry.isreg() or entry.issparse() or path.name not in (METADATA, CREATION_META):
                continue
            if entry.size > _MAX_META:
                raise SegmentCorrupt(f"{tar_path.name}: '{entry.name}' has {entry.size} bytes, at most {_MAX_META} are allowed.")
            in_v3 = path.parent.name == "v3"
            if path.name not in found or (in_v3 and not found[path.name][0]):
                file = tar.extractfile(entry)
                assert file is not None  # a regular file
                found[path.name] = (in_v3, file.read())
            if len(found) == 2 and len({place for place, _ in found.values()}) == 1 and (in_v3 or path.parent.name == ""):
                break
    if METADATA not in found:
        raise SegmentCorrupt(f"{tar_path.name} holds no {METADATA}.", remedy="Upload the tar.gz of a segment directory.")
    return {name: data for name, (_, data) in found.items()}


def _extract_all(tar: tarfile.TarFile, work: Path, name: str, max_bytes: int | None, max_members: int) -> str:
    top, total, count, seen = "", 0, 0, set[str]()
    for entry in tar:
        path = _safe_path(entry, name)
        if not top:
            if not entry.isdir() or len(path.parts) != 1:
                raise SegmentCorrupt(
                    f"{name}: the first entry is '{entry.name}', not the segment's directory.",
                    remedy="Pack it with: tar czf SEGMENT.tar.gz SEGMENT/",
                )
            top = path.parts[0]
        count, total = count + 1, total + (entry.size if entry.isreg() else 0)
        if path.parts[0] != top or (str(path) in seen and not entry.isdir()):
            raise SegmentCorrupt(f"{name}: '{entry.name}' is {'there twice' if path.parts[0] == top else f'outside of {top}/'}.")
        seen.add(str(path))
        if count > max_members or (max_bytes is not None and total > max_bytes):
            raise SegmentCorrupt(
                f"{name} unpacks to more than {max_bytes} bytes or {max_members} entries.", remedy="Raise the limit or split it."
            )
        _unpack(tar, entry, work / path)
    if not top:
        raise SegmentCorrupt(f"{name} is empty.")
    return top


def _unpack(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> None:
    if entry.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(entry)
    assert source is not None  # a regular file
    with target.open("xb") as out:
        shutil.copyfileobj(source, out, _BLOCK)
    if target.stat().st_size != entry.size:
        raise EOFError(f"'{entry.name}' is cut short")


def _safe_path(entry: tarfile.TarInfo, name: str) -> PurePosixPath:
    path = PurePosixPath(entry.name)
    if entry.name in (".", "./") or entry.name.startswith("./"):
        raise SegmentCorrupt(
            f"{name}: entry '{entry.name}' starts with './', which Pinot's servers refuse.",
            remedy="Pack it from the parent directory: tar czf SEGMENT.tar.gz SEGMENT/",
        )
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in entry.name or "\0" in entry.name:
        raise SegmentCorrupt(f"{name}: entry '{entry.name}' leaves the segment's directory.")
    if entry.issparse() or not (entry.isdir() or entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE)):
        raise SegmentCorrupt(f"{name}: entry '{entry.name}' is a link or special file; only files and directories are allowed.")
    return path


class _Entry(tarfile.TarInfo):
    """An entry whose extended header (long name, PAX) is refused when it is so long that reading it would fill the memory."""

    _EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in self._EXTENDED and self.size > _MAX_HEADER:
            raise SegmentCorrupt(f"A tar header claims {self.size} bytes, at most {_MAX_HEADER} are allowed.")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]  # the only hook before tarfile reads the header


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
            data = self._unpacker.unconsumed_tail or self._source.read(_BLOCK)
            out = self._unpacker.decompress(data, room)
            if out:
                buffer[: len(out)] = out
                return len(out)
            if not data:
                raise EOFError("the gzip stream ends too early")
        return 0


@contextmanager
def _open(tar_path: Path) -> Iterator[tarfile.TarFile]:
    """The tar inside a compressed file; every fault in it becomes SegmentCorrupt."""
    member: _GzipMember | None = None
    try:
        source = tar_path.open("rb")
    except OSError as error:
        raise SegmentCorrupt(f"{tar_path.name} can not be opened: {error.strerror}.") from error
    with source:
        head = source.read(_USTAR_AT + 5)
        source.seek(0)
        try:
            stream, member = _decompressor(source, head, tar_path.name)
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK, tarinfo=_Entry) as tar:
                yield tar
        except _BAD_STREAM as error:
            if member is not None and member.has_more_members:
                raise SegmentCorrupt(
                    f"{tar_path.name} consists of several gzip members; Pinot reads only the first.",
                    remedy="Compress it with plain gzip (not pigz --independent or concatenated files).",
                ) from error
            raise SegmentCorrupt(f"{tar_path.name} is damaged or cut short: {error}.", remedy="Upload it again.") from error


def _decompressor(source: IO[bytes], head: bytes, name: str) -> tuple[IO[bytes], _GzipMember | None]:
    if head.startswith(_GZIP):
        member = _GzipMember(source)
        return cast("IO[bytes]", io.BufferedReader(member, _BLOCK)), member
    if head.startswith(_ZSTD):
        return cast("IO[bytes]", zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(source)), None
    if head.startswith(_LZ4):
        return cast("IO[bytes]", lz4.frame.open(source, "rb")), None
    if head[_USTAR_AT:] == b"ustar":
        raise SegmentCorrupt(f"{name} is a tar without compression, which Pinot refuses.", remedy="Compress it: gzip SEGMENT.tar")
    raise SegmentCorrupt(f"{name} is no gzip, zstd or LZ4 file.", remedy="Upload the tar.gz of a segment directory.")
