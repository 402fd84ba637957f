"""Reads and writes Pinot v3 segments with NumPy and Arrow: one format for Spark, embedded servers and upload checks."""

from __future__ import annotations

from segments.segmentfile.columns.transform import transform_table
from segments.segmentfile.format.crc import compute_crc
from segments.segmentfile.format.info import ColumnInfo, SegmentInfo, parse_info, read_info
from segments.segmentfile.packed.tar import extract_tar, read_info_from_tar, write_tar
from segments.segmentfile.prune import Condition, may_hold, may_match
from segments.segmentfile.reader import SegmentReader
from segments.segmentfile.relayout import convert_layout
from segments.segmentfile.rows import row_tables, write_rows
from segments.segmentfile.verify import verify
from segments.segmentfile.writer import build_segment, write_stored

__all__ = [
    "ColumnInfo",
    "Condition",
    "SegmentInfo",
    "SegmentReader",
    "build_segment",
    "compute_crc",
    "convert_layout",
    "extract_tar",
    "may_hold",
    "may_match",
    "parse_info",
    "read_info",
    "read_info_from_tar",
    "row_tables",
    "transform_table",
    "verify",
    "write_rows",
    "write_stored",
    "write_tar",
]
