"""An answer as JSON or Parquet, made piece by piece, so that no file is whole in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from segments.console.presenters.queries.answer import Column
from segments.dataplane.query_bounds import rows_within

#: Rows and values of one piece.
_ROWS: Final = 10_000
_VALUES: Final = 1_000_000
_TYPES: Final[dict[str, pa.DataType]] = {
    "INT": pa.int32(), "LONG": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(),
}  # fmt: skip
_ARRAY: Final = "_ARRAY"


def unique_names(columns: Sequence[Column]) -> list[str]:
    """Names of which none stands twice: a join may answer ``k`` and ``k``, the second becomes ``k_2``."""
    found: dict[str, None] = {}
    tried: dict[str, int] = {}
    for column in columns:
        name, number = column.name, tried.get(column.name, 1)
        while name in found:
            number += 1
            name = f"{column.name}_{number}"
        tried[column.name] = number
        found[name] = None
    return list(found)


def json_pieces(columns: Sequence[Column], rows: Iterable[list[Any]]) -> Iterator[bytes]:
    """A list of objects, one a row."""
    names, source, is_first = unique_names(columns), iter(rows), True
    size = rows_within(_ROWS, _VALUES, len(columns))
    yield b"["
    while chunk := list(islice(source, size)):
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in chunk)
        yield (("\n" if is_first else ",\n") + ",\n".join(lines)).encode()
        is_first = False
    yield b"\n]\n"


def parquet_pieces(columns: Sequence[Column], rows: Iterable[list[Any]]) -> Iterator[bytes]:
    """One row group per piece. Types follow Pinot's; what Pinot answers as text stays text."""
    schema = pa.schema([(n, _type(c.type)) for n, c in zip(unique_names(columns), columns, strict=True)])
    sink, source, size = _Pieces(), iter(rows), rows_within(_ROWS, _VALUES, len(columns))
    file: Any = sink  # what ParquetWriter uses of one
    with pq.ParquetWriter(file, schema) as writer:
        while chunk := list(islice(source, size)):
            values = [
                [_value(v, c.type) for v in given] for c, given in zip(columns, zip(*chunk, strict=True), strict=True)
            ]
            arrays = [pa.array(v, field.type) for v, field in zip(values, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


def _type(kind: str) -> Any:
    if kind.endswith(_ARRAY):
        return pa.list_(_type(kind.removesuffix(_ARRAY)))
    return _TYPES.get(kind, pa.string())


def _value(value: Any, kind: str) -> Any:
    """NaN and infinities are texts in Pinot's answers."""
    if value is None:
        return None
    if kind.endswith(_ARRAY):
        return [_value(v, kind.removesuffix(_ARRAY)) for v in value]
    if kind in ("FLOAT", "DOUBLE"):
        return float(value)
    if kind in _TYPES:
        return value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Pieces:
    """What was written since it was last taken."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> int:
        self._written.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is open."""

    def take(self) -> bytes:
        written, self._written = b"".join(self._written), []
        return written
