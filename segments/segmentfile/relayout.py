"""Rewrites a segment from the v1 layout to v3 or back, without decoding a value; its CRC is recomputed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from segments.errors import InvalidInput, SegmentCorrupt
from segments.segmentfile.format.buffers import Bytes
from segments.segmentfile.format.crc import CREATION_META, java_order
from segments.segmentfile.format.info import (
    COLUMNS,
    INDEX_MAP,
    METADATA,
    SegmentInfo,
    find_files,
    parse_info,
    read_info,
)
from segments.segmentfile.format.layout import V1_SUFFIXES, V3, LayoutWriter, forward_suffix, index_files, replacing
from segments.segmentfile.format.properties import Value, parse_properties
from segments.segmentfile.format.store import IndexStore, map_file


def convert_layout(segment_dir: Path, out_dir: Path, *, layout: str = V3) -> SegmentInfo:
    """Write ``out_dir/<segment name>`` in ``layout`` (``v1`` or ``v3``) with the same indexes, creation time and data
    CRC.

    Pinot keeps the old CRC when it converts, which no longer fits the bytes; this one fits. Raises SegmentCorrupt for
    damaged offsets and InvalidInput when the segment has files that the other layout cannot hold (text indexes,
    star-trees).
    """
    info = read_info(segment_dir)
    folder = find_files(segment_dir)
    lines = [(k, v) for k, v in _lines(folder / METADATA) if k != "segment.index.version"]
    name = info.name or segment_dir.name
    if (out_dir / name).resolve() == segment_dir.resolve():
        raise InvalidInput(
            f"Segment '{name}' cannot be converted onto itself.", remedy="Give another output directory."
        )
    with replacing(out_dir / name) as fresh:
        writer = LayoutWriter(fresh, layout)
        for column, payloads in _indexes(segment_dir, folder, info):
            spec = info.columns[column]
            suffix = forward_suffix(single_value=spec.single_value, raw=spec.raw_forward, is_sorted=spec.is_sorted)
            writer.add(column, payloads, suffix)
        metadata, meta = writer.finish(lines, info.creation_time_ms, info.data_crc)
    return parse_info(metadata, meta)


def _lines(path: Path) -> list[tuple[str, Value]]:
    return list(parse_properties(path.read_bytes()).items())


def _indexes(segment_dir: Path, folder: Path, info: SegmentInfo) -> Iterator[tuple[str, dict[str, Bytes]]]:
    if info.index_version == V3:
        yield from _v3_indexes(segment_dir, folder, info)
        return
    found, others = index_files(folder, info.columns)
    _refuse(info, others)
    for column in sorted(found, key=java_order):
        yield column, {index: map_file(path) for index, path in found[column].items()}


def _v3_indexes(segment_dir: Path, folder: Path, info: SegmentInfo) -> Iterator[tuple[str, dict[str, Bytes]]]:
    own = {COLUMNS, INDEX_MAP, METADATA, CREATION_META}
    store = IndexStore(segment_dir, info)
    kinds: dict[str, set[str]] = {}
    for column, index in store.entries:
        kinds.setdefault(column, set()).add(index)
    odd = [f"{c}.{i}" for c, found in kinds.items() for i in found if i != "forward_index" and i not in V1_SUFFIXES]
    _refuse(info, [p.name for p in folder.iterdir() if p.name not in own and not p.name.endswith(".crc")] + odd)
    for column in sorted(kinds, key=java_order):
        if column not in info.columns:
            raise SegmentCorrupt(f"{INDEX_MAP}: column '{column}' is not in {METADATA} of segment '{info.name}'.")
        spec = info.columns[column]
        got = {index: store.get(spec, index) for index in kinds[column]}
        yield column, {index: found.data for index, found in got.items() if found is not None}


def _refuse(info: SegmentInfo, others: list[str]) -> None:
    if others:
        raise InvalidInput(
            f"Segment '{info.name}' cannot be converted: '{others[0]}' is an index that would be lost.",
            remedy="Remove the index, or let a Pinot server convert the segment.",
        )
