"""Which files and folders a Pinot segment consists of, by name: nothing else is unpacked from a tar that somebody sent.

The names are those of Pinot's own writers (``V1Constants`` there), old versions included, and of the Lucene indexes
inside a segment.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from segments.segmentfile.format.crc import CREATION_META
from segments.segmentfile.format.info import COLUMNS, INDEX_MAP, METADATA

_V3: Final = "v3"
_FILES: Final = frozenset((
    METADATA, CREATION_META, COLUMNS, INDEX_MAP, "star_tree_index", "star_tree_index_map", "star-tree.bin",
    "validdocids.bitmap.snapshot", "queryabledocids.bitmap.snapshot",
))  # fmt: skip
_TTL_WATERMARK: Final = "ttl.watermark.partition."
#: A file of one column's index is called by the column and one of these.
_FILE_ENDS: Final = (
    ".dict",
    ".sv.unsorted.fwd",
    ".sv.sorted.fwd",
    ".sv.raw.fwd",
    ".mv.fwd",
    ".mv.raw.fwd",
    ".mv.entry.dict.fwd",
    ".bitmap.inv",
    ".bitmap.range",
    ".bitmap.nullvalue",
    ".bloom",
    ".json.idx",
    ".h3.idx",
    ".nativetext.idx",
    ".text.index",
    ".lucene.mapping",
    ".lucene.fst",
    ".lucene.v9.fst",
    ".lucene.v99.fst",
    ".lucene.v912.fst",
    ".lucene.v912.ifst",
    ".vector.hnsw.mapping",
    ".vector.ivfflat.index",
    ".vector.ivfpq.index",
)
#: So is a folder with a Lucene index.
_FOLDER_ENDS: Final = (
    ".lucene.index",
    ".lucene.v9.index",
    ".lucene.v99.index",
    ".lucene.v912.index",
    ".vector.index",
    ".vector.hnsw.index",
    ".vector.v99.index",
    ".vector.v99.hnsw.index",
    ".vector.v912.index",
    ".vector.v912.hnsw.index",
)
_IN_LUCENE: Final = frozenset(("write.lock", "segments.gen", "lucene.properties"))
_LUCENE_ENDS: Final = frozenset(
    (
        "si",
        "cfs",
        "cfe",
        "fnm",
        "fdx",
        "fdt",
        "fdm",
        "tim",
        "tip",
        "tmd",
        "doc",
        "pos",
        "pay",
        "psm",
        "nvd",
        "nvm",
        "dvd",
        "dvm",
        "tvx",
        "tvd",
        "tvm",
        "liv",
        "del",
        "dii",
        "dim",
        "kdd",
        "kdi",
        "kdm",
        "vec",
        "vex",
        "vem",
        "vemf",
        "veq",
        "vemq",
        "veb",
        "vemb",
    )
)
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def is_segment_file(path: PurePosixPath) -> bool:
    """May a segment have a file at this path? It is counted from the segment's directory (``v3/columns.psf``)."""
    parts = _below_v3(path)
    if len(parts) == 1:
        return _is_index_file(parts[0])
    return len(parts) == 2 and _is_lucene_folder(parts[0]) and _is_lucene_file(parts[1])


def is_segment_folder(path: PurePosixPath) -> bool:
    """May a segment have a folder at this path? It is counted from the segment's directory, which is ``.`` itself."""
    parts = _below_v3(path)
    return not parts or (len(parts) == 1 and _is_lucene_folder(parts[0]))


def _below_v3(path: PurePosixPath) -> tuple[str, ...]:
    return path.parts[1:] if path.parts[:1] == (_V3,) else path.parts


def _is_index_file(name: str) -> bool:
    if name in _FILES or _has_end(name, _FILE_ENDS):
        return True
    if name.startswith(_TTL_WATERMARK):
        return name.removeprefix(_TTL_WATERMARK).isdecimal()
    checked = name.removesuffix(".crc").removeprefix(
        "."
    )  # Hadoop's check sums next to files; Pinot's CRC passes over them
    return name.endswith(".crc") and not checked.endswith(".crc") and _is_index_file(checked)


def _is_lucene_folder(name: str) -> bool:
    return _has_end(name, _FOLDER_ENDS)


def _is_lucene_file(name: str) -> bool:
    """``segments_1``, ``_0.cfs``, ``_0_Lucene912_0.doc`` and the few others."""
    if name in _IN_LUCENE:
        return True
    stem, _, end = name.partition(".")
    if not set(stem) <= _WORD:
        return False
    return (
        end in _LUCENE_ENDS if stem.startswith("_") else not end and stem.startswith(("segments_", "pending_segments_"))
    )


def _has_end(name: str, ends: tuple[str, ...]) -> bool:
    return any(name.endswith(end) and len(name) > len(end) for end in ends)
