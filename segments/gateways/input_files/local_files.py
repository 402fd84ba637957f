"""Input files in folders of this machine: below the configured roots after all links are followed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from segments.domain.push.push_plan import InputFile
from segments.errors import Forbidden, InvalidInput, NotFound

#: Files of more bytes have no checksum: it takes about a second for a gigabyte.
CHECKED_BYTES: Final = 64 << 20
_CHUNK: Final = 1 << 20


class LocalFiles:
    """Files below ``roots``; unless it ``is_closed``, anywhere."""

    def __init__(self, roots: Sequence[str], *, is_closed: bool = True) -> None:
        self._roots, self._is_closed = [Path(r).resolve() for r in roots], is_closed

    def folder(self, given: str) -> str:
        """The folder, symbolic links resolved; a relative one is searched for below each root.

        Raises Forbidden listing the roots when it is outside all of them, NotFound when it is not a folder.
        """
        tried = [Path(given)] if os.path.isabs(given) else [r / given for r in self._roots]
        inside = [p for p in (t.resolve() for t in tried) if self._is_inside(p)]
        if not inside:
            raise Forbidden(
                f"'inputDirURI' {given} is outside the folders that may be read.",
                remedy=f"Move the files below {', '.join(str(r) for r in self._roots)}, or "
                "allow their folder with --input-root.",
                field="inputDirURI",
            )
        found = next((p for p in inside if p.is_dir()), None)
        if found is None:
            raise NotFound(f"'inputDirURI' {inside[0]} is not a folder.", remedy="Check the path.", field="inputDirURI")
        return str(found)

    def walk(self, folder: str, *, recursive: bool) -> Iterator[InputFile]:
        """Files below a folder. Hidden ones and links that lead outside the roots are left out.

        Raises InvalidInput for a folder that cannot be listed: files that are only out of sight must not count as
        deleted.
        """
        for place, folders, names in os.walk(folder, onerror=_raise_unlisted):
            folders[:] = sorted(f for f in folders if not f.startswith(".")) if recursive else []
            for name in names:
                path = Path(place) / name
                if name.startswith(".") or not path.is_file():
                    continue
                if path.is_symlink() and not self._is_inside(path.resolve()):
                    continue
                try:
                    yield self.stat(str(path))
                except FileNotFoundError:  # deleted since its name was read
                    continue

    def stat(self, path: str) -> InputFile:
        """The file as it is now. Raises OSError."""
        found = os.stat(path)
        return InputFile(path, found.st_size, found.st_mtime_ns)

    def checksum(self, file: InputFile) -> str:
        """Of the bytes of a small file; empty for a large one. Raises as ``open``."""
        if file.size > CHECKED_BYTES:
            return ""
        digest = hashlib.blake2b(digest_size=16)
        with self.open(file.path) as opened:
            while chunk := opened.read(_CHUNK):
                digest.update(chunk)
        return f"blake2b:{digest.hexdigest()}"

    def open(self, path: str) -> BinaryIO:
        """The file, if it is a plain one below the roots, also once it is open. Raises OSError, and Forbidden."""
        place = Path(path).resolve(strict=True)
        if not self._is_inside(place):
            raise _moved_out(path)
        opened = os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
        found = os.fstat(opened.fileno())
        is_still_there = place == Path(path).resolve() and os.path.samestat(found, place.stat())
        if not (is_still_there and stat.S_ISREG(found.st_mode)):
            opened.close()
            raise _moved_out(path)
        return opened

    def _is_inside(self, place: Path) -> bool:
        return not self._is_closed or any(place.is_relative_to(r) for r in self._roots)


def _raise_unlisted(error: OSError) -> None:
    if isinstance(error, FileNotFoundError):  # deleted since its name was read
        return
    raise InvalidInput(
        f"Folder '{error.filename}' cannot be listed: {error.strerror}.",
        remedy="Check its permissions.",
        field="inputDirURI",
    ) from error


def _moved_out(path: str) -> Forbidden:
    return Forbidden(
        f"Input file '{path}' is not a plain file below the folders that may be read.",
        remedy="Copy the file itself below one of them.",
    )
