"""A pyarrow file system of which no single call is waited for without an end: a stalled copy is given up at the chunk
that stalls.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from segments.gateways.deep_store.bounded_calls import BoundedCalls

T = TypeVar("T")
#: Seconds for one small call; and how many times that for calls that grow with the number of files, or with the size of
#: one.
CALL_S: Final = 30.0
_LONG: Final = 10


class BoundedFiles:
    """What the deep store needs of a file system. Every method raises Unavailable when it takes too long, else what
    pyarrow raises.
    """

    def __init__(self, files: pafs.FileSystem, root: str, timeout_s: float) -> None:
        self._files, self._timeout_s = files, timeout_s
        self._calls = BoundedCalls("The deep store", lambda: files.get_file_info(root))

    def run(self, work: Callable[[], T]) -> T:
        """A small call."""
        return self._calls.run(work, self._timeout_s)

    def _run_long(self, work: Callable[[], T]) -> T:
        return self._calls.run(work, self._timeout_s * _LONG)

    def get_file_info(self, path: str) -> pafs.FileInfo:
        """Of one path."""
        return self.run(lambda: self._files.get_file_info(path))

    def list(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """What lies in a folder."""
        return self._run_long(lambda: self._files.get_file_info(selector))

    def create_dir(self, path: str, *, recursive: bool) -> None:
        """Make a folder."""
        self.run(lambda: self._files.create_dir(path, recursive=recursive))

    def move(self, source: str, target: str) -> None:
        """Rename; some stores copy."""
        self._run_long(lambda: self._files.move(source, target))

    def copy(self, source: str, target: str) -> None:
        """Copy a file within the store."""
        self._run_long(lambda: self._files.copy_file(source, target))

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        self.run(lambda: self._files.delete_file(path))

    def delete_dir(self, path: str) -> None:
        """Delete a folder with all in it."""
        self._run_long(lambda: self._files.delete_dir(path))

    def open_input_file(self, path: str) -> BoundedStream:
        """A readable stream."""
        return BoundedStream(self.run(lambda: self._files.open_input_file(path)), self.run)

    def open_output_stream(self, path: str) -> BoundedStream:
        """A writable stream; the file is complete when it was closed."""
        return BoundedStream(self.run(lambda: self._files.open_output_stream(path, compression=None)), self._run_long)


class BoundedStream:
    """A file of which each read or write has its time."""

    def __init__(self, file: pa.NativeFile, run: Callable[[Callable[[], Any]], Any]) -> None:
        self._file, self._run = file, run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, size: int | None = None) -> bytes:
        """So many bytes, or all that are left."""
        return bytes(self._run(lambda: self._file.read(size)))

    def write(self, data: bytes) -> int:
        """Bytes written."""
        return int(self._run(lambda: self._file.write(data)))

    def close(self) -> None:
        """Some stores take a file in only now."""
        self._run(self._file.close)
