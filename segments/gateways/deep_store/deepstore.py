"""The deep store: segment files under one root, through pyarrow's file systems (local, S3, GS, Azure, HDFS), none of
which is waited for without an end (``bounded_files``).

Layout (rule `pinot-layout`): ``<root>/<raw table>/<url-encoded segment>`` without an extension, deleted ones under
``Deleted_Segments/<raw table>/``, work in progress of pushes and sessions under
``Staging/<id>/``, what file ingestion sessions know of their files under ``Ingestion_Sessions/<raw table>/``, copies of
audit records and pushes under ``Pinotadmin_History/``.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from segments.domain.segments.store_address import encode as encode
from segments.domain.segments.store_address import is_path, path_of, without_options
from segments.errors import InvalidInput, NotFound
from segments.gateways.deep_store.access import StoreAccess, opened
from segments.gateways.deep_store.bounded_files import CALL_S, BoundedFiles, BoundedStream
from segments.gateways.deep_store.store_fault import StoreFault
from segments.secret_texts import mask_text

DELETED = "Deleted_Segments"
STAGING = "Staging"
INGESTION = "Ingestion_Sessions"
#: Copies of the database's history.
HISTORY = "Pinotadmin_History"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class StoredFile:
    """One file: name (last path component), bytes, modification time in epoch milliseconds."""

    name: str
    size: int
    modified_ms: int


class DeepStore:
    """Files under one root URL (``file:///…``, ``s3://bucket/prefix`` …). Paths are relative to the root, parts already
    encoded. Every method raises StoreFault, which names store and path, for what the store does not do, and NoAnswer
    for what takes it too long; both are Unavailable.
    """

    #: Is there one at all?
    exists = True

    def __init__(self, url: str, timeout_s: float = CALL_S, access: StoreAccess | None = None) -> None:
        """``timeout_s``: seconds for one small call; what is slower is Unavailable. ``access``: endpoint, region and
        login; what ``url`` says of them takes precedence, and stands in ``access`` from then on, never in ``url``.
        """
        self.url, self._timeout_s = without_options(url), timeout_s
        self.access = (access or StoreAccess()).with_options_of(url)
        file_system, self._root = opened(self.url, self.access)
        self._fs = BoundedFiles(file_system, self._root, timeout_s, mask_text(self.url))

    def below(self, folder: str) -> DeepStore:
        """The folder of that name as a store of its own."""
        return DeepStore(f"{self.url}/{folder}", self._timeout_s, self.access)

    @property
    def local_root(self) -> Path | None:
        """The root as a local folder, or None when it is remote."""
        return Path(self._root) if urlsplit(self.url).scheme == "file" else None

    def segment_path(self, raw_table: str, segment: str) -> str:
        """Where Pinot has a segment's tar, and a local store of ours; earlier versions had it there in remote ones."""
        return f"{encode(raw_table)}/{encode(segment)}"

    def staged_path(self, raw_table: str, segment: str, crc: int) -> str:
        """Where a segment's tar waits until its record names ``crc``; from then on it is the segment's file, until it
        is renamed.
        """
        return f"{self.segment_path(raw_table, segment)}{'@' if self.local_root is None else '.tmp.'}{crc}"

    def file_path(self, raw_table: str, segment: str, crc: int) -> str:
        """Where a segment's tar is at rest. Servers read a remote store directly, so there the name holds the CRC: no
        later upload ever changes what a record's address leads to.
        """
        if self.local_root is None:
            return self.staged_path(raw_table, segment, crc)
        return self.segment_path(raw_table, segment)

    def uri(self, path: str) -> str:
        """The full URL of a path, without options and login: for others (a real Pinot) and to be shown."""
        return f"{self.url}/{path}"

    def path_of(self, uri: str) -> str | None:
        """The path of an address as records hold it, or of a full one below this root; None for a foreign one and for
        one that climbs out.
        """
        if (path := path_of(uri)) is not None:
            return path
        if not uri.startswith(self.url + "/"):
            return None
        path = uri[len(self.url) + 1 :]
        return path if is_path(path) else None

    def put(self, source: Path, path: str) -> int:
        """Copy a local file in; a reader never sees half of it. Returns its bytes."""
        target, size = self._full(path), source.stat().st_size
        self._fs.create_dir(posixpath.dirname(target), recursive=True)
        temporary = f"{target}.tmp.{uuid.uuid4()}" if self.local_root else target
        with source.open("rb") as reader, self._fs.open_output_stream(temporary) as writer:
            shutil.copyfileobj(reader, writer, _CHUNK)
        if temporary != target:
            self._fs.put_in_place(temporary, target)
        return size

    def fetch(self, path: str, target: Path) -> int:
        """Copy out to a local file; returns its bytes. NotFound when there is none."""
        with self.open(path) as reader, target.open("wb") as writer:
            shutil.copyfileobj(reader, writer, _CHUNK)
        return target.stat().st_size

    def open(self, path: str) -> BoundedStream:
        """A readable binary stream. NotFound when there is none."""
        try:
            return self._fs.open_input_file(self._full(path))
        except FileNotFoundError as error:
            raise NotFound(f"The deep store has no file '{path}'.") from error

    def size(self, path: str) -> int | None:
        """Bytes of a file, None when there is none."""
        info = self._fs.get_file_info(self._full(path))
        return int(info.size or 0) if info.type == pafs.FileType.File else None

    def move(self, source: str, target: str) -> bool:
        """Move within the store, replacing the target; False when there is no source."""
        if self.size(source) is None:
            return False
        self._fs.create_dir(posixpath.dirname(self._full(target)), recursive=True)
        with suppress(FileNotFoundError):  # somebody else moved it meanwhile
            self._fs.move(self._full(source), self._full(target))
            return True
        return False

    def copy(self, source: str, target: str) -> bool:
        """Copy within the store, replacing the target; False when there is no source.

        In a local store both are one file on the disk: what is in place is replaced by renaming, never written to.
        """
        if self.size(source) is None:
            return False
        full = self._full(target)
        self._fs.create_dir(posixpath.dirname(full), recursive=True)
        with suppress(FileNotFoundError):  # it went meanwhile
            if self.local_root is None:
                self._fs.copy(self._full(source), full)
            else:
                self._link(self._full(source), full)
            return True
        return False

    def _link(self, source: str, target: str) -> None:
        temporary = f"{target}.tmp.{uuid.uuid4()}"
        try:
            self._fs.run("copy", source, lambda: os.link(source, temporary))
        except StoreFault:  # a file system without hard links
            self._fs.copy(source, temporary)
        self._fs.put_in_place(temporary, target)

    def write(self, path: str, data: bytes) -> None:
        """Make or replace a small file; a reader never sees half of it."""
        target = self._full(path)
        self._fs.create_dir(posixpath.dirname(target), recursive=True)
        temporary = f"{target}.tmp.{uuid.uuid4()}" if self.local_root else target
        with self._fs.open_output_stream(temporary) as writer:
            writer.write(data)
        if temporary != target:
            self._fs.put_in_place(temporary, target)

    def read(self, path: str) -> bytes | None:
        """The content of a small file, None when there is none."""
        try:
            with self.open(path) as reader:
                return bytes(reader.read())
        except NotFound:
            return None

    def touch(self, path: str, at_ms: int) -> None:
        """Set a local file's modification time (epoch milliseconds); elsewhere moving a file sets it.
        Missing is fine.
        """
        if self.local_root is not None:
            with suppress(FileNotFoundError):
                full = self._full(path)
                self._fs.run("touch", full, lambda: os.utime(full, (at_ms / 1000, at_ms / 1000)))

    def delete(self, path: str) -> bool:
        """Delete a file; False when there is none."""
        if self.size(path) is None:
            return False
        with suppress(FileNotFoundError):  # somebody else deleted it meanwhile
            self._fs.delete_file(self._full(path))
            return True
        return False

    def delete_folder(self, path: str) -> None:
        """Delete a folder with all in it; missing is fine."""
        if self._fs.get_file_info(self._full(path)).type == pafs.FileType.Directory:
            with suppress(FileNotFoundError):
                self._fs.delete_dir(self._full(path))

    def files(self, path: str) -> Iterator[StoredFile]:
        """Files directly in a folder, sorted by name; nothing when it is missing."""
        for info in sorted(self._fs.list(self._full(path)), key=lambda i: i.path):
            if info.type == pafs.FileType.File:
                yield StoredFile(info.base_name, int(info.size), int((info.mtime_ns or 0) // 1_000_000))

    def folders(self, path: str) -> list[str]:
        """Names of the folders directly in a folder."""
        return sorted(i.base_name for i in self._fs.list(self._full(path)) if i.type == pafs.FileType.Directory)

    def _full(self, path: str) -> str:
        parts = path.split("/")
        if ".." in parts or path.startswith("/"):
            raise InvalidInput(f"'{path}' is not a path below the deep store.")
        return f"{self._root.rstrip('/')}/{path}"
