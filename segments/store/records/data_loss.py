"""Ranges of a stream that were not read, because they were gone before or were skipped, kept per table so that nobody
has to guess where rows are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.streams.unread_range import UnreadRange
from segments.store import paths
from segments.store.base import Create, Replace, Store, Versioned, Write
from segments.store.update import update_record

#: The latest ones stay.
KEPT: Final = 200
#: Field of the record, and what it says; without it the rows had left the stream.
_CAUSE: Final = "cause"
_SKIPPED: Final = "offsetAutoReset"
_COUNT: Final = "count"


@dataclass(frozen=True)
class DataLoss(UnreadRange):
    """``segment`` is the one that went on behind the gap, ``at_ms`` when it was noticed."""

    segment: str
    at_ms: int

    @property
    def key(self) -> str:
        """The same gap noticed twice, by two replicas say, is one."""
        return f"{self.partition}:{self.start}:{self.end}"


def noticed(unread: UnreadRange, segment: str, at_ms: int) -> DataLoss:
    """The range as it goes on record."""
    return DataLoss(**asdict(unread), segment=segment, at_ms=at_ms)


def record_data_loss(store: Store, table: str, losses: Sequence[DataLoss]) -> None:
    """Keep these losses of a typed table; one that is known stays as it is."""
    if losses:
        update_record(store, paths.data_loss(table), lambda node: _with(node, table, losses))


def data_loss_write(store: Store, table: str, losses: Sequence[DataLoss]) -> list[Write]:
    """The conditional write that puts these losses on record, for the transaction that goes on behind the gap; []
    without any.
    """
    if not losses:
        return []
    path = paths.data_loss(table)
    node = store.get(path)
    record = _with(node, table, losses)
    return [Create(path, record) if node is None else Replace(path, record, node.version)]


def read_data_loss(store: Store, table: str) -> list[DataLoss]:
    """The table's losses, oldest first."""
    node = store.get(paths.data_loss(table))
    rows = node.record.maps.values() if node and node.record else ()
    return sorted(map(_loss, rows), key=lambda x: x.at_ms)


def _with(node: Versioned | None, table: str, losses: Sequence[DataLoss]) -> ZNRecord:
    before = node.record if node and node.record else ZNRecord(table)
    fresh = {x.key: _fields(x) for x in losses if x.key not in before.maps}
    kept = sorted({**before.maps, **fresh}.items(), key=lambda item: int(item[1].get("atMs", "0")))[-KEPT:]
    return replace(before, maps=dict(kept))


def _loss(fields: Mapping[str, str]) -> DataLoss:
    place = int(fields["partition"]), fields["from"], fields["to"], fields.get("segment", "")
    count = int(fields[_COUNT]) if _COUNT in fields else None
    return DataLoss(*place, int(fields["atMs"]), is_skipped=fields.get(_CAUSE) == _SKIPPED, count=count)


def _fields(loss: DataLoss) -> dict[str, str]:
    return {
        **({_CAUSE: _SKIPPED} if loss.is_skipped else {}),
        **({_COUNT: str(loss.count)} if loss.count is not None else {}),
        "partition": str(loss.partition),
        "from": loss.start,
        "to": loss.end,
        "segment": loss.segment,
        "atMs": str(loss.at_ms),
    }
