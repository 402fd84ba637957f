"""The one way to input files: list a folder, describe a file, open it. Names are plain paths of this machine, or URIs.

Every call is bounded in time: one that takes longer raises Unavailable, and its thread is left behind.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from segments.domain.push.push_plan import InputFile
from segments.domain.push.store_uri import is_remote, parse_file_uri
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.gateways.deep_store.bounded_calls import BoundedCalls
from segments.gateways.deep_store.bounded_files import CALL_S
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.bounded_reader import BoundedReader, Readable, as_arrow_file
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.local_files import LocalFiles
from segments.gateways.input_files.remote_files import RemoteFiles
from segments.names import shown

#: A listing grows with the number of files: it may take so many times as long as another call.
_LONG: Final = 10


class _Files(Protocol):
    """One file system, without a bound on time."""

    def folder(self, given: str) -> str: ...

    def walk(self, folder: str, *, recursive: bool) -> Iterator[InputFile]: ...

    def stat(self, path: str) -> InputFile: ...

    def checksum(self, file: InputFile) -> str: ...

    def open(self, path: str) -> Readable: ...


@dataclass(frozen=True)
class _Bounded:
    files: _Files
    calls: BoundedCalls


class InputSource:
    """Input files that ``access`` allows. Safe between threads."""

    def __init__(self, access: FileAccess, timeout_s: float = CALL_S) -> None:
        """``timeout_s``: seconds for one small call."""
        self.access, self._timeout_s = access, timeout_s
        self._opened: dict[str, _Bounded] = {}
        self._lock, self._process = threading.Lock(), os.getpid()

    def folder(self, given: str) -> str:
        """The checked name of a folder to list: ``given`` is a path, absolute or below a root, or a URI.

        Raises Forbidden for one outside the roots, NotFound for one that is not there, InvalidInput for an address of
        an unknown kind, Unavailable.
        """
        path = _name(given)
        files, calls = self._of(path)
        return calls.run(lambda: files.folder(path), self._timeout_s)

    def list(self, folder: str, choice: Choice) -> list[InputFile]:
        """Files below a folder (from ``folder``) that ``choice`` takes, sorted by path, without etags; [] when there
        are none.

        Raises InvalidInput for a pattern that is none or a folder that cannot be listed, PayloadTooLarge for too many
        files, Unavailable.
        """
        path = _name(folder)
        files, calls = self._of(path)
        return calls.run(
            lambda: choice.chosen(path, files.walk(path, recursive=choice.recursive)), self._timeout_s * _LONG
        )

    def stat(self, path: str) -> InputFile:
        """A file as it is now. Raises NotFound when it is gone, InvalidInput when it cannot be read, Unavailable."""
        files, calls = self._of(path)
        try:
            return calls.run(lambda: files.stat(path), self._timeout_s)
        except OSError as error:
            raise _unreadable(path, error) from error

    def checksum(self, file: InputFile) -> str:
        """Of the bytes of a file that ``stat`` described: by the store's word, or of a small local one by reading it;
        empty where it is not cheap. Raises as ``stat``.
        """
        files, calls = self._of(file.path)
        try:
            return calls.run(lambda: files.checksum(file), self._timeout_s)
        except OSError as error:
            raise _unreadable(file.path, error) from error

    def open(self, path: str) -> pa.NativeFile:
        """A file for reading at any place. Raises NotFound, InvalidInput, Forbidden when it now lies outside the roots,
        Unavailable; reading it raises OSError and Unavailable.
        """
        files, calls = self._of(path)
        try:
            file = calls.run(lambda: files.open(path), self._timeout_s)
        except OSError as error:
            raise _unreadable(path, error) from error
        return as_arrow_file(BoundedReader(file, lambda work: calls.run(work, self._timeout_s)))

    def check_unchanged(self, file: InputFile) -> InputFile:
        """The file as it is now. Raises StateConflict naming it when it is gone or no longer the one
        that was listed.
        """
        try:
            now = self.stat(file.path)
        except NotFound as error:
            raise StateConflict(f"Input file '{file.path}' is gone.", remedy="Restore it, or leave it out.") from error
        if not now.is_same(file):
            raise StateConflict(
                f"Input file '{file.path}' changed while it was read ({file.size} bytes then, {now.size} now).",
                remedy="Write it under another name and rename it when it is whole; then read it again.",
            )
        return now

    def _of(self, path: str) -> tuple[_Files, BoundedCalls]:
        """The file system of a path, and what runs its calls. Raises InvalidInput."""
        place = str(parse_file_uri(path).below("")) if is_remote(path) else ""
        with self._lock:
            if self._process != os.getpid():  # connections of an object store do not come along into a fork
                self._opened, self._process = {}, os.getpid()
            found = self._opened.get(place)
            if found is None:
                found = self._opened[place] = self._remote(place) if place else self._local()
        return found.files, found.calls

    def _local(self) -> _Bounded:
        roots = [r for r in self.access.roots if not is_remote(r)]
        calls = BoundedCalls("The input folder", lambda: [os.path.exists(r) for r in roots or ("/",)])
        return _Bounded(LocalFiles(roots, is_closed=not self.access.is_open), calls)

    def _remote(self, place: str) -> _Bounded:
        roots = [r for r in self.access.roots if is_remote(r)]
        files = RemoteFiles(parse_file_uri(place), roots, dict(self.access.login), is_closed=not self.access.is_open)
        return _Bounded(files, BoundedCalls(f"The input store {place}", files.ping))


@lru_cache(maxsize=64)
def input_source(access: FileAccess) -> InputSource:
    """The source of this process for ``access``."""
    return InputSource(access)


#: Files by paths that come from a list that was made within the roots.
ANYWHERE: Final = input_source(FileAccess(is_open=True))


def _name(given: str) -> str:
    """An address, or a path, or the path of a ``file:`` URI. Raises InvalidInput."""
    if is_remote(given):
        return given
    if not given.lower().startswith("file:"):
        path, is_local = given, True
    else:
        parts = urlsplit(given)
        path, is_local = unquote(parts.path), not parts.netloc
    if not is_local or "\x00" in path or not _can_be_a_name(path):
        raise InvalidInput(
            f"{shown(given)!r} is not a local folder.", remedy="Give a path or a file:// URL.", field="inputDirURI"
        )
    return path


def _can_be_a_name(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(path: str, error: OSError) -> NotFound | InvalidInput:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFound(f"Input file '{path}' is gone.", remedy="Restore it, or leave it out.")
    return InvalidInput(
        f"Input file '{path}' cannot be read: {error.strerror or error}.", remedy="Check its permissions."
    )
