"""Input files that people sent: each in a folder of its own below an input root, which no listing shows and nobody else
can guess.

``ROOT/.uploads/.OWNER/.ID/NAME``: hidden folders are never walked into, so that only who knows the exact folder reads
from it. A file that is still being written has another name, and is not input.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final, Protocol, TypeVar

from segments.errors import NotFound, PayloadTooLarge, Unavailable
from segments.gateways.deep_store.bounded_calls import BoundedCalls
from segments.gateways.deep_store.bounded_files import CALL_S

T = TypeVar("T")

FOLDER: Final = ".uploads"
_ID: Final = re.compile(r"[0-9a-f]{32}\Z")
_ODD: Final = re.compile(r"[^\w.\- ]+")
_LONGEST: Final = 120
_CHUNK: Final = 4 << 20
_UNFINISHED: Final = ".part"


class Stream(Protocol):
    """Bytes on their way in."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to so many; b"" at the end."""


@dataclass(frozen=True)
class UploadedFile:
    """One file that somebody sent. ``began_s``: when, seconds since 1970; ``is_whole``: it was written to its end."""

    owner: str
    id: str
    path: Path
    size: int
    began_s: float
    is_whole: bool

    @property
    def folder(self) -> str:
        """What a push reads it from."""
        return str(self.path.parent)


class UploadedFiles:
    """The files below one input root. Every call is bounded in time: Unavailable."""

    def __init__(self, root: str, timeout_s: float = CALL_S) -> None:
        self._root, self._timeout_s = Path(root) / FOLDER, timeout_s
        self._calls = BoundedCalls("The folder for uploads", lambda: os.path.exists(root))

    def save(self, person: str, upload_id: str, name: str, stream: Stream, most: int, kept_free: int) -> UploadedFile:
        """Write a file to its end, or leave nothing. PayloadTooLarge beyond ``most`` bytes; Unavailable when the disk
        would be left with less than ``kept_free`` bytes, or does not answer.
        """
        place = self._root / f".{owner_key(person)}" / f".{upload_id}"
        target = place / safe_name(name)
        part = place / _UNFINISHED
        try:
            self._run(lambda: _make(place))
            size = self._write(part, stream, most, kept_free)
            self._run(lambda: part.rename(target))
        except BaseException as error:
            self._discard(place)
            if isinstance(error, OSError):
                raise Unavailable(
                    f"The upload could not be written: {error.strerror or error}.", remedy="Check the disk, try again."
                ) from error
            raise
        return UploadedFile(owner_key(person), upload_id, target, size, self._run(lambda: target.stat().st_mtime), True)

    def find(self, person: str, upload_id: str) -> UploadedFile:
        """A file that this person sent. NotFound when there is none."""
        if _ID.match(upload_id):
            place = self._root / f".{owner_key(person)}" / f".{upload_id}"
            found = self._run(lambda: next((f for f in _files(place, owner_key(person)) if f.is_whole), None))
            if found is not None:
                return found
        raise NotFound("There is no such upload of yours.", remedy="Uploads are kept for a day: send the file again.")

    def all(self, person: str | None = None) -> list[UploadedFile]:
        """All files of one person, or (None) of everybody, unfinished ones too."""
        return self._run(lambda: list(self._all(person)))

    def remove(self, file: UploadedFile) -> None:
        """Delete a file and its folder."""
        self._run(lambda: shutil.rmtree(file.path.parent, ignore_errors=True))

    def _all(self, person: str | None) -> Iterator[UploadedFile]:
        wanted = None if person is None else owner_key(person)
        for owner in sorted(self._root.glob(".*")):
            if wanted in (None, owner.name[1:]):
                for place in sorted(owner.glob(".*")):
                    yield from _files(place, owner.name[1:])

    def _write(self, part: Path, stream: Stream, most: int, kept_free: int) -> int:
        size = 0
        out = self._run(lambda: os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "wb"))
        try:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > most:
                    raise PayloadTooLarge(
                        f"The file has more than {most} bytes.",
                        remedy="Send a smaller file, or try again later.",
                    )
                if self._run(lambda: shutil.disk_usage(part.parent).free) - len(chunk) < kept_free:
                    raise Unavailable("The disk of the input root is full.", remedy="Make room on it, then try again.")
                self._run(partial(out.write, chunk))
        finally:
            self._run(out.close)
        return size

    def _discard(self, place: Path) -> None:
        with suppress(Unavailable):  # what hangs is removed by the pass, once it answers again
            self._run(lambda: shutil.rmtree(place, ignore_errors=True))

    def _run(self, work: Callable[[], T]) -> T:
        return self._calls.run(work, self._timeout_s)


def owner_key(person: str) -> str:
    """What stands for a person in a path."""
    return blake2b(person.encode(), digest_size=16).hexdigest()


def safe_name(name: str) -> str:
    """The last part of a name without what folders, patterns and shells read as their own; never hidden or empty."""
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = _ODD.sub("_", last).strip(" ._")
    if len(plain) > _LONGEST:
        plain = plain[-_LONGEST:].lstrip(" ._")
    return plain or "file"


def _make(place: Path) -> None:
    place.mkdir(mode=0o750, parents=True)


def _files(place: Path, owner: str) -> Iterator[UploadedFile]:
    """The file of a folder, finished or not; a folder without one counts as an unfinished file without bytes."""
    try:
        names = list(place.iterdir())
        for path in names or [place / _UNFINISHED]:
            stat = path.stat() if names else place.stat()
            size = stat.st_size if names else 0
            yield UploadedFile(owner, place.name[1:], path, size, stat.st_mtime, path.name != _UNFINISHED)
    except (FileNotFoundError, NotADirectoryError):
        return
