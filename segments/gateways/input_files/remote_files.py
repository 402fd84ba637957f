"""Input files in one bucket of an object store, or in one HDFS, through pyarrow; what goes wrong names the file."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs

from segments.domain.push.push_plan import InputFile
from segments.domain.push.store_uri import StoreUri, parse_file_uri, parse_folder_uri
from segments.errors import Forbidden, InvalidInput, NotFound, PinotAdminError, Unavailable
from segments.gateways.deep_store.store_fault import DENIED, IDENTIFIERS
from segments.gateways.input_files.stores import key_of, open_store, path_in

#: What the libraries' texts hold when a store has no such thing.
_MISSING: Final = re.compile(
    r"NO_SUCH_BUCKET|NO_SUCH_KEY|RESOURCE_NOT_FOUND|ContainerNotFound|HTTP status 404\b", re.IGNORECASE
)
#: What Google and Azure call it, in small letters.
_MD5: Final = ("md5hash", "content-hash")
#: How often a read that breaks off is tried, and the pause before the first repetition, which grows twofold.
_ATTEMPTS: Final = 4
_PAUSE_S: Final = 0.1


class RemoteFiles:
    """Files in the bucket (or host) of ``uri``, below ``roots``; unless it ``is_closed``, anywhere in it."""

    def __init__(self, uri: StoreUri, roots: Sequence[str], login: Mapping[str, str], *, is_closed: bool) -> None:
        """Raises InvalidInput when the file system cannot be opened."""
        self._bucket, self._roots = uri.below(""), [parse_folder_uri(root) for root in roots]
        self._is_closed = is_closed
        self._store = open_store(uri, login)

    def ping(self) -> None:
        """A small question. Raises PinotAdminError or OSError."""
        self._store.get_file_info(path_in(self._bucket))

    def folder(self, given: str) -> str:
        """The checked address. Raises Forbidden outside of the roots, NotFound when nothing is there."""
        uri = parse_folder_uri(given)
        self._check_inside(uri)
        if self._info(uri).type != pafs.FileType.Directory:
            raise NotFound(
                f"'inputDirURI' {uri} is not a folder, or holds nothing.",
                remedy="Check the address.",
                field="inputDirURI",
            )
        return str(uri)

    def walk(self, folder: str, *, recursive: bool) -> Iterator[InputFile]:
        """Files below a folder; those of which a part of the path begins with a dot are left out.

        Raises Forbidden, NotFound, InvalidInput and Unavailable, each naming the folder.
        """
        uri = parse_file_uri(folder)
        self._check_inside(uri)
        try:
            found = self._store.get_file_info(pafs.FileSelector(path_in(uri), recursive=recursive))
        except (OSError, pa.ArrowException) as error:
            raise explained(folder, error, "Folder") from error
        for info in found:
            file = uri.below(key_of(info.path, uri))
            parts = file.key[len(uri.key) :].split("/")
            if info.type == pafs.FileType.File and not any(part.startswith(".") for part in parts):
                yield InputFile(str(file), int(info.size), int(info.mtime_ns or 0))

    def stat(self, path: str) -> InputFile:
        """The file as it is now, with the etag and the checksum that the store gives. Raises as ``walk``."""
        uri = parse_file_uri(path)
        info = self._info(uri)
        if info.type != pafs.FileType.File:
            raise NotFound(f"Input file '{path}' is gone.", remedy="Restore it, or leave it out.")
        with self._open(uri, path) as opened:
            given = _texts(dict(opened.metadata() or {}))
            return InputFile(str(uri), int(info.size), int(info.mtime_ns or 0), given.get("etag", ""), _checksum(given))

    def checksum(self, file: InputFile) -> str:
        """What ``stat`` found: reading the file for it would cost as much as ingesting it."""
        return file.checksum

    def open(self, path: str) -> WholeReads:
        """The file for reading. Raises as ``walk``."""
        uri = parse_file_uri(path)
        self._check_inside(uri)
        return WholeReads(path, self._open(uri, path), self._store)

    def _open(self, uri: StoreUri, path: str) -> pa.NativeFile:
        try:
            return self._store.open_input_file(path_in(uri))
        except (OSError, pa.ArrowException) as error:
            raise explained(path, error) from error

    def _info(self, uri: StoreUri) -> pafs.FileInfo:
        try:
            return self._store.get_file_info(path_in(uri))
        except (OSError, pa.ArrowException) as error:
            raise explained(str(uri), error) from error

    def _check_inside(self, uri: StoreUri) -> None:
        if self._is_closed and not any(uri.is_below(root) for root in self._roots):
            raise Forbidden(
                f"'{uri}' is outside the addresses that may be read.",
                remedy=f"Move the files below {', '.join(map(str, self._roots))}, or have the administrator allow it "
                "(PINOTADMIN_INPUT_ROOTS).",
                field="inputDirURI",
            )


class WholeReads:
    """Reads that give all the bytes they should: one that breaks off is continued where it stopped, some times."""

    def __init__(self, path: str, file: pa.NativeFile, store: pafs.FileSystem) -> None:
        """``store`` is what opened the file: an HDFS closes what it opened when nobody holds it any more."""
        self._path, self._file, self._size, self._store = path, file, int(file.size()), store

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes, fewer only at the end of the file. Raises Unavailable when the store keeps breaking off,
        NotFound and InvalidInput when it refuses.
        """
        begin = self._file.tell()
        end = self._size if size < 0 else min(begin + size, self._size)
        parts: list[bytes] = []
        at, attempt = begin, 0
        while at < end:
            data = self._piece(at, end - at, attempt)
            parts.append(data)
            at += len(data)
            if at < end:
                attempt += 1
                time.sleep(_PAUSE_S * 2**attempt)
        self._file.seek(max(begin, end))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _piece(self, at: int, size: int, attempt: int) -> bytes:
        try:
            self._file.seek(at)
            data: bytes = self._file.read(size)
        except (OSError, pa.ArrowException) as error:
            cause = explained(self._path, error)
            if cause.permanent or attempt + 1 >= _ATTEMPTS:
                raise cause from error
            return b""
        if len(data) < size and attempt + 1 >= _ATTEMPTS:
            raise Unavailable(
                f"Input file '{self._path}' broke off at byte {at + len(data):,} of {self._size:,}.",
                remedy="Check the store; this is tried again.",
            )
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """The current position."""
        return int(self._file.tell())

    def close(self) -> None:
        """Done."""
        self._file.close()


def explained(path: str, error: Exception, what: str = "Input file") -> PinotAdminError:
    """What went wrong with a file, and what to do: refused and missing are permanent, all else is tried again."""
    text = IDENTIFIERS.sub("", " ".join(str(error).split()))[:400].rstrip(".")
    if isinstance(error, FileNotFoundError) or _MISSING.search(text):
        return NotFound(f"{what} '{path}' is gone: {text}.", remedy="Check bucket and path.")
    if isinstance(error, PermissionError) or DENIED.search(text):
        return InvalidInput(
            f"{what} '{path}' is refused by its store: {text}.",
            remedy="Check the login (input.fs.prop.*, or that of the installation) and its rights on the bucket.",
        )
    return Unavailable(f"{what} '{path}' cannot be read: {text}.", remedy="Check the store; this is tried again.")


def _texts(metadata: Mapping[Any, bytes | str]) -> dict[str, str]:
    """What a store says of a file, names in small letters."""
    return {_text(key).lower(): _text(value).strip('"') for key, value in metadata.items()}


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _checksum(given: Mapping[str, str]) -> str:
    """The store's own MD5 of the bytes, as Google (``md5Hash``) and Azure (``Content-Hash``) keep it; empty: it has
    none. An S3's is its etag.
    """
    found = next((given[name] for name in _MD5 if given.get(name)), "")
    return f"md5:{found}" if found else ""
