"""Reads the tar of a batch upload: two small files per segment and the list of where their tars are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from segments.errors import InvalidInput, SegmentTooLarge
from segments.segmentfile.format.info import SegmentInfo, parse_info
from segments.segmentfile.packed.foreign_tar import Bounds, open_foreign
from segments.segmentfile.packed.tar import MAX_DESCRIPTION_BYTES

_LISTING: Final = "all_segments_metadata"
_PROPERTIES: Final = ".metadata.properties"
_CREATION: Final = ".creation.meta"
#: All files of a batch are in memory at once.
_BOUNDS: Final = Bounds(unpacked_bytes=256 << 20, entries=20_001)


def read_batch(tar: Path) -> list[tuple[SegmentInfo, str, int | None]]:
    """[(description, download address, None)] in the order of the listing.

    Raises SegmentCorrupt when the tar cannot be read, SegmentTooLarge when it holds too much for one request,
    InvalidInput when listing and files do not fit together.
    """
    files = _read_files(tar)
    if _LISTING not in files:
        raise InvalidInput(
            f"The batch has no file '{_LISTING}'.",
            remedy="Add it: two lines per segment, its name and its download address.",
        )
    lines = files[_LISTING].decode("utf-8", "replace").splitlines()
    pairs = [line.strip() for line in lines if line.strip()]
    if not pairs or len(pairs) % 2:
        raise InvalidInput(
            f"'{_LISTING}' must hold two lines per segment, its name and its download address, for at least one "
            "segment."
        )
    return [_part(files, name, uri) for name, uri in zip(pairs[::2], pairs[1::2], strict=True)]


def _part(files: dict[str, bytes], name: str, uri: str) -> tuple[SegmentInfo, str, None]:
    missing = [name + suffix for suffix in (_PROPERTIES, _CREATION) if name + suffix not in files]
    if missing:
        raise InvalidInput(f"The batch lists segment '{name}' but has no file '{missing[0]}'.")
    info = parse_info(files[name + _PROPERTIES], files[name + _CREATION])
    if info.name != name:
        raise InvalidInput(f"The batch lists segment '{name}', its metadata says '{info.name}'.")
    return info, uri, None


def _read_files(path: Path) -> dict[str, bytes]:
    """The files of the batch by their last name; what belongs to no segment's description is passed over unread."""
    found: dict[str, bytes] = {}
    with open_foreign(path, _BOUNDS) as tar:
        for entry in tar:
            name = entry.name.rpartition("/")[2]
            if not entry.isreg() or not (name == _LISTING or name.endswith((_PROPERTIES, _CREATION))):
                continue
            if entry.size > MAX_DESCRIPTION_BYTES:
                raise SegmentTooLarge(f"'{name}' has {entry.size} bytes, at most {MAX_DESCRIPTION_BYTES} are allowed.")
            found[name] = tar.contents(entry).read()
    return found
