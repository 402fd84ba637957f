"""Partition ids of values under Pinot's partition functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from segments.datatypes.javatext import java_number
from segments.errors import InvalidInput
from segments.segmentfile.format.dictionary import WIDTHS

_INT = 0xFFFFFFFF


def partition_ids(values: Iterable[str], function: str, partitions: int) -> list[int]:
    """The ids present among the values' texts, ascending. Raises InvalidInput for an unknown function or a text it does
    not take.
    """
    chosen = _FUNCTIONS.get(function.lower())
    if chosen is None or partitions < 1:
        raise InvalidInput(
            f"Partition function '{function}' with {partitions} partitions cannot be used.",
            remedy="Use Murmur, Murmur3, Fnv, Modulo, HashCode or ByteArray and at least 1 partition.",
        )
    found: set[int] = set()
    for value in values:
        found.add(chosen(value, partitions))
        if len(found) == partitions:
            break
    return sorted(found)


def partition_texts(values: Sequence[Any], stored_type: str) -> list[str]:
    """Stored values as the text that partition functions take."""
    if stored_type in WIDTHS:
        return [java_number(v, stored_type) for v in values]
    return [v.hex() if isinstance(v, bytes) else str(v) for v in values]


def _murmur2(text: str, partitions: int) -> int:
    data = text.encode()
    value = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        word = int.from_bytes(data[i : i + 4], "little") * 0x5BD1E995 & _INT
        word = (word ^ word >> 24) * 0x5BD1E995 & _INT
        value = (value * 0x5BD1E995 & _INT) ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * 0x5BD1E995 & _INT
    value = (value ^ value >> 13) * 0x5BD1E995 & _INT
    return ((value ^ value >> 15) & 0x7FFFFFFF) % partitions


def _murmur3(text: str, partitions: int) -> int:
    data, value = text.encode(), 0
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        value = _rotate(value ^ _mix3(data[i : i + 4]), 13) * 5 + 0xE6546B64 & _INT
    if whole < len(data):
        value ^= _mix3(data[whole:])
    value ^= len(data)
    value = (value ^ value >> 16) * 0x85EBCA6B & _INT
    value = (value ^ value >> 13) * 0xC2B2AE35 & _INT
    return ((value ^ value >> 16) & 0x7FFFFFFF) % partitions


def _mix3(data: bytes) -> int:
    return _rotate(int.from_bytes(data, "little") * 0xCC9E2D51 & _INT, 15) * 0x1B873593 & _INT


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _INT


def _fnv(text: str, partitions: int) -> int:
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & _INT
    return (value & 0x7FFFFFFF) % partitions


def _modulo(text: str, partitions: int) -> int:
    try:
        return int(text) % partitions
    except ValueError as error:
        raise InvalidInput(f"Partition function Modulo needs whole numbers, not '{text[:80]}'.") from error


def _hash_code(text: str, partitions: int) -> int:
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(data), 2):
        value = value * 31 + (data[i] << 8 | data[i + 1]) & _INT
    return _absolute(value) % partitions


def _byte_array(text: str, partitions: int) -> int:
    value = 1
    for byte in text.encode():
        value = value * 31 + (byte - 256 if byte > 127 else byte) & _INT
    return _absolute(value) % partitions


def _absolute(value: int) -> int:
    """Math.abs of a Java int, with Integer.MIN_VALUE counted as 0."""
    signed = value - (1 << 32) if value > 0x7FFFFFFF else value
    return 0 if signed == -(1 << 31) else abs(signed)


_FUNCTIONS: Final[dict[str, Callable[[str, int], int]]] = {
    "murmur": _murmur2,
    "murmur2": _murmur2,
    "murmur3": _murmur3,
    "fnv": _fnv,
    "modulo": _modulo,
    "hashcode": _hash_code,
    "bytearray": _byte_array,
}
