"""Segment CRC: Adler-32 over a segment's files in Pinot's order, the identity that ZooKeeper records."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

CREATION_META: Final = "creation.meta"
#: "No data CRC": Java's Long.MIN_VALUE.
NO_CRC: Final = -(2**63)
_BLOCK = 1 << 20
#: Adler-32 counts modulo the largest prime below 2**16.
_MODULUS: Final = 65_521


def adler32(parts: Iterable[bytes | memoryview], start: int = 1) -> int:
    """Adler-32 over several buffers as if they were one."""
    value = start
    for part in parts:
        value = zlib.adler32(part, value)
    return value


def compute_crc(segment_dir: Path) -> int:
    """CRC of all files below ``segment_dir`` in order of their paths, without ``creation.meta`` and ``*.crc``."""
    files = [
        p for p in segment_dir.rglob("*") if p.is_file() and p.name != CREATION_META and not p.name.endswith(".crc")
    ]
    value = 1
    for path in sorted(files, key=lambda p: java_order(p.relative_to(segment_dir).as_posix())):
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                value = zlib.adler32(block, value)
    return value


def java_order(text: str) -> bytes:
    """A sort key that orders texts as Java does: by UTF-16 code units, not by code points."""
    return text.encode("utf-16-be", "surrogatepass")


def format_creation_meta(crc: int, creation_time_ms: int, data_crc: int) -> bytes:
    """The 24 bytes of ``creation.meta``."""
    return struct.pack(">qqq", crc, creation_time_ms, data_crc)


def combine(pieces: Iterable[tuple[int, int]]) -> int:
    """Adler-32 of buffers laid end to end, from each one's own (Adler-32, length in bytes)."""
    low, high = 1, 0
    for value, length in pieces:
        a, b = value & 0xFFFF, value >> 16
        high = (high + b + length * (low - 1)) % _MODULUS
        low = (low + a - 1) % _MODULUS
    return high << 16 | low
