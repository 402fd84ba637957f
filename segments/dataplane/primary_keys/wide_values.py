"""Comparison values that are no 64-bit numbers (texts, decimals, bytes) as bytes that sort as Java sorts the values.

A key keeps the first 24 of these bytes, as three integers. A longer value is kept whole with its row while a batch is
taken in; of a row that is there already it is read again where 24 bytes do not decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Words = NDArray[np.int64]
#: Bytes of each row's value; None: all of it is in its words.
Wholes = NDArray[np.object_]

WORDS: Final = 3
_BYTES: Final = 8 * WORDS
_SIGN: Final = np.uint64(1 << 63)
#: Characters that Java compares as two surrogates, which are less than U+E000 and those behind it.
_PAIRED: Final = re.compile("[\U00010000-\U0010ffff]")
_EXPONENT_BYTES: Final = 5
_COMPLEMENT: Final = bytes(255 - at for at in range(256))


def is_wide(stored_type: str) -> bool:
    """Are a column's values of a type that is compared here?"""
    return stored_type in _ENCODERS


def encoded(values: Any, stored_type: str) -> list[bytes]:
    """Each value as bytes that sort as the values do; none ends with a zero byte."""
    return _ENCODERS[stored_type](values)


def in_words(values: Sequence[bytes]) -> tuple[Words, Wholes | None]:
    """(the first 24 bytes of each as a row of three integers that sort as they do, the longer ones whole)."""
    cut = np.array(values, f"S{_BYTES}") if len(values) else np.zeros(0, f"S{_BYTES}")
    words: Words = (cut.view(">u8").astype(np.uint64) ^ _SIGN).view(np.int64).reshape(len(values), WORDS)
    longer = [at for at, value in enumerate(values) if len(value) > _BYTES]
    if not longer:
        return words, None
    wholes = np.full(len(values), None, object)
    wholes[longer] = [values[at] for at in longer]
    return words, wholes


def may_be_longer(words: Words) -> NDArray[np.bool_]:
    """Is a value with these words perhaps longer than they are? Padding is zero, and nothing else ends so."""
    found: NDArray[np.bool_] = (words[:, -1] & 0xFF) != 0
    return found


def whole(words: Words, wholes: Wholes | None) -> Wholes:
    """All bytes of each value."""
    cut = (words.view(np.uint64) ^ _SIGN).astype(">u8").reshape(-1).view(f"S{_BYTES}")
    found = np.empty(len(words), object)
    found[:] = cut.tolist()
    if wholes is not None:
        is_longer = _are_longer(wholes)
        found[is_longer] = wholes[is_longer]
    return found


def joined(pieces: Sequence[tuple[int, Wholes | None]]) -> Wholes | None:
    """Several batches of so many rows as one."""
    if all(wholes is None for _, wholes in pieces):
        return None
    return np.concatenate([np.full(count, None, object) if wholes is None else wholes for count, wholes in pieces])


def ranks_of(wholes: Wholes) -> NDArray[np.int64]:
    """The order among values with the same words: one that is all in its words is the least."""
    found = np.zeros(len(wholes), np.int64)
    longer = np.flatnonzero(_are_longer(wholes))
    if len(longer):
        found[longer] = np.unique(wholes[longer], return_inverse=True)[1] + 1
    return found


def _are_longer(wholes: Wholes) -> NDArray[np.bool_]:
    return np.array([value is not None for value in wholes.tolist()], np.bool_)


def _texts(values: Any) -> list[bytes]:
    found: list[bytes] = values.cast(pa.binary()).to_pylist()
    plain = _bytes_of(values)
    if not (plain >= 0xF0).any():
        return _without_zeros(found, plain)
    return [_escaped(_PAIRED.sub(_surrogates, v.decode()).encode("utf-8", "surrogatepass")) for v in found]


def _surrogates(found: re.Match[str]) -> str:
    above = ord(found[0]) - 0x10000
    return chr(0xD800 + (above >> 10)) + chr(0xDC00 + (above & 0x3FF))


def _binaries(values: Any) -> list[bytes]:
    return _without_zeros(values.to_pylist(), _bytes_of(values))


def _without_zeros(values: list[bytes], plain: NDArray[np.uint8]) -> list[bytes]:
    return [_escaped(v) for v in values] if (plain <= 1).any() else values


def _escaped(value: bytes) -> bytes:
    """Without zero bytes, in the same order."""
    return value.replace(b"\1", b"\1\2").replace(b"\0", b"\1\1")


def _bytes_of(values: Any) -> NDArray[np.uint8]:
    """The bytes of all values, and perhaps of others."""
    data = values.buffers()[2]
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _decimals(values: Any) -> list[bytes]:
    return [_decimal(Decimal(text)) for text in values.to_pylist()]


def _decimal(value: Decimal) -> bytes:
    """Sign, exponent, pairs of digits; of a negative number all of it the other way round."""
    if not value:
        return b"\x80"
    digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
    digits += "0" * (len(digits) % 2)
    exponent = (value.adjusted() + (1 << 8 * _EXPONENT_BYTES - 1)).to_bytes(_EXPONENT_BYTES)
    found = b"\xc0" + exponent + bytes(int(digits[at : at + 2]) + 1 for at in range(0, len(digits), 2))
    return found if value > 0 else found.translate(_COMPLEMENT) + b"\xff"


_ENCODERS: Final[dict[str, Callable[[Any], list[bytes]]]] = {
    "STRING": _texts,
    "BYTES": _binaries,
    "BIG_DECIMAL": _decimals,
}
