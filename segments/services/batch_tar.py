"""Reads the tar of a batch upload: two small files per segment and the list of where their tars are (storage-zk.md 3.1)."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from segments.errors import InvalidInput, SegmentCorrupt
from segments.segmentfile.info import SegmentInfo, parse_info

_LISTING: Final = "all_segments_metadata"
_PROPERTIES: Final = ".metadata.properties"
_CREATION: Final = ".creation.meta"
_MAX_FILE: Final = 64 << 20
_MAX_BYTES: Final = 1 << 30
_MAX_FILES: Final = 200_001


def read_batch(tar: Path) -> list[tuple[SegmentInfo, str, int | None]]:
    """[(description, download address, None)] in the order of the listing.

    Raises SegmentCorrupt when the tar can not be read, InvalidInput when listing and files do not fit together.
    """
    files = _read_files(tar)
    if _LISTING not in files:
        raise InvalidInput(
            f"The batch has no file '{_LISTING}'.", remedy="Add it: two lines per segment, its name and its download address."
        )
    lines = files[_LISTING].decode("utf-8", "replace").splitlines()
    pairs = [line.strip() for line in lines if line.strip()]
    if not pairs or len(pairs) % 2:
        raise InvalidInput(f"'{_LISTING}' must hold two lines per segment, its name and its download address, for at least one segment.")
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
    try:
        with tarfile.open(path, "r:gz") as tar:
            return dict(_members(tar))
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise SegmentCorrupt(f"The batch is no readable tar.gz: {error}.", remedy="Upload it again.") from error


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    total = 0
    for count, entry in enumerate(tar):
        total += entry.size
        if entry.size > _MAX_FILE or total > _MAX_BYTES or count >= _MAX_FILES:
            raise InvalidInput("The batch is too large.", remedy="Split it.")
        source = tar.extractfile(entry) if entry.isreg() else None
        if source is not None:
            yield entry.name.rpartition("/")[2], source.read()
