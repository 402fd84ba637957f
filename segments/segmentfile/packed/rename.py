"""Gives a packed segment another name: its two small files are rewritten, its data stays byte for byte."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from segments.errors import SegmentCorrupt
from segments.names import check_segment_name
from segments.segmentfile.format.crc import CREATION_META, NO_CRC, compute_crc, format_creation_meta
from segments.segmentfile.format.info import METADATA, SegmentInfo, find_files, read_info
from segments.segmentfile.format.properties import escape_value
from segments.segmentfile.packed.tar import extract_tar, write_tar

_NAME: Final = re.compile(rb"^segment\.name *=.*$", re.MULTILINE)


def rename_tar(source: Path, name: str, work: Path) -> Path:
    """``work/<name>.tar.gz``: the segment of ``source`` under ``name``, with the CRC that fits. ``work`` must be empty.

    Raises SegmentCorrupt for a tar that is not a segment, InvalidInput for a name that none can have.
    """
    check_segment_name(name)
    unpacked = extract_tar(source, work / "unpacked")
    folder, info = find_files(unpacked), read_info(unpacked)
    text, found = _NAME.subn(
        lambda _: f"segment.name = {escape_value(name)}".encode(), (folder / METADATA).read_bytes()
    )
    if found != 1:
        raise SegmentCorrupt(f"{METADATA} of segment '{info.name}' names it {found} times.")
    (folder / METADATA).write_bytes(text)
    _seal(unpacked, folder, info)
    renamed = unpacked.rename(work / name)
    tar = work / f"{name}.tar.gz"
    write_tar(renamed, tar)
    return tar


def _seal(segment_dir: Path, folder: Path, info: SegmentInfo) -> None:
    data_crc = NO_CRC if info.data_crc is None else info.data_crc
    meta = format_creation_meta(compute_crc(segment_dir), info.creation_time_ms, data_crc)
    (folder / CREATION_META).write_bytes(meta)
