"""Reads and writes Pinot v3 segments with NumPy and Arrow: one format for Spark, embedded servers and upload checks."""

from __future__ import annotations

from segments.segmentfile.crc import compute_crc
from segments.segmentfile.info import ColumnInfo, SegmentInfo, parse_info, read_info
from segments.segmentfile.reader import SegmentReader
from segments.segmentfile.tar import extract_tar, read_info_from_tar, write_tar
from segments.segmentfile.transform import transform_table
from segments.segmentfile.verify import verify
from segments.segmentfile.writer import build_segment, write_stored

__all__ = [
    "ColumnInfo",
    "SegmentInfo",
    "SegmentReader",
    "build_segment",
    "compute_crc",
    "extract_tar",
    "parse_info",
    "read_info",
    "read_info_from_tar",
    "transform_table",
    "verify",
    "write_stored",
    "write_tar",
]
