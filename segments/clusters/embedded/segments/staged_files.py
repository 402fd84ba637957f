"""Files of an upload on their way into the deep store: staged under a name of their own until records name their CRCs.

Order: staged file, then the record, then the file's final name in a local deep store. Who downloads in between gets the
staged file by the CRC on record (``files``), so a process that dies at any point leaves the old or the new segment,
never a mix. A remote deep store is read by servers directly: there the name with the CRC is the final one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from segments.errors import OutcomeUnknown
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.upload_files import staged_path


class StagedFiles:
    """Files of one upload on their way into the deep store: {segment: (staged path, final path)}."""

    def __init__(self, ctx: Context, table: TableName) -> None:
        self._ctx, self._table = ctx, table
        self._moves: dict[str, tuple[str, str]] = {}
        self._on_record: set[str] = set()

    def add(self, segment: str, crc: int, source: Path, crc_on_record: int | None) -> int:
        """Copy a local file to its staged name; returns its bytes. What the record names already is never discarded."""
        if crc == crc_on_record:
            self._on_record.add(segment)
        staged = staged_path(self._ctx, self._table, segment, crc)
        size = self._ctx.deep_store.put(source, staged)
        self._moves[segment] = (staged, self._ctx.deep_store.file_path(self._table.raw, segment, crc))
        return size

    @contextmanager
    def landing(self) -> Iterator[None]:
        """Write the records inside. Files get their final names after it or, if it fails, go."""
        try:
            yield
        except OutcomeUnknown:
            raise  # the records may name these files
        except Exception:
            self.discard()
            raise
        for staged, final in self._moves.values():
            if staged != final:
                self._ctx.deep_store.move(staged, final)

    def discard(self) -> None:
        """Remove what is staged and no record names."""
        for segment, (staged, _) in self._moves.items():
            if segment not in self._on_record:
                self._ctx.deep_store.delete(staged)
        self._moves.clear()
