"""The file of a backup: gzipped lines of JSON, which any tool can read (``zcat FILE | head``), and which no one who
made it can turn into anything but values.

First ``{"format": "pinotadmin-backup", "version": 1, ...}``; then ``{"znode": PATH, "record": ...}``, ``{"row": ...}``
as Django's serializers write it, and ``{"file": PATH, "size": ..., "crc": ...}``; last ``{"end": {kind: number},
"sha256": ...}`` of all lines before. A file without its end was cut off.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import orjson

from segments.errors import InvalidInput, NotFound, PayloadTooLarge

FORMAT: Final = "pinotadmin-backup"
#: A reader knows all versions up to this one.
VERSION: Final = 1
KINDS: Final = ("znode", "row", "file")
_END: Final = "end"
#: The longest line: a record of ZooKeeper as JSON, or a row of the database. Bytes.
LONGEST_LINE: Final = 64 << 20
#: What a file may unpack to: this many times its own size, and always this much. As for tars.
_TIMES: Final = 200
_ALWAYS: Final = 256 << 20
#: gzip's quickest; what is written is mostly names and numbers.
_LEVEL: Final = 1


class BackupWriter:
    """Adds lines to a file that is being written; counts them and their digest."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self._digest = out, hashlib.sha256()
        self.counts = dict.fromkeys(KINDS, 0)

    def header(self, **values: Any) -> None:
        """The first line."""
        self._line(orjson.dumps({"format": FORMAT, "version": VERSION, **values}))

    def add(self, kind: str, line: bytes) -> None:
        """One JSON object, encoded, whose first key is ``kind``."""
        self.counts[kind] += 1
        self._line(line)

    def end(self) -> None:
        """The last line."""
        self._out.write(orjson.dumps({_END: self.counts, "sha256": self._digest.hexdigest()}) + b"\n")

    def _line(self, line: bytes) -> None:
        if len(line) >= LONGEST_LINE:
            raise PayloadTooLarge(f"A line of the backup takes {len(line)} bytes, more than {LONGEST_LINE}.")
        self._digest.update(line + b"\n")
        self._out.write(line + b"\n")


@contextmanager
def written(path: Path) -> Iterator[BackupWriter]:
    """A writer of the file at ``path``, which is there when the block ends, whole, for its owner alone; never half of
    it. InvalidInput when it cannot be made.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.", remedy="Name another file.") from error
    try:
        with os.fdopen(descriptor, "wb") as raw:
            with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=_LEVEL, mtime=0, filename="") as packed:
                writer = BackupWriter(packed)  # type: ignore[arg-type]  # a GzipFile is a binary file
                yield writer
                writer.end()
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class BackupReader:
    """A backup file that was checked whole: ``header``, ``counts`` per kind, and the lines of each kind."""

    def __init__(self, path: Path, progress: Callable[[str], None] = lambda _: None) -> None:
        """InvalidInput for a file that is no backup, was cut off or changed, or that a newer program made;
        PayloadTooLarge for one that unpacks beyond all measure.
        """
        self._path = path
        progress(f"Checking {path}")
        self.header, self.counts = self._checked()

    def lines(self, kind: str) -> Iterator[dict[str, Any]]:
        """The objects of this kind, in the file's order."""
        mark = f'{{"{kind}":'.encode()
        for line in self._raw():
            if line.startswith(mark):
                yield _parsed(self._path, line)

    def _checked(self) -> tuple[dict[str, Any], dict[str, int]]:
        digest, last, header, counts = hashlib.sha256(), b"", None, dict.fromkeys(KINDS, 0)
        for line in self._raw():
            if last:
                digest.update(last)
                header = header or _header(self._path, last)
                for kind in KINDS:
                    counts[kind] += last.startswith(f'{{"{kind}":'.encode())
            last = line
        end = _parsed(self._path, last) if header and last.endswith(b"\n") else {}
        if header is None or _END not in end:
            raise InvalidInput(f"{self._path} is not a whole backup: its end is missing.", remedy="Copy it again.")
        if end.get("sha256") != digest.hexdigest() or end[_END] != counts:
            raise InvalidInput(f"{self._path} was changed: its checksum differs.", remedy="Take another copy.")
        return header, counts

    def _raw(self) -> Iterator[bytes]:
        try:
            packed_size = self._path.stat().st_size
            left = max(_ALWAYS, packed_size * _TIMES)
            with gzip.open(self._path, "rb") as packed:
                while line := packed.readline(LONGEST_LINE):
                    left -= len(line)
                    if left < 0 or len(line) >= LONGEST_LINE:
                        raise PayloadTooLarge(f"{self._path} unpacks to more than a backup of its size ever does.")
                    yield line
        except FileNotFoundError as error:
            raise NotFound(f"There is no file {self._path}.") from error
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(
                f"{self._path} cannot be read: {error}.", remedy="Name a whole file that backup made."
            ) from error


def read_header(path: Path) -> dict[str, Any]:
    """The first line alone: who made it, when, of which cluster. InvalidInput, NotFound as of the whole."""
    try:
        with gzip.open(path, "rb") as packed:
            return _header(path, packed.readline(LONGEST_LINE))
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", remedy="Name a file that backup made.") from error


def _header(path: Path, line: bytes) -> dict[str, Any]:
    header = _parsed(path, line)
    if header.get("format") != FORMAT or type(header.get("version")) is not int:
        raise InvalidInput(f"{path} is not a backup of pinotadmin.", remedy="Name a file that backup made.")
    if header["version"] > VERSION:
        raise InvalidInput(
            f"{path} has version {header['version']} of the format; this program knows {VERSION}.",
            remedy=f"Restore it with pinotadmin {header.get('program', 'of a newer version')} or newer.",
        )
    return header


def _parsed(path: Path, line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{path} is not a backup of pinotadmin.", remedy="Name a file that backup made.") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} is not a backup of pinotadmin.", remedy="Name a file that backup made.")
    return found
