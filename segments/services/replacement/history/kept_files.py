"""Files of a snapshot's segments, wherever they are: of those on record in the deep store, or with a real Pinot; of
those that were deleted, or overwritten by others of their names, among the kept ones.

Which version of a segment is wanted says its CRC: where it is not known, no kept file counts. A file may move between
both places while it is read: then it is found where it went.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import BinaryIO, Final, cast

from segments.domain.formats.plural import counted
from segments.domain.replacement.snapshots import Snapshot
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, PreconditionFailed, StateConflict
from segments.services.core.context import Context
from segments.services.queries.file_reader import SegmentSource
from segments.services.segments import archive
from segments.services.segments.segments import read_records

#: Names in an answer.
_SHOWN: Final = 100


class SnapshotFiles:
    """The files of ``found``, in the versions that ``crcs`` name; 0 or none: the one on record. ``find`` is a
    ``file_reader.Find``.

    PreconditionFailed where a segment is neither on servers nor kept, StateConflict where one was overwritten and is
    not kept.
    """

    def __init__(self, ctx: Context, config: TableConfig, found: Snapshot, crcs: Mapping[str, int]) -> None:
        self._ctx, self._table, self._crcs, self._name = ctx, config.table, crcs, found.name
        self._has_kept = ctx.deep_store.exists and ctx.engine.lineage.keeps_deleted(ctx, config)
        names = sorted((*found.segments, *found.gone))
        records = read_records(ctx, self._table, names)
        there = [s for s, r in records.items() if r.crc is not None and crcs.get(s, 0) in (0, r.crc)]
        self._files = {
            s: SegmentSource(records[s], records[s].size_bytes, partial(self._open_served, s)) for s in there
        }
        self._files |= self._kept([s for s in names if s not in self._files])
        self._require_all(names, records)

    @property
    def segments(self) -> list[str]:
        """All of the snapshot, sorted."""
        return sorted(self._files)

    @property
    def bytes(self) -> int:
        """Of their tars, as far as it is known."""
        return sum(f.bytes or 0 for f in self._files.values())

    def find(self, segments: Sequence[str]) -> Mapping[str, SegmentSource]:
        """The files of these."""
        return {s: self._files[s] for s in segments if s in self._files}

    def _kept(self, names: Sequence[str]) -> dict[str, SegmentSource]:
        if not names or not self._has_kept:
            return {}
        versions = archive.find_versions(self._ctx, self._table, {s: self._crcs[s] for s in names if self._crcs.get(s)})
        return {
            name: SegmentSource(kept.kept.metadata, kept.bytes, partial(self._open_kept, name, kept.file))
            for name, kept in versions.items()
            if kept.kept is not None and kept.is_there
        }

    def _open_served(self, name: str) -> tuple[int, BinaryIO]:
        try:
            return self._ctx.engine.segments.open_file(self._ctx, self._table.raw, name)
        except NotFound:
            moved = self._kept([name]).get(name)
            if moved is None:
                raise
            return moved.open()

    def _open_kept(self, name: str, file: str) -> tuple[int, BinaryIO]:
        store, path = archive.kept_context(self._ctx).deep_store, archive.kept_path(self._table, file)
        size = store.size(path)
        if size is None:
            return self._ctx.engine.segments.open_file(self._ctx, self._table.raw, name)
        return size, cast("BinaryIO", store.open(path))

    def _require_all(self, names: Sequence[str], records: Mapping[str, object]) -> None:
        lost = [s for s in names if s not in self._files]
        if not lost:
            return
        text = f"Snapshot {self._name} of table '{self._table}' cannot be read:"
        other = "Ask for another snapshot."
        replaced = [s for s in lost if s in records]
        if replaced:
            raise StateConflict(
                f"{text} segment '{replaced[0]}' of it was overwritten by another of its name, and the file that it "
                "had is not kept.",
                remedy=other,
                segments=replaced[:_SHOWN],
            )
        gone = counted(len(lost), "segment", "of it is neither on servers nor", "of it are neither on servers nor")
        raise PreconditionFailed(
            f"{text} {gone} kept as a file, e.g. '{lost[0]}'.",
            remedy=other,
            segments=lost[:_SHOWN],
        )
