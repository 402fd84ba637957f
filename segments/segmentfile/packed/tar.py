"""Packs a segment directory into a tar.gz that every Pinot accepts, and unpacks foreign ones safely.

Pinot recognises the compressor by magic bytes and reads one gzip member; servers take the first entry as the segment's
directory. What Pinot's servers would choke on later is refused here with the reason.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

from segments.errors import SegmentCorrupt, SegmentTooLarge, Unavailable
from segments.segmentfile.format.crc import CREATION_META
from segments.segmentfile.format.info import INDEX_MAP, METADATA, SegmentInfo, parse_info
from segments.segmentfile.packed.file_names import is_segment_file, is_segment_folder
from segments.segmentfile.packed.foreign_tar import BLOCK, Bounds, ForeignTar, open_foreign

#: What a segment may unpack to where nobody says otherwise, and what unpacking leaves free on the disk, in bytes.
UNPACKED_BYTES: Final = 20 << 30
KEPT_FREE_BYTES: Final = 256 << 20
#: The largest ``metadata.properties``; one column takes about a kilobyte.
MAX_DESCRIPTION_BYTES: Final = 8 << 20
_MAX_MEMBERS: Final = 10_000


def write_tar(segment_dir: Path, tar_path: Path) -> int:
    """Pack ``segment_dir`` (its name becomes the top directory) and return the tar's size in bytes.

    One gzip member at level 1; directories first, then the small files, then ``columns.psf``. Same files, same bytes.
    """
    paths = sorted(
        segment_dir.rglob("*"),
        key=lambda p: (not p.is_dir(), p.name not in (METADATA, CREATION_META), p.suffix == ".psf", str(p)),
    )
    with tar_path.open("wb") as target:
        with (
            gzip.GzipFile("", "wb", compresslevel=1, fileobj=target, mtime=0) as packed,
            tarfile.TarFile(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, copybufsize=BLOCK) as tar,
        ):
            for path in [segment_dir, *paths]:
                _add(tar, path, segment_dir.parent)
        target.flush()
        return target.tell()


def _add(tar: tarfile.TarFile, path: Path, base: Path) -> None:
    entry = tarfile.TarInfo(path.relative_to(base).as_posix())
    if path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(entry)
        return
    entry.size, entry.mode = path.stat().st_size, 0o644
    with path.open("rb") as file:
        tar.addfile(entry, file)


def extract_tar(
    tar_path: Path, dest: Path, *, max_bytes: int = UNPACKED_BYTES, max_members: int = _MAX_MEMBERS
) -> Path:
    """Unpack below ``dest`` and return the segment's directory there. Files are never executable.

    Takes gzip, zstd and framed LZ4, recognised by their magic bytes. Raises SegmentCorrupt, and leaves nothing new in
    ``dest``, for links, special files, files that no segment has, paths that leave ``dest``, a missing directory entry,
    damaged or cut streams, several gzip members, a bare tar. Raises SegmentTooLarge (which is one) for more than
    ``max_bytes`` (sum of file sizes), many times the tar's own size, or ``max_members``; Unavailable when the disk
    would be left with less than ``KEPT_FREE_BYTES``.
    """
    dest.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".unpack-", dir=dest))
    try:
        with open_foreign(tar_path, Bounds(max_bytes, max_members)) as tar:
            top = _extract_all(tar, work, tar_path.name)
        final = dest / top
        if final.is_symlink() or final.is_file():
            final.unlink()
        elif final.exists():
            shutil.rmtree(final)
        os.rename(work / top, final)
        return final
    finally:
        shutil.rmtree(work, ignore_errors=True)


def read_info_from_tar(tar_path: Path) -> SegmentInfo:
    """Describe the segment in a tar, or in a metadata tar of just the two small files, reading no further than needed.

    Raises SegmentCorrupt when there is no ``metadata.properties`` or the tar cannot be read.
    """
    found = read_descriptions(tar_path)
    return parse_info(found[METADATA], found.get(CREATION_META, b""))


def read_descriptions(tar_path: Path) -> dict[str, bytes]:
    """{name: contents} of the two small files that describe a segment; ``creation.meta`` may be missing.

    Raises as ``read_info_from_tar``.
    """
    found: dict[str, tuple[bool, bytes]] = {}
    with open_foreign(tar_path, Bounds(UNPACKED_BYTES, _MAX_MEMBERS)) as tar:
        for entry in tar:
            path = PurePosixPath(entry.name)
            if not entry.isreg() or entry.issparse() or path.name not in (METADATA, CREATION_META):
                continue
            _check_description(entry, tar_path.name)
            in_v3 = path.parent.name == "v3"
            if path.name not in found or (in_v3 and not found[path.name][0]):
                found[path.name] = (in_v3, tar.contents(entry).read())
            if (
                len(found) == 2
                and len({place for place, _ in found.values()}) == 1
                and (in_v3 or path.parent.name == "")
            ):
                break
    if METADATA not in found:
        raise SegmentCorrupt(
            f"{tar_path.name} holds no {METADATA}.", remedy="Upload the tar.gz of a segment directory."
        )
    return {name: data for name, (_, data) in found.items()}


def _extract_all(tar: ForeignTar, work: Path, name: str) -> str:
    top, seen = "", set[str]()
    for entry in tar:
        path = _safe_path(entry, name)
        if not top:
            if not entry.isdir() or len(path.parts) != 1:
                raise SegmentCorrupt(
                    f"{name}: the first entry is '{entry.name}', not the segment's directory.",
                    remedy="Pack it with: tar czf SEGMENT.tar.gz SEGMENT/",
                )
            top = path.parts[0]
        if path.parts[0] != top or (str(path) in seen and not entry.isdir()):
            raise SegmentCorrupt(
                f"{name}: '{entry.name}' is {'there twice' if path.parts[0] == top else f'outside of {top}/'}."
            )
        _check_name(entry, path.relative_to(top), name)
        seen.add(str(path))
        _unpack(tar, entry, work / path)
    if not top:
        raise SegmentCorrupt(f"{name} is empty.")
    return top


def _check_description(entry: tarfile.TarInfo, name: str) -> None:
    """The small files are read into memory as a whole."""
    if entry.size > MAX_DESCRIPTION_BYTES:
        raise SegmentTooLarge(
            f"{name}: '{entry.name}' has {entry.size} bytes, at most {MAX_DESCRIPTION_BYTES} are allowed."
        )


def _check_name(entry: tarfile.TarInfo, path: PurePosixPath, name: str) -> None:
    if path.name in (METADATA, CREATION_META, INDEX_MAP):
        _check_description(entry, name)
    if not (is_segment_folder(path) if entry.isdir() else is_segment_file(path)):
        raise SegmentCorrupt(
            f"{name}: '{entry.name}' is not a {'folder' if entry.isdir() else 'file'} of a Pinot segment.",
            remedy="Pack nothing but the segment's own files.",
        )


def _unpack(tar: ForeignTar, entry: tarfile.TarInfo, target: Path) -> None:
    if entry.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(target.parent).free - entry.size < KEPT_FREE_BYTES:
        raise Unavailable(
            f"Unpacking '{entry.name}' with {entry.size} bytes would leave less than {KEPT_FREE_BYTES} bytes of "
            "the disk free.",
            remedy="Make room on the disk, then try again.",
        )
    with target.open("xb") as out:
        shutil.copyfileobj(tar.contents(entry), out, BLOCK)
    if target.stat().st_size != entry.size:
        raise EOFError(f"'{entry.name}' is cut short")


def _safe_path(entry: tarfile.TarInfo, name: str) -> PurePosixPath:
    path = PurePosixPath(entry.name)
    if entry.name in (".", "./") or entry.name.startswith("./"):
        raise SegmentCorrupt(
            f"{name}: entry '{entry.name}' starts with './', which Pinot's servers refuse.",
            remedy="Pack it from the parent directory: tar czf SEGMENT.tar.gz SEGMENT/",
        )
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in entry.name or "\0" in entry.name:
        raise SegmentCorrupt(f"{name}: entry '{entry.name}' leaves the segment's directory.")
    if entry.issparse() or not (entry.isdir() or entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE)):
        raise SegmentCorrupt(
            f"{name}: entry '{entry.name}' is a link or special file; only files and directories are allowed."
        )
    return path
