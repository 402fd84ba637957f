"""Converts a column of any Arrow type to a Pinot data type as Pinot's creator does: text to numbers, times, booleans,
bytes.

Rule `pinot-bytes`. Nulls stay null; NaN becomes null. Text is parsed by Arrow
where Arrow and Java agree, and otherwise once per distinct value.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.javatext import java_double, java_float, parse_decimal, plain_decimal
from segments.datatypes.jsontext import compact_json, json_of

#: Stored type -> Arrow type of a value.
ARROW: Final[dict[str, Any]] = {
    "INT": pa.int32(), "LONG": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BIG_DECIMAL": pa.string(),
    "STRING": pa.string(), "BYTES": pa.binary(),
}  # fmt: skip
#: Those that readers of text parse themselves; all others arrive as text and are converted when the segment is built.
NUMBERS: Final = {name: ARROW[name] for name in ("INT", "LONG", "FLOAT", "DOUBLE")}
_WHOLE = re.compile(r"[+-]?\d+")
_REAL = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?)")
_JAVA_SPACE: Final = "".join(map(chr, range(33)))
_RANGES: Final = {"INT": (-(2**31), 2**31 - 1), "LONG": (-(2**63), 2**63 - 1)}


class BadValue(Exception):
    """A value that does not convert: its position in the array, the value, and what is wrong with it if not its type.

    ``every`` are (position, value) of all values with this fault, where they were found together; else of this one.
    """

    def __init__(self, position: int, value: Any, reason: str = "", every: Sequence[tuple[int, Any]] = ()) -> None:
        super().__init__(value)
        self.reason = reason
        self.position = position
        self.value = value
        self.every = every or ((position, value),)

    @classmethod
    def among(cls, values: Any, is_bad: Any, reason: str = "") -> BadValue:
        """Of all values of an array that a mask (NumPy, at least one True) marks."""
        every = [(int(at), values[int(at)].as_py()) for at in np.flatnonzero(is_bad)]
        return cls(*every[0], reason, every)


class RefusedRows(Exception):
    """The cause of an error about a row: (row, what is wrong) of every row with the same fault, their values, and the
    fault itself.
    """

    def __init__(self, rows: Sequence[tuple[int, str]], values: Sequence[Any] = (), fault: str = "") -> None:
        super().__init__(len(rows))
        self.rows = rows
        self.values = values
        self.fault = fault


def convert(values: Any, data_type: str) -> Any:
    """An Arrow array -> array of the stored type of ``data_type``. Raises BadValue for the first value that does not
    fit.
    """
    values = plain(values)
    if values.null_count == len(values):  # of whatever type: nothing in it can be wrong
        stored = {"BOOLEAN": "INT", "TIMESTAMP": "LONG", "JSON": "STRING", "UUID": "BYTES"}.get(data_type, data_type)
        return pa.nulls(len(values), ARROW[stored])
    if data_type == "JSON":
        return _to_json(values)
    if pt.is_nested(values.type):
        values = plain(_single(values))
        return convert(values, data_type)
    return _CONVERTERS[data_type](values)


def plain(values: Any) -> Any:
    """Chunked, dictionary-encoded, large and view arrays -> one plain array."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pt.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pt.is_large_string(values.type) or pt.is_string_view(values.type):
        return values.cast(pa.string())
    if pt.is_large_binary(values.type) or pt.is_binary_view(values.type) or pt.is_fixed_size_binary(values.type):
        return values.cast(pa.binary())
    return values


def is_list(kind: Any) -> bool:
    """Any of Arrow's list types."""
    return bool(pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind))


def map_distinct(values: Any, function: Callable[[Any], Any], kind: Any) -> Any:
    """Apply a function once per distinct value. What it refuses becomes a BadValue with the rows that
    hold such values.
    """
    encoded = values.dictionary_encode()
    out, refused = [], []
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            out.append(function(value))
        except (ValueError, OverflowError, RecursionError):
            refused.append(place)
    if refused:
        raise BadValue.among(values, np.isin(encoded.indices.fill_null(-1).to_numpy(), refused))
    try:
        made = pa.array(out, kind)
    except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 cannot hold: Java writes a question mark
        made = pa.array([v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in out], kind)
    return made.take(encoded.indices)


def _whole(stored: str) -> Callable[[Any], Any]:
    kind = ARROW[stored]

    def run(values: Any) -> Any:
        if pt.is_integer(values.type) or pt.is_boolean(values.type):
            return values.cast(kind, safe=False)  # a LONG beyond INT wraps around, as in Pinot
        if pt.is_floating(values.type):
            return _truncate(values, stored)
        if pt.is_string(values.type):
            return _text_to_whole(values, stored)
        if pt.is_date32(values.type):
            return values.cast(pa.int32()).cast(kind)
        if pt.is_timestamp(values.type) and stored == "LONG":
            return values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        if pt.is_decimal(values.type):
            return map_distinct(values, lambda v: _in_range(int(v), stored), kind)
        raise _every(values)

    return run


def _truncate(values: Any, stored: str) -> Any:
    """Towards zero, held at the type's ends as in Java."""
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    missing = np.isnan(numbers)
    low, high = _RANGES[stored]
    whole = np.where(missing, 0.0, numbers)
    inside = (whole > float(low)) & (whole < float(high))
    out = np.where(inside, whole, 0.0).astype(np.int64)
    out[whole <= float(low)] = low
    out[whole >= float(high)] = high
    return pa.array(out.astype(np.int32 if stored == "INT" else np.int64), mask=missing)


def _text_to_whole(values: Any, stored: str) -> Any:
    def parse(text: str) -> int:
        stripped = text.strip(_JAVA_SPACE)
        if not _WHOLE.fullmatch(stripped):
            raise ValueError(text)
        return _in_range(int(stripped), stored)

    if not pc.any(pc.match_substring(values, "x", ignore_case=True)).as_py():
        try:
            return values.cast(ARROW[stored])
        except pa.ArrowInvalid:
            pass  # some text is padded, signed with + or wrong: parse each
    return map_distinct(values, parse, ARROW[stored])


def _in_range(value: int, stored: str) -> int:
    low, high = _RANGES[stored]
    if not low <= value <= high:
        raise ValueError(value)
    return value


def _real(stored: str) -> Callable[[Any], Any]:
    kind = ARROW[stored]

    def run(values: Any) -> Any:
        if pt.is_string(values.type):
            out = _text_to_real(values, kind)
        elif pt.is_integer(values.type) or pt.is_floating(values.type) or pt.is_decimal(values.type):
            out = values.cast(kind, safe=False)
        elif pt.is_boolean(values.type):
            out = values.cast(pa.int8()).cast(kind)
        else:
            raise _every(values)
        return _without_nan(out)

    return run


def _text_to_real(values: Any, kind: Any) -> Any:
    def parse(text: str) -> float:
        stripped = text.strip(_JAVA_SPACE)
        if not _REAL.fullmatch(stripped):
            raise ValueError(text)
        return float(stripped.rstrip("dDfF") if stripped[-1] in "dDfF" else stripped)

    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        return map_distinct(values, parse, pa.float64()).cast(kind, safe=False)


def _without_nan(values: Any) -> Any:
    """NaN -> null and -0.0 -> 0.0."""
    numbers = values.to_numpy(zero_copy_only=False)
    return pa.array(numbers + numbers.dtype.type(0), mask=np.isnan(numbers))


def _to_boolean(values: Any) -> Any:
    if pt.is_boolean(values.type):
        return values.cast(pa.int32())
    if pt.is_string(values.type):
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(values))
        return pc.if_else(pc.is_valid(values), pc.is_in(lower, pa.array(["true", "1"])), None).cast(pa.int32())
    if pt.is_integer(values.type) or pt.is_floating(values.type) or pt.is_decimal(values.type):
        return pc.not_equal(values.cast(pa.float64(), safe=False), 0.0).cast(pa.int32())
    raise _every(values)


def _to_timestamp(values: Any) -> Any:
    if pt.is_int64(values.type) or pt.is_uint64(values.type) or pt.is_uint32(values.type):
        return values.cast(pa.int64(), safe=False)
    if pt.is_timestamp(values.type):
        return values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    if pt.is_date(values.type):
        return values.cast(pa.timestamp("ms")).cast(pa.int64())
    if pt.is_string(values.type):
        return _text_to_timestamp(values)
    raise _every(values)


def _text_to_timestamp(values: Any) -> Any:
    for kind in (pa.int64(), pa.timestamp("ms"), pa.timestamp("ms", "UTC")):
        try:
            return values.cast(kind).cast(pa.int64())
        except pa.ArrowInvalid:
            continue
    return map_distinct(values, parse_time, pa.int64())


def parse_time(text: str) -> int:
    """Digits (milliseconds), ``yyyy-MM-dd[ HH:mm:ss[.f]]`` or ISO-8601 -> epoch milliseconds; no zone means UTC. Raises
    ValueError.
    """
    stripped = text.strip(_JAVA_SPACE)
    if _WHOLE.fullmatch(stripped):
        return _in_range(int(stripped), "LONG")
    moment = datetime.fromisoformat(stripped)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * 1_000 + passed.microseconds // 1_000


def _to_string(values: Any) -> Any:
    kind = values.type
    if pt.is_string(kind):
        return values
    if pt.is_integer(kind) or pt.is_boolean(kind):
        return values.cast(pa.string())
    if pt.is_float64(kind):
        return map_distinct(values, java_double, pa.string())
    if pt.is_floating(kind):
        return map_distinct(values.cast(pa.float32()), java_float, pa.string())
    return map_distinct(values, _text_of, pa.string())


def _text_of(value: Any) -> str:
    match value:
        case bytes():
            return value.hex()
        case datetime():
            fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
            return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"
        case date():
            return value.isoformat()
        case Decimal():
            return plain_decimal(value)
    return str(value)


def _to_decimal(values: Any) -> Any:
    if pt.is_boolean(values.type):
        values = values.cast(pa.int8())
    if pt.is_binary(values.type) or pt.is_temporal(values.type):
        raise _every(values)
    return map_distinct(values, lambda v: plain_decimal(parse_decimal(str(v))), pa.string())


def _to_bytes(values: Any) -> Any:
    if pt.is_binary(values.type):
        return values
    if pt.is_string(values.type):
        return map_distinct(values, _hex, pa.binary())
    raise _every(values)


def _hex(text: str) -> bytes:
    stripped = text.strip(_JAVA_SPACE)
    if any(c in " \t\n" for c in stripped):
        raise ValueError(text)
    return bytes.fromhex(stripped)


def _to_uuid(values: Any) -> Any:
    def parse(value: str | bytes) -> bytes:
        if isinstance(value, bytes):
            if len(value) != 16:
                raise ValueError(value)
            return value
        return uuid.UUID(value.strip(_JAVA_SPACE)).bytes

    if pt.is_binary(values.type) or pt.is_string(values.type):
        return map_distinct(values, parse, pa.binary())
    raise _every(values)


def _to_json(values: Any) -> Any:
    if pt.is_string(values.type):
        return map_distinct(values, compact_json, pa.string())
    if pt.is_nested(values.type):
        return pa.array([None if v is None else json_of(v) for v in values.to_pylist()], pa.string())
    if pt.is_binary(values.type) or pt.is_temporal(values.type):
        return map_distinct(_to_string(values), json_of, pa.string())
    return _to_string(values)


def _single(values: Any) -> Any:
    """Lists and maps with one element -> the element; empty -> null; more -> BadValue."""
    if is_list(values.type):
        values = values.cast(pa.large_list(values.type.value_type))
        lengths = values.value_lengths().fill_null(0).to_numpy()
        if len(lengths) and lengths.max() > 1:
            raise BadValue.among(values, lengths > 1)
        starts = np.array(values.offsets)[:-1]
        return values.values.take(pa.array(starts, mask=lengths == 0))
    out = []
    for position, value in enumerate(values.to_pylist()):
        items = dict(value or {})
        present = [v for v in items.values() if v is not None]
        if len(present) > 1:
            raise BadValue(position, value)
        out.append(present[0] if present else None)
    return pa.array(out)


def _every(values: Any) -> BadValue:
    """All values that are there; their whole type does not convert."""
    return BadValue.among(values, values.is_valid().to_numpy(zero_copy_only=False))


_CONVERTERS: Final[dict[str, Callable[[Any], Any]]] = {
    "INT": _whole("INT"),
    "LONG": _whole("LONG"),
    "FLOAT": _real("FLOAT"),
    "DOUBLE": _real("DOUBLE"),
    "BIG_DECIMAL": _to_decimal,
    "BOOLEAN": _to_boolean,
    "TIMESTAMP": _to_timestamp,
    "STRING": _to_string,
    "BYTES": _to_bytes,
    "UUID": _to_uuid,
}
