"""Writes the files of a segment in Pinot's two layouts, column by column: v3 (one ``columns.psf``) and v1 (a file per
index).

Columns come in one at a time and are written at once, so that only one column's indexes are in memory.
"""

from __future__ import annotations

import os
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from segments.errors import InvalidInput
from segments.segmentfile.format.crc import (
    CREATION_META,
    adler32,
    combine,
    compute_crc,
    format_creation_meta,
    java_order,
)
from segments.segmentfile.format.info import COLUMNS, INDEX_MAP, METADATA
from segments.segmentfile.format.properties import Value, format_properties

#: Stands before every index in ``columns.psf``.
MARKER: Final = bytes.fromhex("deadbeefdeafbead")
V1: Final = "v1"
V3: Final = "v3"
#: Index id -> end of the file's name in the v1 layout; the forward index's end depends on the column.
V1_SUFFIXES: Final[Mapping[str, str]] = {
    "dictionary": ".dict",
    "inverted_index": ".bitmap.inv",
    "range_index": ".bitmap.range",
    "nullvalue_vector": ".bitmap.nullvalue",
    "bloom_filter": ".bloom",
    "json_index": ".json.idx",
    "h3_index": ".h3.idx",
}


def forward_suffix(*, single_value: bool, raw: bool, is_sorted: bool) -> str:
    """End of a forward index's file name in the v1 layout, which also gives the order of the data CRC."""
    if raw:
        return ".sv.raw.fwd" if single_value else ".mv.raw.fwd"
    if not single_value:
        return ".mv.fwd"
    return ".sv.sorted.fwd" if is_sorted else ".sv.unsorted.fwd"


class LayoutWriter:
    """Writes one segment's files below ``folder``. Call :meth:`add` per column in Pinot's order, then :meth:`finish`
    once.
    """

    def __init__(self, folder: Path, layout: str) -> None:
        self.folder = folder / "v3" if layout == V3 else folder
        self._layout = layout
        self._map: list[tuple[str, Value]] = []
        self._place = 0
        self._crc = 1
        self._data: dict[str, tuple[int, int]] = {}
        self.folder.mkdir(parents=True)
        if layout == V3:
            (self.folder / COLUMNS).touch()

    def add(self, column: str, payloads: Mapping[str, Any], suffix: str) -> None:
        """The indexes of one column by index id; ``suffix`` is its forward index's (see :func:`forward_suffix`)."""
        for index in sorted(payloads):
            data = payloads[index]
            file = column + (suffix if index == "forward_index" else V1_SUFFIXES[index])
            if index in ("dictionary", "forward_index"):
                self._data[file] = (zlib.adler32(data), len(data))
            if self._layout == V3:
                self._append(column, index, data)
            elif "/" in file or "\0" in file:
                raise InvalidInput(
                    f"Column '{column[:80]}' cannot be the name of a file, as the v1 layout needs.", remedy="Use v3."
                )
            else:
                (self.folder / file).write_bytes(data)

    def finish(self, lines: list[tuple[str, Value]], created: int, data_crc: int | None = None) -> tuple[bytes, bytes]:
        """Write the descriptions; (``metadata.properties``, ``creation.meta``). ``data_crc`` replaces the one of the
        columns added.
        """
        if self._layout == V3:
            lines = [*lines, ("segment.index.version", V3)]
        metadata = format_properties(lines, blank_after_empty=self._layout == V1)
        (self.folder / METADATA).write_bytes(metadata)
        if self._map:
            (self.folder / INDEX_MAP).write_bytes(index_map := format_properties(self._map))
            self._crc = adler32([index_map], self._crc)
        # The order of the hashed files is that of their names: columns.psf, index_map, metadata.properties.
        crc = adler32([metadata], self._crc) if self._layout == V3 else compute_crc(self.folder)
        meta = format_creation_meta(crc, created, self._data_crc() if data_crc is None else data_crc)
        (self.folder / CREATION_META).write_bytes(meta)
        return metadata, meta

    def _append(self, column: str, index: str, data: Any) -> None:
        size = len(data) + len(MARKER)
        with (self.folder / COLUMNS).open("ab") as target:
            target.write(MARKER)
            target.write(data)
        self._map += [(f"{column}.{index}.startOffset", str(self._place)), (f"{column}.{index}.size", str(size))]
        self._crc = adler32([MARKER, data], self._crc)
        self._place += size

    def _data_crc(self) -> int:
        """Over dictionaries and forward indexes, in order of their file names in the v1 layout."""
        return combine(self._data[file] for file in sorted(self._data, key=java_order))


@contextmanager
def replacing(final: Path) -> Iterator[Path]:
    """A fresh directory next to ``final`` that takes its place at the end; an exception leaves ``final`` as it was."""
    final.parent.mkdir(parents=True, exist_ok=True)
    fresh = final.parent / f".{final.name}.{os.getpid()}-{threading.get_ident()}.building"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        yield fresh
        shutil.rmtree(final, ignore_errors=True)
        fresh.rename(final)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def index_files(folder: Path, columns: Iterable[str]) -> tuple[dict[str, dict[str, Path]], list[str]]:
    """A v1 segment's index files by column and index id, and the names of files that are neither index
    nor description.
    """
    known = sorted(columns, key=len, reverse=True)
    found: dict[str, dict[str, Path]] = {}
    others = []
    for path in sorted(folder.iterdir()):
        if path.name in (METADATA, CREATION_META) or path.name.endswith(".crc"):
            continue
        place = next((place for column in known if (place := _place(path.name, column))), None)
        if place is None or path.is_dir():
            others.append(path.name)
        else:
            found.setdefault(place[0], {})[place[1]] = path
    return found, others


def _place(file: str, column: str) -> tuple[str, str] | None:
    if not file.startswith(column + "."):
        return None
    rest = file[len(column) :]
    if rest in (".sv.unsorted.fwd", ".sv.sorted.fwd", ".sv.raw.fwd", ".mv.fwd", ".mv.raw.fwd"):
        return column, "forward_index"
    return next(((column, index) for index, suffix in V1_SUFFIXES.items() if rest == suffix), None)
