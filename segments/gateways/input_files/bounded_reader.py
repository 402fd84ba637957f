"""A file open for reading of which each single read has its time, in a form that pyarrow's readers take."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa


class Readable(Protocol):
    """What is read: a Python file or one of pyarrow's."""

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes from the current position on; all that are left when negative."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a position."""

    def tell(self) -> int:
        """The current position."""

    def close(self) -> None:
        """Done."""


class BoundedReader(io.RawIOBase):
    """Random access to ``file``; ``run`` carries each call out and gives up on one that takes too long."""

    def __init__(self, file: Readable, run: Callable[[Callable[[], Any]], Any]) -> None:
        super().__init__()
        self._file, self._run = file, run

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """So many bytes, fewer only at the end of the file; all that are left when negative or None."""
        data: bytes = self._run(lambda: self._file.read(-1 if size is None else size))
        return data

    def readall(self) -> bytes:
        """All that are left."""
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer; bytes written to it."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a position; returns it."""
        return int(self._run(lambda: self._file.seek(offset, whence)))

    def tell(self) -> int:
        """The current position."""
        return int(self._run(lambda: self._file.tell()))

    def close(self) -> None:
        """Close the file, once."""
        if not self.closed:
            super().close()
            self._run(self._file.close)


def as_arrow_file(reader: BoundedReader) -> pa.NativeFile:
    """For pyarrow's readers, and for everybody else who reads and seeks."""
    return pa.PythonFile(reader, mode="r")
