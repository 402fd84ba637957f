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
from segments.gateways.deep_store.store_fault import StoreFault, store_fault

T = TypeVar("T")
#: Seconds for one small call; and how many times that for calls that grow with the number of files, or with the size of
#: one.
CALL_S: Final = 30.0
_LONG: Final = 10


class BoundedFiles:
    """What the deep store needs of a file system, by full paths below ``root``. Every method raises Unavailable when it
    takes too long, FileNotFoundError where something has to be there and is not, else StoreFault.
    """

    def __init__(self, files: pafs.FileSystem, root: str, timeout_s: float, address: str) -> None:
        """``address``: of the store, without a login, for errors."""
        self._files, self._timeout_s, self._root, self._address = files, timeout_s, root.rstrip("/"), address
        self._calls = BoundedCalls("The deep store", lambda: files.get_file_info(root), address)

    def run(self, doing: str, path: str, work: Callable[[], T], *, times: int = 1) -> T:
        """A call that may take so many times as long as a small one. ``doing``: a verb, for errors."""
        try:
            return self._calls.run(work, self._timeout_s * times)
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise self.fault(doing, path, error) from error

    def fault(self, doing: str, path: str, error: Exception) -> StoreFault:
        """As an error that names the store and the path below it."""
        return store_fault(self._address, doing, path.removeprefix(f"{self._root}/"), error)

    def get_file_info(self, path: str) -> pafs.FileInfo:
        """Of one path."""
        return self.run("look up", path, lambda: self._files.get_file_info(path))

    def list(self, folder: str) -> list[pafs.FileInfo]:
        """What lies directly in a folder; nothing when it is missing."""
        selector = pafs.FileSelector(folder, allow_not_found=True)
        return self.run("list", folder, lambda: self._files.get_file_info(selector), times=_LONG)

    def create_dir(self, path: str, *, recursive: bool) -> None:
        """Make a folder."""
        self._made("make folder", path, lambda: self._files.create_dir(path, recursive=recursive))

    def move(self, source: str, target: str) -> None:
        """Rename; some stores copy, and for those that have no such call (Azure without folders) we do."""

        def move() -> None:
            try:
                self._files.move(source, target)
            except pa.ArrowNotImplementedError:
                self._files.copy_file(source, target)
                self._files.delete_file(source)

        self.run("move", source, move, times=_LONG)

    def put_in_place(self, temporary: str, target: str) -> None:
        """Rename what was just written."""
        self._made("write", target, lambda: self._files.move(temporary, target), times=_LONG)

    def copy(self, source: str, target: str) -> None:
        """Copy a file within the store."""
        self.run("copy", source, lambda: self._files.copy_file(source, target), times=_LONG)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        self.run("delete", path, lambda: self._files.delete_file(path))

    def delete_dir(self, path: str) -> None:
        """Delete a folder with all in it."""
        self.run("delete", path, lambda: self._files.delete_dir(path), times=_LONG)

    def open_input_file(self, path: str) -> BoundedStream:
        """A readable stream."""
        file = self.run("read", path, lambda: self._files.open_input_file(path))
        return BoundedStream(file, lambda work: self.run("read", path, work))

    def open_output_stream(self, path: str) -> BoundedStream:
        """A writable stream; the file is complete when it was closed."""
        file = self._made("write", path, lambda: self._files.open_output_stream(path, compression=None))
        return BoundedStream(file, lambda work: self._made("write", path, work, times=_LONG))

    def _made(self, doing: str, path: str, work: Callable[[], T], *, times: int = 1) -> T:
        """What is to be made may be missing: a folder above it that is, or a bucket, is a fault of the store."""
        try:
            return self.run(doing, path, work, times=times)
        except FileNotFoundError as error:
            raise self.fault(doing, path, error) from error


class BoundedStream:
    """A file of which each read or write has its time; what goes wrong is a StoreFault."""

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
