"""Finds the bytes of a column's index in a segment directory, v3 (one file) or v1 (a file per index)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from segments.errors import SegmentCorrupt
from segments.segmentfile.format.buffers import Bytes
from segments.segmentfile.format.info import COLUMNS, INDEX_MAP, ColumnInfo, SegmentInfo, find_files
from segments.segmentfile.format.layout import MARKER, V1_SUFFIXES, forward_suffix
from segments.segmentfile.format.properties import Value, parse_properties

DICTIONARY: Final = "dictionary"
FORWARD: Final = "forward_index"
NULLS: Final = "nullvalue_vector"
INVERTED: Final = "inverted_index"
_FREE_ROWS: Final = 10_000_000
_ROWS_PER_BYTE: Final = 1_024
_KEY = re.compile(r"(.+)\.([^.]+)\.(startOffset|size)", re.DOTALL)


@dataclass(frozen=True)
class IndexBytes:
    """One index: where it is (file name, offset of its first byte) and its bytes, memory-mapped."""

    file: str
    offset: int
    data: Bytes


class IndexStore:
    """All indexes of one segment, memory-mapped. Reading is thread-safe: nothing changes after the constructor."""

    def __init__(self, segment_dir: Path, info: SegmentInfo) -> None:
        self._folder = find_files(segment_dir)
        self._info = info
        self.entries: dict[tuple[str, str], tuple[int, int]] = {}
        self._data: Bytes | None = None
        if info.index_version == "v3" and info.total_docs:
            self._data = map_file(self._folder / COLUMNS)
            self.entries = self._read_map()
        self._check_rows()

    def get(self, column: ColumnInfo, index: str) -> IndexBytes | None:
        """The index's bytes, or None when the segment has none of that kind. Raises SegmentCorrupt."""
        if self._info.index_version != "v3":
            return self._v1_file(column, index)
        place = self.entries.get((column.name, index))
        if place is None or self._data is None:
            return None
        start, size = place
        if bytes(self._data[start : start + 8]) != MARKER:
            raise SegmentCorrupt(
                f"{COLUMNS}: {index} of column '{column.name}' at offset {start} does not begin with Pinot's marker."
            )
        return IndexBytes(COLUMNS, start + 8, self._data[start + 8 : start + size])

    def close(self) -> None:
        """Forget the mapping; arrays that still refer to it keep it alive."""
        self._data, self.entries = None, {}

    def _check_rows(self) -> None:
        """A constant column needs 8 bytes for any number of rows, so a hostile file could claim rows that fill the
        memory.
        """
        size = (
            len(self._data)
            if self._data is not None
            else sum(p.stat().st_size for p in self._folder.iterdir() if p.is_file())
        )
        if self._info.total_docs > _FREE_ROWS + _ROWS_PER_BYTE * size:
            raise SegmentCorrupt(
                f"Segment '{self._info.name[:80]}' claims {self._info.total_docs} rows from {size} bytes."
            )

    def _read_map(self) -> dict[tuple[str, str], tuple[int, int]]:
        path = self._folder / INDEX_MAP
        if not path.is_file():
            raise SegmentCorrupt(
                f"{INDEX_MAP} is missing in segment '{self._info.name}'.", remedy="Fetch or build the segment again."
            )
        found: dict[tuple[str, str], dict[str, int]] = {}
        for key, value in parse_properties(path.read_bytes(), INDEX_MAP).items():
            match = _KEY.fullmatch(key)
            if match is None:
                raise SegmentCorrupt(f"{INDEX_MAP}: key '{key[:80]}' is neither a startOffset nor a size.")
            found.setdefault((match[1], match[2]), {})[match[3]] = _number(key, value)
        assert self._data is not None
        return {k: self._checked(k, v, len(self._data)) for k, v in found.items() if v.get("size") != 0}

    def _checked(self, key: tuple[str, str], place: dict[str, int], length: int) -> tuple[int, int]:
        start, size = place.get("startOffset", -1), place.get("size", -1)
        if start < 0 or size < len(MARKER) or start + size > length:
            raise SegmentCorrupt(
                f"{INDEX_MAP}: {key[1]} of column '{key[0]}' at offset {start} with {size} bytes"
                f" does not fit into {COLUMNS} of {length} bytes."
            )
        return start, size

    def _v1_file(self, column: ColumnInfo, index: str) -> IndexBytes | None:
        suffix = V1_SUFFIXES.get(index)
        if index == FORWARD:
            suffix = forward_suffix(
                single_value=column.single_value, raw=column.raw_forward, is_sorted=column.is_sorted
            )
        if "/" in column.name or "\0" in column.name:
            raise SegmentCorrupt(f"Column name '{column.name[:80]}' cannot be the name of a file.")
        path = self._folder / (column.name + (suffix or ""))
        return IndexBytes(path.name, 0, map_file(path)) if suffix and path.is_file() else None


def map_file(path: Path) -> Bytes:
    """A file's bytes, memory-mapped read-only. Raises SegmentCorrupt when it is missing."""
    try:
        if path.stat().st_size == 0:
            return np.zeros(0, np.uint8)
        mapped: Any = np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise SegmentCorrupt(f"{path.name} cannot be read: {error.strerror}.") from error
    return np.asarray(mapped)


def _number(key: str, value: Value) -> int:
    if isinstance(value, list) or not re.fullmatch(r"\d{1,18}", value):
        raise SegmentCorrupt(f"{INDEX_MAP}: '{key[:80]}' is not a number: {str(value)[:80]!r}.")
    return int(value)
