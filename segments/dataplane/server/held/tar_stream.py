"""A segment directory as a stream of compressed tar bytes, made while it is sent: other servers need not wait for a
file.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import lz4.frame

from segments.errors import InvalidInput

GZIP: Final = "gzip"
LZ4: Final = "lz4"

_CHUNK: Final = 1 << 20
_END: Final = b"\0" * (2 * tarfile.BLOCKSIZE)
_SMALL: Final = ("metadata.properties", "creation.meta")


def stream_tar(folder: Path, compression: str) -> Iterator[bytes]:
    """The directory with its own name at the top. ``lz4`` between servers of this cluster, ``gzip`` for everybody else.

    Raises InvalidInput for another compression, OSError when a file cannot be read.
    """
    press, finish = _compressor(compression)
    return (chunk for chunk in _packed(folder, press, finish) if chunk)


def _packed(folder: Path, press: Callable[[bytes], bytes], finish: Callable[[], bytes]) -> Iterator[bytes]:
    for chunk in _plain(folder):
        yield press(chunk)
    yield press(_END)
    yield finish()


def _plain(folder: Path) -> Iterator[bytes]:
    paths = sorted(folder.rglob("*"), key=lambda p: (not p.is_dir(), p.name not in _SMALL, p.suffix == ".psf", str(p)))
    for path in [folder, *paths]:
        entry = tarfile.TarInfo(path.relative_to(folder.parent).as_posix())
        if path.is_dir():
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            yield entry.tobuf(tarfile.GNU_FORMAT)
            continue
        with path.open("rb") as file:
            entry.size, entry.mode = path.stat().st_size, 0o644
            yield entry.tobuf(tarfile.GNU_FORMAT)
            while chunk := file.read(_CHUNK):
                yield chunk
        if rest := entry.size % tarfile.BLOCKSIZE:
            yield b"\0" * (tarfile.BLOCKSIZE - rest)


def _compressor(compression: str) -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    if compression == GZIP:
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        return packer.compress, packer.flush
    if compression != LZ4:
        raise InvalidInput(f"Compression '{compression}' is not known.", remedy=f"Use {GZIP} or {LZ4}.")
    frame: Any = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX1MB)
    begun = [frame.begin()]

    def press(chunk: bytes) -> bytes:
        return b"".join((*(begun.pop() for _ in begun[:]), frame.compress(chunk)))

    return press, frame.flush
