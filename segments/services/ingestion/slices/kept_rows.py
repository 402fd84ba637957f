"""Segments that cross the edge of a replaced part are split: their rows outside of it are built again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from segments.domain.ingestion.replaced_part import KeptRows, Selector
from segments.domain.segments.segment_names import Facts, segment_name, session_rule
from segments.domain.tables.schema import FieldSpec
from segments.errors import InvalidInput
from segments.names import TableName
from segments.segmentfile import SegmentReader, extract_tar, write_stored
from segments.segmentfile.rows_outside import outside_partitions, outside_times, stored_rows
from segments.services.core.context import Context
from segments.services.ingestion.held_session import HeldSession
from segments.services.ingestion.situation import Setup
from segments.services.loading.staged_files import is_there
from segments.services.segments.downloads import open_segment
from segments.spark.build_part import Built, read_notes, stage

#: Segments that a dry run reads; the others it only names.
MOST_READ: Final = 20


@dataclass(frozen=True)
class Split:
    """What splitting a segment would do: of ``rows``, ``stay`` are kept; ``bytes`` of the whole file."""

    segment: str
    rows: int
    stay: int
    bytes: int


def preview_splits(ctx: Context, table: TableName, setup: Setup, segments: Sequence[str]) -> tuple[Split, ...]:
    """What would become of the first of these segments; each is read. Nothing is written."""
    found = []
    for segment in segments[:MOST_READ]:
        with opened(ctx, table, segment) as (reader, size):
            stay = int(_outside(reader, setup).sum())
            found.append(Split(segment, reader.num_docs, stay, size))
    return tuple(found)


def keep_rows(held: HeldSession, setup: Setup, segments: Sequence[str]) -> tuple[KeptRows, ...]:
    """Build the rows of these segments that stay, and stage them with the session's parts; one that an earlier attempt
    staged is not built again.
    """
    before = {k.segment: k.ordinal for k in held.manifest.kept}
    notes = {b.ordinal: b for b in read_notes(held.ctx.deep_store, held.session.id)} if segments else {}
    free, kept = held.manifest.next_ordinal, []
    for segment in segments:
        held.check()
        ordinal = before.get(segment, free)
        free += ordinal == free
        kept.append(_keep(held, setup, segment, ordinal, notes.get(ordinal)))
    return tuple(kept)


def staged_kept(held: HeldSession) -> list[Built | None]:
    """What is staged of the rows that stay; None where that is gone."""
    wanted = [k for k in held.manifest.kept if k.name]
    if not wanted:
        return []
    notes = {b.ordinal: b for b in read_notes(held.ctx.deep_store, held.session.id)}
    found = [notes.get(k.ordinal) for k in wanted]
    return [
        b if b is not None and b.name == k.name and is_there(held.ctx, held.table, held.session.id, b) else None
        for k, b in zip(wanted, found, strict=True)
    ]


def _keep(held: HeldSession, setup: Setup, segment: str, ordinal: int, staged: Built | None) -> KeptRows:
    ctx, session = held.ctx, held.session
    with opened(ctx, held.table, segment) as (reader, _):
        name = segment_name(session_rule(held.table.raw, session.id), Facts(0, f"{segment} {reader.info.crc}"))
        if staged is not None and staged.name == name and is_there(ctx, held.table, session.id, staged):
            return KeptRows(segment, name, ordinal, staged.rows)
        stays = _outside(reader, setup)
        if not stays.any():
            return KeptRows(segment, "", ordinal, 0)
        table, masks = stored_rows(reader, setup.schema, stays)
        with tempfile.TemporaryDirectory(prefix="kept-") as folder:
            info = write_stored(
                table, masks, setup.schema, setup.config, name, Path(folder), creation_time_ms=session.start_ms
            )
            stage(ctx.deep_store, session.id, ordinal, info, Path(folder))
    return KeptRows(segment, name, ordinal, table.num_rows)


@contextmanager
def opened(ctx: Context, table: TableName, segment: str) -> Iterator[tuple[SegmentReader, int]]:
    """A segment of the deep store, unpacked for as long as the block runs, and the bytes of its file."""
    with tempfile.TemporaryDirectory(prefix="kept-") as folder:
        tar, file = Path(folder) / "segment.tar.gz", open_segment(ctx, table.raw, segment)
        with tar.open("wb") as target:
            for chunk in file.chunks():
                target.write(chunk)
        with SegmentReader(extract_tar(tar, Path(folder))) as reader:
            yield reader, file.size


def _outside(reader: SegmentReader, setup: Setup) -> NDArray[np.bool_]:
    """Which rows stay: those that lie outside in any respect."""
    selector: Selector | None = setup.task.selector
    assert selector is not None
    stays = np.zeros(reader.num_docs, bool)
    if selector.times is not None:
        stays |= outside_times(reader, _time(setup), *selector.times)
    if selector.partitions is not None:
        stays |= outside_partitions(reader, selector.partitions)
    return stays


def _time(setup: Setup) -> FieldSpec:
    field = setup.schema.by_name.get(setup.config.time_column or "")
    if field is None:
        raise InvalidInput(
            f"Table '{setup.config.table}' has no time column, so no time range of it can be replaced.",
            remedy="Set segmentsConfig.timeColumnName, or remove replaceFrom and replaceUntil.",
        )
    return field
