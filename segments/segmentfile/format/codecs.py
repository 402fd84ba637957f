"""Chunk compression of raw forward indexes: Pinot's codec numbers, both ways."""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

import lz4.block
import pyarrow as pa
import zstandard

PASS_THROUGH: Final = 0
SNAPPY: Final = 1
ZSTANDARD: Final = 2
LZ4: Final = 3
LZ4_LENGTH: Final = 4
GZIP: Final = 5
DELTA: Final = 6
DELTADELTA: Final = 7
CODECS: Final = {
    "PASS_THROUGH": PASS_THROUGH, "SNAPPY": SNAPPY, "ZSTANDARD": ZSTANDARD, "LZ4": LZ4, "GZIP": GZIP,
}  # fmt: skip

_LZ4 = pa.Codec("lz4_raw")
_SNAPPY = pa.Codec("snappy")
_FAULTS = (
    ValueError,
    OSError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
    zstandard.ZstdError,
    lz4.block.LZ4BlockError,
    pa.ArrowException,
)


class BadChunk(ValueError):
    """A chunk does not decompress to what its header promises."""


def compress(codec: int, data: Any, *, little_endian: bool) -> bytes:
    """One chunk; ``little_endian`` holds for version 4 variable-width chunks (GZIP's length)."""
    match codec:
        case 0:
            return bytes(data)
        case 1:
            return bytes(_SNAPPY.compress(data, asbytes=True))
        case 2:
            return zstandard.ZstdCompressor(level=3, write_content_size=True).compress(bytes(data))
        case 3:
            return bytes(_LZ4.compress(data, asbytes=True))
        case 4:
            return struct.pack("<I", len(data)) + bytes(_LZ4.compress(data, asbytes=True))
    if codec != GZIP:
        raise BadChunk(f"codec {codec} cannot be written")
    return zlib.compress(bytes(data), 6) + struct.pack("<I" if little_endian else ">I", len(data))


def decompress(codec: int, data: Any, limit: int) -> bytes:
    """At most ``limit`` bytes. Raises BadChunk when the bytes are damaged or would become longer than ``limit``."""
    try:
        out = _decompress(codec, bytes(data), limit)
    except _FAULTS as error:
        raise BadChunk(f"codec {codec}: {error}") from error
    if len(out) > limit:
        raise BadChunk(f"codec {codec}: {len(out)} bytes where at most {limit} are allowed")
    return out


def _decompress(codec: int, data: bytes, limit: int) -> bytes:
    match codec:
        case 0:
            return data
        case 1:
            return bytes(_SNAPPY.decompress(data, _checked(_varint(data), len(data), limit, 64), asbytes=True))
        case 2:
            size = zstandard.frame_content_size(data)
            if size > limit:
                raise BadChunk(f"claims {size} bytes, at most {limit} are allowed")
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=limit if size < 0 else 0)
        case 3:
            return bytes(lz4.block.decompress(data, uncompressed_size=min(limit, 256 * len(data) + 64)))
        case 4:
            size = _checked(struct.unpack("<I", data[:4])[0], len(data), limit, 256)
            return bytes(lz4.block.decompress(data[4:], uncompressed_size=size))
        case 5:
            return zlib.decompressobj().decompress(data[:-4], limit + 1)
    raise BadChunk(f"codec {codec} is unknown")


def _checked(size: int, packed: int, limit: int, ratio: int) -> int:
    if size > limit or size > packed * ratio + 64:
        raise BadChunk(f"claims {size} bytes from {packed}, at most {limit} are allowed")
    return int(size)


def _varint(data: bytes) -> int:
    value = 0
    for i, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value
    raise BadChunk("bad length")


def lz4_exact(data: bytes, size: int) -> bytes:
    """An LZ4 block that must unpack to exactly ``size`` bytes. Raises BadChunk."""
    out = decompress(LZ4, data, size)
    if len(out) != size:
        raise BadChunk(f"{len(out)} bytes where {size} are needed")
    return out
