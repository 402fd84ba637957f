"""The server's folder on disk: ``<data dir>/<table>/<segment>``, filled and emptied by renames so that no half segment
is ever seen.

What was moved aside is deleted by a separate thread: that takes milliseconds on some file systems, and nobody needs
to wait for it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from segments.names import check_segment_name, split_table_name

#: No table's name begins with a dot: downloads and what is being removed live here.
_WORK: Final = ".work"


class SegmentFolders:
    """Where segments lie. A name that would leave the folder raises InvalidInput."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._work = root / _WORK
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True, exist_ok=True)
        self._cleaner = ThreadPoolExecutor(1, thread_name_prefix="clean-segments")

    def close(self) -> None:
        """Wait until everything that was moved aside is deleted."""
        self._cleaner.shutdown(wait=True)

    def path(self, table: str, segment: str) -> Path:
        """Where the segment is, or would be."""
        return self._root / check_segment_name(table) / check_segment_name(segment)

    def held(self) -> dict[str, list[str]]:
        """{typed table: segments} found on disk."""
        tables = [p for p in self._root.iterdir() if p.is_dir() and split_table_name(p.name)[1] is not None]
        return {table.name: sorted(p.name for p in table.iterdir() if p.is_dir()) for table in tables}

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A folder on the same disk for a download; gone afterwards."""
        folder = Path(tempfile.mkdtemp(dir=self._work))
        try:
            yield folder
        finally:
            self._cleaner.submit(shutil.rmtree, folder, ignore_errors=True)

    def install(self, unpacked: Path, table: str, segment: str) -> Path:
        """Put a complete, checked folder in place of whatever is there. Readers of the old one keep
        their mapped files.
        """
        target = self.path(table, segment)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            self.remove(table, segment)
        os.rename(unpacked, target)
        return target

    def remove(self, table: str, segment: str) -> None:
        """Remove the segment, at once for readers of the name; a missing one is not an error."""
        target = self.path(table, segment)
        doomed = Path(tempfile.mkdtemp(dir=self._work))
        try:
            os.rename(target, doomed / "segment")
            _remove_if_empty(target.parent)
        except FileNotFoundError:
            return
        finally:
            self._cleaner.submit(shutil.rmtree, doomed, ignore_errors=True)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # other segments are in it
