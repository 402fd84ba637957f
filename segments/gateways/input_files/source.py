"""The one way to input files: list a folder, describe a file, open it. Names are plain paths of this machine, or URIs.

Every call is bounded in time: one that takes longer raises Unavailable, and its thread is left behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from segments.domain.push.push_plan import InputFile
from segments.errors import InvalidInput, NotFound, StateConflict
from segments.gateways.deep_store.bounded_calls import BoundedCalls
from segments.gateways.deep_store.bounded_files import CALL_S
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.bounded_reader import BoundedReader, as_arrow_file
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.local_files import LocalFiles

T = TypeVar("T")
#: A listing grows with the number of files: it may take so many times as long as another call.
_LONG: Final = 10


class InputSource:
    """Input files that ``access`` allows. Safe between threads and after a fork."""

    def __init__(self, access: FileAccess, timeout_s: float = CALL_S) -> None:
        """``timeout_s``: seconds for one small call."""
        self.access, self._timeout_s = access, timeout_s
        self._local = LocalFiles(access.roots)
        self._calls = BoundedCalls("The input folder", lambda: [os.path.exists(r) for r in access.roots or ("/",)])

    def folder(self, given: str) -> str:
        """The checked name of a folder to list: ``given`` is a path, absolute or below a root, or a URI.

        Raises Forbidden for one outside the roots, NotFound for one that is not there, InvalidInput for an address of
        an unknown kind, Unavailable.
        """
        path = _local_path(given)
        return self._run(lambda: self._local.folder(path))

    def list(self, folder: str, choice: Choice) -> list[InputFile]:
        """Files below a folder (from ``folder``) that ``choice`` takes, sorted by path; [] when there are none.

        Raises InvalidInput for a pattern that is none or a folder that can not be listed, PayloadTooLarge for too many
        files, Unavailable.
        """
        path = _local_path(folder)
        return self._run(
            lambda: choice.chosen(path, self._local.walk(path, recursive=choice.recursive)), self._timeout_s * _LONG
        )

    def stat(self, path: str) -> InputFile:
        """A file as it is now. Raises NotFound when it is gone, InvalidInput when it can not be read, Unavailable."""
        try:
            return self._run(lambda: self._local.stat(_local_path(path)))
        except OSError as error:
            raise _unreadable(path, error) from error

    def open(self, path: str) -> pa.NativeFile:
        """A file for reading at any place. Raises NotFound, InvalidInput, Forbidden when it now lies outside the roots,
        Unavailable; reading it raises OSError and Unavailable.
        """
        try:
            file = self._run(lambda: self._local.open(_local_path(path)))
        except OSError as error:
            raise _unreadable(path, error) from error
        return as_arrow_file(BoundedReader(file, self._run))

    def check_unchanged(self, file: InputFile) -> None:
        """Raises StateConflict naming the file when it is gone or no longer the one that was listed."""
        try:
            now = self.stat(file.path)
        except NotFound as error:
            raise StateConflict(f"Input file '{file.path}' is gone.", remedy="Restore it and push again.") from error
        if now != file:
            raise StateConflict(
                f"Input file '{file.path}' changed during the push ({file.size} bytes then, {now.size} now).",
                remedy="Push again when nothing writes to it.",
            )

    def _run(self, work: Callable[[], T], seconds: float | None = None) -> T:
        return self._calls.run(work, self._timeout_s if seconds is None else seconds)


@lru_cache(maxsize=64)
def input_source(access: FileAccess) -> InputSource:
    """The source of this process for ``access``."""
    return InputSource(access)


#: Files by paths that come from a list that was made within the roots.
ANYWHERE: Final = input_source(FileAccess())


def _local_path(given: str) -> str:
    """A path, or the one of a ``file:`` URI. Raises InvalidInput for other URIs."""
    if given.startswith("/") or ("://" not in given and not given.startswith("file:")):
        return given
    parts = urlsplit(given)
    if parts.scheme != "file" or parts.netloc:
        raise InvalidInput(
            f"'{given}' is no local folder.", remedy="Give a path or a file:// URL.", field="inputDirURI"
        )
    return unquote(parts.path)


def _unreadable(path: str, error: OSError) -> NotFound | InvalidInput:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFound(f"Input file '{path}' is gone.", remedy="Restore it, or leave it out.")
    return InvalidInput(
        f"Input file '{path}' can not be read: {error.strerror or error}.", remedy="Check its permissions."
    )
